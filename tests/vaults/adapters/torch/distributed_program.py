"""A program of several ranks of PyTorch that saves into a vault and loads again, on the CPU.

python distributed_program.py RANK RANKS FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor

import forestall as fs


def state(ranks: int, seed: int) -> dict[str, object]:
    """A sharded weight, a replicated one, buffers of other types, and an object."""
    mesh = init_device_mesh("cpu", (ranks,))
    make = torch.Generator().manual_seed(seed)
    weight = torch.randn(64, 300, generator=make)
    return {
        "sharded": distribute_tensor(weight, mesh, [Shard(0)]),
        "bias": torch.randn(500, generator=make),
        "half": torch.randn(33, generator=make).to(torch.bfloat16),
        "steps": torch.tensor(seed),
        "told": {"epoch": seed, "name": "run"},
    }


def main(rank: int, ranks: int, folder: Path) -> None:
    """Save with some seeds, and load what was saved with the last but one."""
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks
    )
    stores = [str(folder / f"store{k}") for k in range(3)]
    writer = fs.vault.torch_writer(stores, data=2, parity=1, label="train", fanout=1, init=True)
    names = []
    for seed in (1, 2, 2):
        dcp.save(state(ranks, seed), storage_writer=writer)
        names.append(writer.saved and (writer.saved.name, writer.saved.figures["new"]))
    if rank == 0:
        assert names[1][1] > 40_000
        assert names[2][1] < 20_000, names  # only the metadata is another one
        (folder / "names").write_text("\n".join(name for name, _ in names))
    dist.barrier()
    name = (folder / "names").read_text().splitlines()[1]
    loaded, wanted = state(ranks, 7), state(ranks, 2)
    dcp.load(loaded, storage_reader=fs.vault.torch_reader(stores, name))
    for key, value in wanted.items():
        found = loaded[key]
        if isinstance(value, DTensor):
            assert isinstance(found, DTensor)
            assert torch.equal(found.to_local(), value.to_local()), key
        elif isinstance(value, torch.Tensor):
            assert isinstance(found, torch.Tensor)
            assert torch.equal(found, value), key
        else:
            assert found == value, key
    dist.barrier()
    dist.destroy_process_group()
    (folder / f"well-{rank}").touch()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
