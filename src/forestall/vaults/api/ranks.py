"""Checkpoints of the ranks of a parallel program: in their neighbours' memory, and in a vault."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError
from forestall.vaults.api.checkpoints import Coding, told_of
from forestall.vaults.api.opened import OpenVault, PathLike, Told, coding_of, open_checkpoints
from forestall.vaults.manifests import Manifest
from forestall.vaults.ranks.members import Links
from forestall.vaults.ranks.processes import in_processes
from forestall.vaults.ranks.ring import Ring, StepStore
from forestall.vaults.ranks.sharing import FANOUT, RankFile, SharedSave, in_memory
from forestall.vaults.ranks.states import Buffer, State, packed, state_of
from forestall.vaults.reading import read_file
from forestall.vaults.trees.sources import check_paths, sources

with lazily():
    from forestall.vaults.adapters.mpi import members as mpi

_FILE: Final = re.compile(r"step-(\d{12})/rank-(\d{6})")


def file_of(step: int, rank: int) -> str:
    """Return the path of a rank's state in a checkpoint.

    >>> file_of(12, 3)
    'step-000000000012/rank-000003'
    """
    return f"step-{step:012d}/rank-{rank:06d}"


@dataclass(frozen=True)
class StepsInVault(StepStore):
    """Steps of a program, in a vault: each a checkpoint of all ranks, with chunks that are alike
    stored once."""

    checkpoints: OpenVault
    coding: Coding
    fanout: int = FANOUT

    def save(self, links: Links, step: int, data: Buffer) -> None:
        """Save the ranks' states."""
        given = [in_memory(file_of(step, links.rank), data)]
        saved_together(self.checkpoints, self.coding, links, given, self.fanout)

    def newest(self) -> tuple[str, int, int] | None:
        """Return the newest checkpoint's name, its step and its parts; None where there is none.
        Warns of newer ones that cannot be read. Raises LostError where none can."""
        with self.checkpoints.opened(self.coding) as vault:
            made = vault.latest(self.coding.label, lambda one: _step_of(one) is not None)
        step = None if made is None else _step_of(made)
        return None if made is None or step is None else (made.name, step, len(made.entries))

    def read(self, name: str, part: int) -> Buffer:
        """Return a rank's state."""
        with self.checkpoints.opened() as vault:
            made = vault.manifest(name)
            (path,) = [one.path for one in made.entries if one.path.endswith(f"-{part:06d}")]
            return np.frombuffer(read_file(vault, made, path), np.uint8)


def _step_of(made: Manifest) -> int | None:
    """Return the step that a checkpoint of all ranks has; None where it is none."""
    found = [_FILE.fullmatch(entry.path) for entry in made.entries]
    first = found[0] if found else None
    return int(first[1]) if first is not None and all(found) else None


def ring(
    comm: Any,
    *,
    spares: int = 0,
    vault: OpenVault | str | Sequence[str] | None = None,
    every: int = 0,
    fanout: int = FANOUT,
    patience: float = 1800.0,
    **coding: Any,
) -> Ring:
    """Return the ring of the ranks of an MPI communicator (mpi4py): each keeps its own state and
    its two neighbours'. All processes of `comm` call it at once.

    Parameters
    ----------
    comm : an intracommunicator; its processes are the ranks, the last `spares` of them wait
    vault : where every `every`-th save goes besides; a restart of the whole program goes on there
    fanout : of the tree of processes by which ranks share chunks
    patience : s that a rank may take to come back to the ring after a loss; then it ends itself
        and counts as lost, too
    coding : as `OpenVault.save` takes it; ``label`` tells programs in one vault apart

    Ranks that die are left out where the MPI library has ULFM; with others the ring serves as long
    as none dies, and the vault after that. Raises ParameterError; MissingExtraError without mpi4py.
    """
    given = {"label": "ring", **coding}
    store = None
    if vault is not None:
        opened = vault if isinstance(vault, OpenVault) else open_checkpoints(vault)
        store = StepsInVault(opened, coding_of(given), fanout)
    elif coding:
        raise ParameterError("vault", None, "a vault, where coding options are given")
    return Ring(mpi.MpiMembers(comm, spares, patience), store, every)


def save_ranks(
    vault: OpenVault | str | Sequence[str],
    given: State | PathLike | Sequence[PathLike],
    *,
    comm: Any = None,
    step: int = 0,
    fanout: int = FANOUT,
    **coding: Any,
) -> Told | None:
    """Save what all ranks of a program have as one checkpoint, in which chunks that several have
    are compressed and stored once; return what there is to say of it, on rank 0.

    Parameters
    ----------
    given : with `comm`, this rank's state (bytes, array, dictionary of these; `read_state` gives it
        back); without, the paths of what ranks have written, one for each: each is worked on by a
        process of its own
    comm : an MPI communicator, all of whose ranks call this at once
    fanout : most children of a rank in the tree of processes
    coding : as `OpenVault.save` takes it
    """
    opened = vault if isinstance(vault, OpenVault) else open_checkpoints(vault)
    how = coding_of(coding)
    if comm is not None:
        assert not isinstance(given, str | Path)
        with closing(mpi.BorrowedLinks(comm)) as links:
            file = in_memory(file_of(step, links.rank), packed(given))  # type: ignore[arg-type]
            return saved_together(opened, how, links, [file], fanout)
    if isinstance(given, str | Path) or not isinstance(given, Sequence) or not given:
        raise ParameterError("given", None, "paths, one for each rank, or a communicator")
    paths = [Path(str(one)) for one in given]
    check_paths(paths)
    return in_processes(partial(_saved_here, opened, how, fanout), paths, fanout)[0]


def read_state(vault: OpenVault | str | Sequence[str], id: str, rank: int) -> State:
    """Return a rank's state from a checkpoint of `ring` or `save_ranks`."""
    opened = vault if isinstance(vault, OpenVault) else open_checkpoints(vault)
    return state_of(StepsInVault(opened, Coding()).read(id, rank))


def saved_together(
    opened: OpenVault, coding: Coding, links: Links, given: Sequence[RankFile], fanout: int
) -> Told | None:
    """Save what the ranks have; return on the root what there is to say."""
    settings = coding.settings(coding.laid_out(len(opened.urls)))
    begin = coding if links.rank == 0 else None
    save = SharedSave(partial(opened.opened, begin), links, settings, fanout=fanout)
    save.write(given)
    return _told(save.commit()) if save.is_root else None


def _saved_here(
    opened: OpenVault, coding: Coding, fanout: int, links: Links, path: Path
) -> Told | None:
    files = [one for one in sources([path], {}) if one.entry.kind == "file"]
    given = [RankFile(one.entry.path, partial(_opened, one.path)) for one in files]
    return saved_together(opened, coding, links, given, fanout)


def _opened(path: Path) -> BinaryIO:
    return path.open("rb")


def _told(made: Manifest) -> Told:
    return told_of(made) | {"ranks": int(made.figures["ranks"])}
