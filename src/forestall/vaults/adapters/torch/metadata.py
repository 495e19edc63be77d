"""What tells where each tensor of a checkpoint is: PyTorch pickles it, and pickles can run code.

It is unpickled with nothing to call but what such metadata are made of; a vault that somebody else
wrote to may bring wrong tensors, but runs nothing.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any, Final

import torch
from torch.distributed.checkpoint import filesystem
from torch.distributed.checkpoint import metadata as described
from torch.distributed.checkpoint.metadata import Metadata

from forestall.core.model.errors import TraceError


def metadata_of(data: bytes, source: str) -> Metadata:
    """Return what was pickled as metadata; TraceError where it is none, or asks for more."""
    try:
        found = _Reader(io.BytesIO(data)).load()
    except Exception as error:  # whatever its bytes make of unpickling
        said = (str(error).splitlines() or [type(error).__name__])[0]
        message = f"holds no metadata of a PyTorch checkpoint ({said[:120]})"
        raise TraceError(source, message) from None
    if not isinstance(found, Metadata):
        raise TraceError(
            source, f"holds a {type(found).__name__}; expected a checkpoint's metadata"
        )
    return found


def _member(kind: Any, name: Any) -> Enum:
    """Return a member of an enum, as some versions of Python pickle it: by `getattr`."""
    if not (isinstance(kind, type) and issubclass(kind, Enum) and name in kind.__members__):
        raise pickle.UnpicklingError("getattr of what is not an enum")
    return kind[name]


_PLAIN: Final[Mapping[tuple[str, str], Callable[..., Any]]] = {
    ("torch", "Size"): torch.Size,
    ("torch", "device"): torch.device,
    ("torch.serialization", "_get_layout"): torch.serialization._get_layout,
    ("collections", "OrderedDict"): OrderedDict,
    **{
        (module, name): PurePath  # where PyTorch's own writer wrote to
        for module in ("pathlib", "pathlib._local")
        for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
    },
    ("builtins", "getattr"): _member,
    ("builtins", "set"): set,
}
_ROOMS: Final = {one.__name__: one for one in (described, filesystem)}
"""Modules of whose own classes metadata consist: data and no more."""
_DATA: Final = ("_StorageInfo", "_StoragePrefix")


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle may call; UnpicklingError for all else."""
        found = _PLAIN.get((module, name))
        if found is None and module == "torch":
            told = getattr(torch, name, None) if name.isidentifier() else None
            found = told if isinstance(told, torch.dtype | torch.layout) else None
        if found is None and module in _ROOMS and name.isidentifier():
            told = getattr(_ROOMS[module], name, None)
            own = isinstance(told, type) and told.__module__ == module
            found = told if own and (module == described.__name__ or name in _DATA) else None
        if found is None:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return found
