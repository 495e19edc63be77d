"""Distributed checkpoints of PyTorch in a vault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from forestall.core._lazy import lazily
from forestall.vaults.api.opened import OpenVault, coding_of, open_checkpoints
from forestall.vaults.ranks.sharing import FANOUT, SharedSave

with lazily():
    from forestall.vaults.adapters.torch import links, storage

if TYPE_CHECKING:
    from forestall.vaults.adapters.torch.storage import VaultReader, VaultWriter


def torch_writer(
    vault: OpenVault | str | Sequence[str],
    *,
    group: Any = None,
    fanout: int = FANOUT,
    **coding: Any,
) -> VaultWriter:
    """Return what ``torch.distributed.checkpoint.save(..., storage_writer=...)`` writes to: a
    vault. All ranks make it at once.

    Parameters
    ----------
    group : the process group (default: all ranks); without one there is one rank
    fanout : of the tree of processes by which ranks share chunks
    coding : as `OpenVault.save` takes it; a ``checkpoint_id`` that is saved with is the label

    Its ``saved`` is the checkpoint, on the rank that coordinates. Raises MissingExtraError without
    PyTorch.
    """
    opened = vault if isinstance(vault, OpenVault) else open_checkpoints(vault)
    how, between = coding_of(coding), links.links_of(group)

    def begin(label: str | None) -> SharedSave:
        now = how if label is None else replace(how, label=label)
        settings = now.settings(now.laid_out(len(opened.urls)))
        open_vault = partial(opened.opened, now if between.rank == 0 else None)
        return SharedSave(open_vault, between, settings, fanout=fanout)

    return storage.VaultWriter(begin)


def torch_reader(vault: OpenVault | str | Sequence[str], id: str = "latest") -> VaultReader:
    """Return what ``torch.distributed.checkpoint.load(..., storage_reader=...)`` reads from: a
    checkpoint of a vault."""
    opened = vault if isinstance(vault, OpenVault) else open_checkpoints(vault)
    return storage.VaultReader(opened.opened(), id)
