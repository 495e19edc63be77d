"""Distributed checkpoints of PyTorch in a vault: with several ranks, and read by PyTorch's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import forestall as fs

torch = pytest.importorskip("torch", reason="PyTorch is not installed: extra `torch`")
dcp = pytest.importorskip("torch.distributed.checkpoint")
api = pytest.importorskip("torch.distributed.checkpoint.api")

PROGRAM = Path(__file__).with_name("distributed_program.py")


@pytest.mark.slow
def test_ranks_save_and_load(tmp_path: Path) -> None:
    ranks = 2
    told = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    begun = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), str(rank), str(ranks), str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=told,
        )
        for rank in range(ranks)
    ]
    outs = [one.communicate(timeout=120)[0] for one in begun]
    assert [one.returncode for one in begun] == [0] * ranks, outs
    # Another number of ranks loads it: here one, from what two have saved.
    name = (tmp_path / "names").read_text().splitlines()[1]
    stores = [str(tmp_path / f"store{k}") for k in range(3)]
    made = torch.Generator().manual_seed(2)
    weight = torch.randn(64, 300, generator=made)
    whole = {"sharded": torch.zeros(64, 300), "bias": torch.zeros(500)}
    dcp.load(whole, storage_reader=fs.vault.torch_reader(stores, name), no_dist=True)
    assert torch.equal(whole["sharded"], weight)


def test_alone_and_read_by_pytorchs_own(tmp_path: Path) -> None:
    stores = [str(tmp_path / f"store{k}") for k in range(2)]
    saved = {"weights": torch.arange(70_000.0), "none": torch.zeros(0), "told": [1, "two"]}
    writer = fs.vault.torch_writer(stores, layout="copies:2", init=True)
    assert writer.saved is None
    dcp.save(saved, storage_writer=writer, no_dist=True, checkpoint_id="of a label")
    assert writer.saved is not None
    assert writer.saved.label == "of a label"
    fs.vault.open(stores).restore(writer.saved.name, tmp_path / "out")
    for reader in (
        fs.vault.torch_reader(stores),
        dcp.FileSystemReader(tmp_path / "out"),
    ):
        found = {"weights": torch.zeros(70_000), "none": torch.zeros(0), "told": None}
        dcp.load(found, storage_reader=reader, no_dist=True)
        assert torch.equal(found["weights"], saved["weights"])
        assert found["told"] == saved["told"]


def test_a_part_of_a_tensor_with_another_shape_is_refused(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    writer = fs.vault.torch_writer(store, layout="copies:1", init=True)
    dcp.save({"x": torch.zeros(4)}, storage_writer=writer, no_dist=True)
    with pytest.raises(api.CheckpointException, match="Size mismatch"):
        dcp.load({"x": torch.zeros(5)}, storage_reader=fs.vault.torch_reader(store), no_dist=True)


def test_a_store_that_is_full_leaves_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no folder")
    writer = fs.vault.torch_writer(str(tmp_path / "store"), layout="copies:1", init=True)
    with pytest.raises(api.CheckpointException, match="rank 0"):
        dcp.save({"x": torch.zeros(4)}, storage_writer=writer, no_dist=True)
    assert writer.saved is None
