"""How an engine's state is kept and taken up again: a named tuple of arrays, as plain data.

An array is its type, its shape and its bytes (compressed, in base64), so that what is taken up is
the same to the bit; numbers stand as they are. All of it goes through JSON.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.model.errors import ForestallError, ParameterError

VERSION: Final = 1
"""Of the layout of what is kept; another one is refused."""
_CLASS: Final = "is"
_NUMBERS: Final = {"int": (int,), "float": (int, float)}
"""Fields of named tuples that are numbers, by how they are declared, and what JSON has for them."""
_FEW: Final = 4096
"""Bytes up to which an array counts as small."""


def parts(state: Any) -> dict[str, Any]:
    """Return a copy of all that a state holds, arrays and numbers, each under its path."""
    held: dict[str, Any] = {}
    for name, value in state._asdict().items():
        if hasattr(value, "_asdict"):
            held |= {f"{name}.{below}": one for below, one in parts(value).items()}
        else:
            held[name] = value.copy() if isinstance(value, np.ndarray) else value
    return held


def lasting(state: Any) -> dict[str, bytes]:
    """Return what a state holds between events, as bytes: no room to work in (part of it is
    what it is near to), and no prediction, whose present moment goes on."""
    return {
        name: np.asarray(held).tobytes()
        for name, held in parts(state).items()
        if not name.startswith(("scratch.", "prediction.", "near."))
    }


def headed(model: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of an engine, with what it is."""
    return {"format": "forestall engine", "version": VERSION, "model": model, **facts}


def check_head(plain: Any, model: str) -> None:
    """Raise ParameterError for what is no snapshot of this engine, or of another version."""
    said = (
        {name: plain.get(name) for name in ("format", "version", "model")}
        if isinstance(plain, Mapping)
        else type(plain).__name__
    )
    if said != headed(model, {}):
        allowed = f"one of the engine {model!r}, version {VERSION}"
        raise ParameterError("snapshot", said, allowed)


def packed(value: Any) -> Any:
    """Return an array, a number, or a named tuple of such as plain data."""
    if hasattr(value, "_asdict"):
        return {_CLASS: type(value).__name__} | {
            name: packed(one) for name, one in value._asdict().items()
        }
    if isinstance(value, np.ndarray):
        descr: Any = value.dtype.str
        if value.dtype.names is not None:
            descr = [[name, value.dtype[name].str] for name in value.dtype.names]
        data = _compressed(np.ascontiguousarray(value).tobytes())
        text = base64.b64encode(data).decode("ascii")
        return {_CLASS: "array", "type": descr, "shape": list(value.shape), "bytes": text}
    return value.item() if isinstance(value, np.generic) else value


def _compressed(data: bytes) -> bytes:
    """Return bytes compressed; of few with a window to match, which is made much sooner."""
    if len(data) > _FEW:
        return zlib.compress(data, 1)
    small = zlib.compressobj(1, wbits=12, memLevel=4)
    return small.compress(data) + small.flush()


def unpacked(plain: Any, classes: Sequence[type]) -> Any:
    """Return what was packed; named tuples are of these classes. Raises ParameterError where it
    cannot have been packed."""
    named = {one.__name__: one for one in classes}
    with whole():
        return _unpacked(plain, named)


@contextmanager
def whole() -> Iterator[None]:
    """Turn what is raised while a snapshot is taken up into a ParameterError."""
    try:
        yield
    except ForestallError:
        raise
    except Exception as error:
        said = (str(error).splitlines() or [""])[0][:120]
        raise ParameterError("snapshot", type(error).__name__, f"whole data: {said}") from None


def gone_on(generator: np.random.Generator | None, draws: Any) -> np.random.Generator | None:
    """Return a generator that goes on where the kept one was, None where none was kept. Raises
    ParameterError where there is none to go on."""
    if draws is None:
        return None
    if generator is None:
        raise ParameterError("generator", generator, "one, which goes on where it was")
    generator.bit_generator.state = draws
    return generator


def _unpacked(plain: Any, named: Mapping[str, type]) -> Any:
    if not isinstance(plain, Mapping):
        return plain
    if plain[_CLASS] == "array":
        return _array(plain)
    kind: Any = named[plain[_CLASS]]
    rest = {name: _unpacked(one, named) for name, one in plain.items() if name != _CLASS}
    for name, value in rest.items():
        hint = kind.__annotations__[name]
        told = getattr(hint, "__forward_arg__", getattr(hint, "__name__", ""))
        if told in _NUMBERS and type(value) not in _NUMBERS[told]:
            raise ParameterError(name, type(value).__name__, told)
        if told == "int" and not -(2**63) <= value < 2**63:
            raise ParameterError(name, "a number of many digits", "one of 64 bits")
    return kind(**rest)


def _array(plain: Mapping[str, Any]) -> npt.NDArray[Any]:
    shape, told = tuple(plain["shape"]), plain["type"]
    dtype = np.dtype(told if isinstance(told, str) else [(name, kind) for name, kind in told])
    size = dtype.itemsize * math.prod(shape)
    small = zlib.decompressobj()
    data = small.decompress(base64.b64decode(plain["bytes"], validate=True), size + 1)
    if dtype.hasobject or len(data) != size or not all(type(one) is int for one in shape):
        raise ValueError(f"{len(data)} bytes or more for {dtype} of shape {shape}")
    if isinstance(told, str):
        return np.frombuffer(data, dtype=dtype).reshape(shape).copy()
    made = records(shape[0], dtype)
    made[:] = np.frombuffer(data, dtype=dtype)
    return made
