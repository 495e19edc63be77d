"""Metadata of checkpoints are unpickled with nothing to call that does anything."""

from __future__ import annotations

import builtins
import os
import pickle
from pathlib import Path

import pytest

from forestall.core.model.errors import TraceError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: extra `torch`")
dcp = pytest.importorskip("torch.distributed.checkpoint")


class Asks:
    """Is pickled as a call."""

    def __init__(self, *call: object) -> None:
        self.call = call

    def __reduce__(self) -> tuple[object, ...]:
        return self.call[0], self.call[1:]


@pytest.fixture
def told(tmp_path: Path) -> bytes:
    state = {"x": torch.zeros(4, dtype=torch.bfloat16), "y": {"a": [1, "two"]}, "z": {"s": {1, 2}}}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(tmp_path / "own"), no_dist=True)
    return (tmp_path / "own" / ".metadata").read_bytes()


def test_metadata_come_back(told: bytes) -> None:
    from forestall.vaults.adapters.torch.metadata import metadata_of

    found, whole = metadata_of(told, "vault"), pickle.loads(told)
    assert found.state_dict_metadata == whole.state_dict_metadata
    assert found.storage_data == whole.storage_data
    assert found.planner_data == whole.planner_data


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asks(os.system, "true"), "it asks for posix.system"),
        (Asks(builtins.eval, "1"), "it asks for builtins.eval"),
        (Asks(getattr, os, "system"), "cannot pickle|it asks for|no enum"),
        (Asks(getattr, torch.Size, "__init__"), "getattr of what is not an enum"),
        (Asks(torch.load, "x"), "it asks for torch"),
        ([1], "holds a list; expected a checkpoint's metadata"),
    ],
)
def test_what_is_none_is_refused(asked: object, said: str) -> None:
    from forestall.vaults.adapters.torch.metadata import metadata_of

    try:
        data = pickle.dumps(asked)
    except TypeError:
        pytest.skip("this cannot even be pickled")
    with pytest.raises(TraceError, match=said):
        metadata_of(data, "vault")


def test_what_is_cut_off_is_refused(told: bytes) -> None:
    from forestall.vaults.adapters.torch.metadata import metadata_of

    for size in (0, 7, len(told) // 2, len(told) - 1):
        with pytest.raises(TraceError, match="no metadata"):
            metadata_of(told[:size], "vault")


def test_a_class_within_a_class_is_not_reached() -> None:
    from forestall.vaults.adapters.torch.metadata import metadata_of

    data = b"\x80\x04\x8c\x29torch.distributed.checkpoint.metadata\x8c\x06os.abc\x93."
    with pytest.raises(TraceError, match="no metadata"):
        metadata_of(
            data.replace(b"\x29", bytes([len("torch.distributed.checkpoint.metadata")])), "v"
        )
