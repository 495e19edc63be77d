"""The ranks of an MPI program, some of which may be lost."""

from __future__ import annotations

import atexit
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np
from mpi4py import MPI

from forestall.core.model.errors import ParameterError
from forestall.vaults.ranks.members import Links, Members, RankLostError
from forestall.vaults.ranks.states import Buffer

_AT_ONCE: Final = 1 << 28
"""Bytes of one message: MPI counts them with 31 bits."""
_SWAP, _LINK, _END = 1, 2, 3
_PAUSE: Final = 0.02
"""s between two looks of a spare, which so takes no core from the ranks that work."""
_NEWS: Final = 1.0
"""s within which the news of a loss reaches a rank that an error or a revocation already has."""
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
        with _told(self._comm):
            _await(self._comm, self._comm.Isend(np.array([len(message)], np.int64), to, _LINK))
            for part in _parts(message):
                _await(self._comm, self._comm.Isend(part, to, _LINK))

    def receive(self, of: int) -> Buffer:
        """Wait for a rank's next message."""
        of, count = self._places[of], np.zeros(1, np.int64)
        with _told(self._comm):
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
    patience : s after a loss until a rank that MPI does not let go ends itself; the others wait
        twice as long for it

    Raises ParameterError where nobody would be left to work.
    """

    def __init__(
        self, comm: MPI.Intracomm, spares: int = 0, patience: float = math.inf
    ) -> None:  # fmt: skip
        size = comm.Get_size() - spares
        if spares < 0 or size < 1:
            raise ParameterError("spares", spares, f"0 to {comm.Get_size() - 1}")
        if not patience > 0:
            raise ParameterError("patience", patience, "a time above 0, s")
        self._all = comm.Dup()
        self._all.Set_errhandler(MPI.ERRORS_RETURN)
        self._own: MPI.Comm | None = None
        self._copy: MPI.Comm | None = None
        self._known = self._met = self._meets = False
        self._over = threading.Event()
        with _told(self._all):
            self.settle([k if k < size else None for k in range(comm.Get_size())])
        if not self.agree_all(True):
            raise RankLostError("a rank was lost at the beginning")
        if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            watch = threading.Thread(
                target=self._watch, args=(patience,), name="ring-watch", daemon=True
            )
            watch.start()
            atexit.register(self._over.set)

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
        self._own = self._copy = self.links = None
        self.rank, self.size, self._known = rank, len(self._working), False
        with _told(self._all):
            made: Any = self._all.Split(MPI.UNDEFINED if rank is None else 0, rank or 0)
            if rank is not None:
                made.Set_errhandler(MPI.ERRORS_RETURN)
                # mpi4py reduces and scans objects over a copy that it keeps: it is revoked as well
                self._copy, _ = MPI._commctx_intra(made)
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
        with _told(self._own, self._all):
            _await(self._own, self._own.Iallreduce(MPI.IN_PLACE, found, MPI.MIN))
        return bool(found[0])

    def finish(self, well: bool) -> bool:
        """Return whether all that work have come to their end. MPI's agreement is the same to all;
        where a rank is lost all are let go first, so that they come here."""
        assert self._own is not None
        self._meets = True
        if not well:
            self._revoke_all()
        try:
            found = bool(_agreed(self._own, well))
        except MPI.Exception as error:
            if not self.is_loss(error):
                raise
            return False
        if found:
            self._over.set()
        return found

    def regroup(self) -> None:
        """Revoke what others may wait in, and shrink."""
        self._meets = True
        self._revoke_all()
        if self._met:
            self._await_news()
        self._all = _shrunk(self._all)
        self._all.Set_errhandler(MPI.ERRORS_RETURN)
        self._met, self._meets = True, False

    def _await_news(self) -> None:
        """Wait until this process knows of a loss, as whoever was revoked may not yet: Open MPI 5.0
        crashes where the news comes while it shrinks."""
        late = time.monotonic() + _NEWS
        while not _failed(self._all):
            if time.monotonic() > late:
                return
            _progress()
            time.sleep(_PAUSE / 4)
        _end_at_exit()

    def gather(self, told: Any) -> list[Any]:
        """Return what each survivor tells."""
        with _told(self._all):
            return self._all.allgather(told)

    def pass_on(
        self, sent: Sequence[tuple[int, Buffer]], got: Sequence[tuple[int, Buffer]]
    ) -> None:
        """Send to, and receive from, survivors."""
        _swapped(self._all, sent, got)

    def agree_all(self, well: bool) -> bool:
        """Return whether all survivors say so."""
        if not well:
            self._revoke_all()
        try:
            found = bool(_agreed(self._all, well))
        except MPI.Exception as error:
            if not self.is_loss(error):
                raise
            return False
        self._known = self._known or found
        return found

    def leave(self) -> None:
        """Let nobody wait for this process any more; it ends as a lost one does."""
        self._revoke_all()
        _end_at_exit(left=True)

    def _revoke_all(self) -> None:
        """Revoke the communicators: nobody waits any longer for what will not come. One that others
        may still be about to make is let be: Open MPI 5.0 would crash there."""
        if self._known:
            for comm in (self._own, self._copy):
                if comm is not None:
                    _revoke(comm)
        _revoke(self._all)

    def wait(self) -> bool:
        """Look now and then whether the ranks that work meet again, or have ended."""
        while True:
            with suppress(MPI.Exception):
                if self._all.Iprobe(self._working[0], _END):
                    return False
            if _revoked(self._all) or self._nobody_works():
                return True
            time.sleep(_PAUSE)

    def _nobody_works(self) -> bool:
        if _failed(self._all) < len(self._working):
            return False
        failed, everybody = self._all.Get_failed(), self._all.Get_group()
        gone = MPI.Group.Translate_ranks(failed, None, everybody)
        return set(self._working) <= set(gone)

    def release(self) -> None:
        """Tell spares that the program has ended."""
        self._over.set()
        if self.rank == 0:
            for k in range(self._all.Get_size()):
                if k not in self._working:
                    with suppress(MPI.Exception):  # a spare that was lost
                        self._all.Send(np.zeros(1, np.uint8), k, _END)

    def is_loss(self, error: BaseException) -> bool:
        """Return whether an error comes of a lost rank. Its class need not say so, and what came of
        a collective may be rubbish that only fails later: the library is asked what it knows."""
        known = (one for one in (self._own, self._copy, self._all) if one is not None)
        return isinstance(error, RankLostError) or _of_loss(error, *known)

    def _watch(self, patience: float) -> None:
        """End this process where MPI does not let it go after a loss: the others go on without it.
        Who waits for the others waits twice as long, so that not all go at once."""
        seen: MPI.Comm | None = None
        since = time.monotonic()
        while not self._over.wait(min(1.0, patience / 10)):
            comm = self._all if self._meets or self._own is None else self._own
            if (self._own is None and not self._meets) or not (_revoked(comm) or _failed(comm)):
                seen = None
            elif comm is not seen:
                seen, since = comm, time.monotonic()
            elif time.monotonic() - since > patience * (2 if self._meets else 1):
                where = "a spare" if self.rank is None else f"rank {self.rank}"
                os.write(
                    2,
                    f"forestall: {where} ends itself: it did not come back within "
                    f"{time.monotonic() - since:.0f} s after a rank was lost\n".encode(),
                )
                os.kill(os.getpid(), signal.SIGKILL)


def _swapped(
    comm: MPI.Comm, sent: Sequence[tuple[int, Buffer]], got: Sequence[tuple[int, Buffer]]
) -> None:
    with _told(comm):
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
            if _revoked(comm) or _failed(comm):
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


def _revoked(comm: MPI.Comm) -> bool:
    try:
        return comm.Is_revoked()
    except NotImplementedError:
        return False


def _failed(comm: MPI.Comm) -> int:
    """Return how many processes of a communicator are known to be lost."""
    try:
        return comm.Get_failed().Get_size()
    except NotImplementedError:
        return 0


def _progress() -> None:
    """Let news come in; a communicator that was revoked would refuse."""
    MPI.COMM_SELF.Iprobe()


def _lost_soon(*comms: MPI.Comm) -> bool:
    """Return whether a rank is known to be lost, or is within the time that the news takes."""
    late = time.monotonic() + _NEWS
    while not any(_revoked(one) or _failed(one) for one in comms):
        if time.monotonic() > late:
            return False
        _progress()
        time.sleep(_PAUSE)
    return True


def _end_at_exit(*, left: bool = False) -> None:
    atexit.unregister(_end)
    atexit.register(_end, left)


def _end(left: bool) -> None:
    """End a program that lost a rank without MPI_Finalize, in which Open MPI 5.0 often waits for
    ever then; with code 1 after an exception that nobody caught. Who left the others while they go
    on ends by a signal: of another end they would not hear."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if left:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0 if getattr(sys, "last_value", None) is None else 1)


def _shrunk(comm: MPI.Comm) -> Any:
    try:
        return comm.Shrink()
    except NotImplementedError:
        return comm.Dup()


@contextmanager
def _told(*comms: MPI.Comm) -> Iterator[None]:
    """Turn an error that comes of a lost rank of these into RankLostError."""
    try:
        yield
    except RankLostError:
        raise
    except Exception as error:
        if _of_loss(error, *comms):
            raise RankLostError("a rank was lost") from error
        raise


def _of_loss(error: BaseException, *comms: MPI.Comm) -> bool:
    clear = isinstance(error, MPI.Exception) and error.Get_error_class() in _LOSSES
    return clear or _lost_soon(*comms)
