"""Messages between the ranks of a process group of PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from forestall.vaults.ranks.members import Alone, Links, RankLostError
from forestall.vaults.ranks.states import Buffer


class TorchLinks(Links):
    """Messages over a process group that takes tensors in main memory (Gloo, MPI)."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)

    def send(self, to: int, message: Buffer) -> None:
        """Send bytes: their number, then themselves."""
        with _told():
            dist.send(torch.tensor([len(message)]), group=self._group, group_dst=to)
            if len(message):
                dist.send(torch.from_numpy(message), group=self._group, group_dst=to)

    def receive(self, of: int) -> Buffer:
        """Wait for a rank's next message."""
        count = torch.zeros(1, dtype=torch.int64)
        with _told():
            dist.recv(count, group=self._group, group_src=of)
            found = np.empty(int(count), np.uint8)
            if len(found):
                dist.recv(torch.from_numpy(found), group=self._group, group_src=of)
        return found


def links_of(group: Any = None) -> Links:
    """Return links over a process group, or over all ranks; alone where there are none. Where the
    group takes no tensors in main memory (NCCL), one that does is made: all ranks do so at once."""
    if not dist.is_available() or not dist.is_initialized():
        return Alone()
    if "gloo" not in str(dist.get_backend(group)) and "mpi" not in str(dist.get_backend(group)):
        ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
        group = dist.new_group(ranks, backend="gloo")
    return TorchLinks(group)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise RankLostError(f"a rank was lost: {str(error).splitlines()[0]}") from error
