"""The ranks of an MPI program, some of which may be lost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np
from mpi4py import MPI

from forestall.model.errors import ParameterError
from forestall.vaults.ranks.members import Links, Members, RankLostError
from forestall.vaults.ranks.states import Buffer

_AT_ONCE: Final = 1 << 28
"""Bytes of one message: MPI counts them with 31 bits."""
_SWAP, _LINK, _END = 1, 2, 3
_PAUSE: Final = 0.02
"""s between two looks of a spare, which so takes no core from the ranks that work."""
_LOSSES: Final = frozenset({
    getattr(MPI, name) for name in ("ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "ERR_REVOKED")
    if hasattr(MPI, name)
})  # fmt: skip


class MpiLinks(Links):
    """Messages between processes of a communicator.

    Parameters
    ----------
    comm : the communicator
    places : of each rank, its number there
    rank : this process's
    """

    def __init__(self, comm: MPI.Comm, places: Sequence[int], rank: int) -> None:
        self._comm, self._places = comm, tuple(places)
        self.rank, self.size = rank, len(places)

    def send(self, to: int, message: Buffer) -> None:
        """Send bytes: their number, then themselves."""
        to = self._places[to]
        with _told():
            _await(self._comm, self._comm.Isend(np.array([len(message)], np.int64), to, _LINK))
            for part in _parts(message):
                _await(self._comm, self._comm.Isend(part, to, _LINK))

    def receive(self, of: int) -> Buffer:
        """Wait for a rank's next message."""
        of, count = self._places[of], np.zeros(1, np.int64)
        with _told():
            _await(self._comm, self._comm.Irecv(count, of, _LINK))
            found = np.empty(int(count[0]), np.uint8)
            for part in _parts(found):
                _await(self._comm, self._comm.Irecv(part, of, _LINK))
        return found


class BorrowedLinks(MpiLinks):
    """Links between the ranks of a communicator of the program, by a copy of it that goes with
    `close`; all its ranks make and close them at once."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._copy = comm.Dup()
        super().__init__(self._copy, range(self._copy.Get_size()), self._copy.Get_rank())

    def close(self) -> None:
        """Let go of the copy."""
        self._copy.Free()


class MpiMembers(Members):
    """The processes of a communicator, of which the last ones are spares.

    Parameters
    ----------
    comm : all of them; it is left as it is
    spares : how many wait

    Raises ParameterError where nobody would be left to work.
    """

    def __init__(self, comm: MPI.Intracomm, spares: int = 0) -> None:
        size = comm.Get_size() - spares
        if spares < 0 or size < 1:
            raise ParameterError("spares", spares, f"0 to {comm.Get_size() - 1}")
        self._all = comm.Dup()
        self._all.Set_errhandler(MPI.ERRORS_RETURN)
        self._own: MPI.Comm | None = None
        self._known = False
        with _told():
            self.settle([k if k < size else None for k in range(comm.Get_size())])
        if not self.agree_all(True):
            raise RankLostError("a rank was lost at the beginning")

    @property
    def comm(self) -> MPI.Comm | None:
        """The communicator of the ranks that work; None on a spare."""
        return self._own

    @property
    def place(self) -> int:
        """The number of this process among survivors."""
        return self._all.Get_rank()

    def settle(self, ranks: Sequence[int | None]) -> None:
        """Make the communicator of those that work."""
        self._working = [k for _, k in sorted((r, k) for k, r in enumerate(ranks) if r is not None)]
        rank = ranks[self._all.Get_rank()]
        self._own = self.links = None
        self.rank, self.size, self._known = rank, len(self._working), False
        with _told():
            made = self._all.Split(MPI.UNDEFINED if rank is None else 0, rank or 0)
        if rank is not None:
            made.Set_errhandler(MPI.ERRORS_RETURN)
            self._own, self.links = made, MpiLinks(self._all, self._working, rank)

    def swap(self, sent: Sequence[tuple[int, Buffer]], got: Sequence[tuple[int, Buffer]]) -> None:
        """Send to, and receive from, ranks that work."""
        self.pass_on(
            [(self._working[to], one) for to, one in sent],
            [(self._working[of], one) for of, one in got],
        )

    def agree(self, well: bool) -> bool:
        """Return whether all that work say so. MPI's own agreement would wait for ranks that have
        left to regroup; a reduction is ended by their revoking."""
        assert self._own is not None
        found = np.array([well], np.int64)
        with _told():
            _await(self._own, self._own.Iallreduce(MPI.IN_PLACE, found, MPI.MIN))
        return bool(found[0])

    def regroup(self) -> None:
        """Revoke what others may wait in, and shrink."""
        self.leave()
        self._all = _shrunk(self._all)
        self._all.Set_errhandler(MPI.ERRORS_RETURN)

    def gather(self, told: Any) -> list[Any]:
        """Return what each survivor tells."""
        with _told():
            return self._all.allgather(told)

    def pass_on(
        self, sent: Sequence[tuple[int, Buffer]], got: Sequence[tuple[int, Buffer]]
    ) -> None:
        """Send to, and receive from, survivors."""
        _swapped(self._all, sent, got)

    def agree_all(self, well: bool) -> bool:
        """Return whether all survivors say so."""
        if not well:
            self.leave()
        try:
            found = bool(_agreed(self._all, well))
        except MPI.Exception as error:
            if not self.is_loss(error):
                raise
            return False
        self._known = self._known or found
        return found

    def leave(self) -> None:
        """Revoke the communicators: nobody waits any longer for what will not come. One that others
        may still be about to make is let be: Open MPI 5.0 would crash there."""
        if self._own is not None and self._known:
            _revoke(self._own)
        _revoke(self._all)

    def wait(self) -> bool:
        """Look now and then whether the ranks that work meet again, or have ended."""
        while True:
            with suppress(MPI.Exception):
                if self._all.Iprobe(self._working[0], _END):
                    return False
            if self._all.Is_revoked() or self._nobody_works():
                return True
            time.sleep(_PAUSE)

    def _nobody_works(self) -> bool:
        failed, everybody = self._all.Get_failed(), self._all.Get_group()
        if failed.Get_size() < len(self._working):
            return False
        gone = MPI.Group.Translate_ranks(failed, None, everybody)
        return set(self._working) <= set(gone)

    def release(self) -> None:
        """Tell spares that the program has ended."""
        if self.rank == 0:
            for k in range(self._all.Get_size()):
                if k not in self._working:
                    with suppress(MPI.Exception):  # a spare that was lost
                        self._all.Send(np.zeros(1, np.uint8), k, _END)

    def is_loss(self, error: BaseException) -> bool:
        """Return whether an error says that a rank was lost."""
        if isinstance(error, MPI.Exception):
            return error.Get_error_class() in _LOSSES
        return isinstance(error, RankLostError)


def _swapped(
    comm: MPI.Comm, sent: Sequence[tuple[int, Buffer]], got: Sequence[tuple[int, Buffer]]
) -> None:
    with _told():
        waited = [comm.Irecv(part, of, _SWAP) for of, one in got for part in _parts(one)]
        waited += [comm.Isend(part, to, _SWAP) for to, one in sent for part in _parts(one)]
        for request in waited:  # all at once they would not say which error it was
            _await(comm, request)


def _await(comm: MPI.Comm, request: MPI.Request) -> None:
    """Wait for a request, but no longer than until a rank is known to be lost: Open MPI 5.0 does
    not end all that waits in a communicator that was revoked."""
    looked = time.monotonic()
    while not request.Test():
        if time.monotonic() - looked > _PAUSE:
            if comm.Is_revoked() or comm.Get_failed().Get_size():
                raise RankLostError("a rank was lost")
            looked = time.monotonic()
        time.sleep(0)  # others may have the core


def _parts(message: Buffer) -> list[Buffer]:
    return [message[at : at + _AT_ONCE] for at in range(0, len(message), _AT_ONCE)]


def _agreed(comm: MPI.Comm, well: bool) -> int:
    try:
        return comm.Agree(int(well))
    except NotImplementedError:
        found: int = comm.allreduce(int(well), MPI.MIN)
        return found


def _revoke(comm: MPI.Comm) -> None:
    with suppress(NotImplementedError):
        comm.Revoke()


def _shrunk(comm: MPI.Comm) -> Any:
    try:
        return comm.Shrink()
    except NotImplementedError:
        return comm.Dup()


@contextmanager
def _told() -> Iterator[None]:
    """Turn an error of MPI that says so into RankLostError."""
    try:
        yield
    except MPI.Exception as error:
        if error.Get_error_class() in _LOSSES:
            raise RankLostError("a rank was lost") from error
        raise
