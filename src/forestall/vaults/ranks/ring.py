"""The ring: each rank keeps its own state and its two neighbours', in memory.

A save sends a rank's state to both neighbours and takes in theirs, into the older of two sets of
copies; the other one, the last complete step, is not touched before all ranks have said that the
new one is complete. After a loss the survivors tell what they hold, `forestall.vaults.rules.ring`
says who goes on with what, and what is missing somewhere is sent there. A part is gone where a rank
and both its neighbours are; then a vault is asked, where there is one.

Source: Hacker and Meglicki, HPDC 2007, Section 7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, Protocol, TypeVar

import numpy as np

from forestall.core.model.errors import ForestallError, InputError, ParameterError
from forestall.vaults.layouts import neighbours
from forestall.vaults.libraries import xxh3_128_digest
from forestall.vaults.pool import LostError
from forestall.vaults.ranks.members import Links, Members, RankLostError
from forestall.vaults.ranks.states import Buffer, State, packed, state_of
from forestall.vaults.rules.ring import (
    HeldStep,
    RecoveryPlan,
    StepKey,
    Survivor,
    plan_recovery,
    share_out,
)

T = TypeVar("T")
_HEAD: Final = 4
"""Numbers that are told of a copy before it is sent: its part, its bytes, its checksum."""


class StepStore(Protocol):
    """Where every n-th step goes besides."""

    def save(self, links: Links, step: int, data: Buffer) -> None:
        """Save the ranks' states of a step; all ranks do so at once."""

    def newest(self) -> tuple[str, int, int] | None:
        """Return the name of the newest checkpoint, its step and its number of parts."""

    def read(self, name: str, part: int) -> Buffer:
        """Return a part of a checkpoint."""


@dataclass
class Copies:
    """What a rank holds of a step: parts, by number, with the checksums of those that are whole.
    `owned` are the parts that are its own."""

    key: StepKey
    parts: int
    owned: tuple[int, ...]
    data: dict[int, Buffer] = field(default_factory=dict)
    sums: dict[int, bytes] = field(default_factory=dict)

    def held(self) -> HeldStep:
        """Return what of it is whole still."""
        whole = (part for part, told in self.sums.items() if _sum(self.data[part]) == told)
        return HeldStep(self.parts, frozenset(whole), self.owned)


@dataclass(frozen=True)
class Restored:
    """What a rank goes on from.

    Attributes
    ----------
    step : the number it was saved with; None: there is none, and all begin anew
    states : by the rank that saved it: this rank's own, and what it takes over of others. A spare
        that takes a rank's place gets that rank's; without spares a survivor gets two, and a rank
        that no part fell to gets none
    source : ``ring``, ``vault`` or ``none``
    lost : ranks whose state nobody held any more, so that the vault was asked
    """

    step: int | None
    states: Mapping[int, State]
    source: Literal["ring", "vault", "none"]
    lost: tuple[int, ...] = ()

    @property
    def state(self) -> State:
        """The one state there is. Raises InputError where there are several, or none."""
        if len(self.states) != 1:
            raise InputError(f"{len(self.states)} states were restored; expected one")
        return next(iter(self.states.values()))


@dataclass(frozen=True)
class _Met:
    """Survivors that are together: what they do, and what this one holds: of the step that is
    taken, and of it what it goes on with."""

    plan: RecoveryPlan
    epoch: int
    saves: int
    copies: Copies | None
    parts: dict[int, Buffer]


@dataclass(frozen=True)
class _GoneOn:
    """What a process goes on from, the copies of it, and what was wrong where there is nothing."""

    found: Restored
    copies: Copies | None = None
    error: ForestallError | None = None


class Ring:
    """The ranks of a program, each with its neighbours' states.

    Parameters
    ----------
    members : the processes
    store, every : every so many steps all states go there, too; 0: never

    Attributes
    ----------
    working : whether this process works, or waits as a spare
    """

    def __init__(self, members: Members, store: StepStore | None = None, every: int = 0) -> None:
        if every < 0 or (every and store is None):
            raise ParameterError("every", every, "at least 0; more than 0 needs a vault")
        self._members, self._store, self._every = members, store, every
        self._epoch, self._saves = 0, 0
        self._last: Copies | None = None
        self._older: Copies | None = None

    @property
    def working(self) -> bool:
        """Whether this process works."""
        return self._members.rank is not None

    @property
    def rank(self) -> int | None:
        """This process's rank among those that work; None for a spare."""
        return self._members.rank

    @property
    def size(self) -> int:
        """How many work."""
        return self._members.size

    @property
    def comm(self) -> Any:
        """The communicator of those that work; another one after each `restore`."""
        return self._members.comm

    def save(self, state: State, step: int) -> None:
        """Keep this rank's state, and its neighbours'; all ranks that work do so at once.

        Parameters
        ----------
        state : bytes, an array of numbers, or a dictionary of these; it may be changed afterwards
        step : its number, which `restore` tells

        Raises RankLostError where a rank was lost meanwhile: the last step that was complete is
        there still. Errors of the vault come when the ring has the step.
        """
        assert self._members.rank is not None, "a spare has nothing to save"
        rank, size = self._members.rank, self._members.size
        old, self._older = self._older, None
        given = None if old is None else old.data.get(rank)
        new = Copies(StepKey(self._epoch, int(step)), size, (rank,))
        new.data[rank] = packed(state, given)
        new.sums[rank] = _sum(new.data[rank])
        self._older = new  # whole enough to be told of, if what follows comes to no end
        self._swap(new, {} if old is None else old.data)
        if not self._members.agree(len(new.sums) == len(new.data)):
            raise InputError(f"step {step} arrived damaged at a neighbor; expected what was sent")
        self._last, self._older = new, self._last
        self._saves += 1
        if self._every and self._saves % self._every == 0:
            assert self._store is not None
            assert self._members.links is not None
            self._store.save(self._members.links, int(step), new.data[rank])

    def restore(self) -> Restored:
        """Meet again after a loss, or at the beginning: all survivors do so, spares among them.

        Returns what this process goes on from, all of the newest step that survivors together
        hold; else of the vault's newest. Then `rank`, `size`, `comm` and `working` may be others.

        Raises LostError where neither has all parts.
        """
        members = self._members
        while True:
            members.regroup()
            with self._left_on_errors():
                met = _tried(self._meet)
                if not members.agree_all(not isinstance(met, RankLostError)):
                    continue
                assert isinstance(met, _Met)
                begun = _tried(partial(self._begin, met))
                if not members.agree_all(not isinstance(begun, RankLostError)):
                    continue
            assert isinstance(begun, _GoneOn)
            if begun.copies is not None:  # all have them; the older set may share its buffers
                self._older, self._last = None, begun.copies
            self._epoch, self._saves = met.epoch, met.saves  # spares learn them, too
            if begun.error is not None:
                raise begun.error
            return begun.found

    def wait(self) -> Restored | None:
        """Wait as a spare; return what it goes on from once it takes a rank's place, None where the
        program has ended without it."""
        while self._members.wait():
            found = self.restore()
            if self._members.rank is not None:
                return found
        return None

    def close(self) -> None:
        """End: spares wait no longer."""
        if self.working:
            self._members.release()

    def run(self, work: Callable[[Ring, Restored], T]) -> T | None:
        """Call `work(ring, restored)` until it ends on all ranks, again after each loss of one.

        It begins with what `restore` gives at the beginning: the vault's newest step, where there
        is one. Spares wait, and call `work` once they take a place. Returns what `work` does, None
        on spares that were not needed.
        """
        found = self.restore()
        while True:
            if not self.working:
                taken = self.wait()
                if taken is None:
                    return None
                found = taken
            try:
                made, well = work(self, found), True
            except Exception as error:
                well = False
                if not self._members.is_loss(error):
                    self._members.leave()
                    raise
            if self._members.finish(well):
                self.close()
                return made
            found = self.restore()

    # ------------------------------------------------------------------------------ copies

    def _swap(self, new: Copies, spare: Mapping[int, Buffer]) -> None:
        """Send the parts that are one's own to both neighbours, and take in theirs, in `spare`
        buffers of a part where they have its size."""
        rank, size = self._members.rank or 0, self._members.size
        around = neighbours(rank, size)
        count = np.array([len(new.owned)], np.int64)
        counts = {one: np.zeros(1, np.int64) for one in around}
        self._members.swap(
            [(one, _raw(count)) for one in around], [(one, _raw(counts[one])) for one in around]
        )
        heads = np.array([_head(part, new) for part in new.owned], np.int64).reshape(-1, _HEAD)
        told = {one: np.zeros((int(counts[one][0]), _HEAD), np.int64) for one in around}
        self._members.swap(
            [(one, _raw(heads)) for one in around], [(one, _raw(told[one])) for one in around]
        )
        got: list[tuple[int, Buffer]] = []
        for one in around:
            for part, length, *_ in told[one].tolist():
                there = spare.get(part)
                fits = there is not None and len(there) == length
                new.data[part] = there if fits and there is not None else np.empty(length, np.uint8)
                got.append((one, new.data[part]))
        sent = [(one, new.data[part]) for one in around for part in new.owned]
        self._members.swap(sent, got)
        for one in around:
            for row in told[one]:
                if _sum(new.data[int(row[0])]) == row[2:].tobytes():
                    new.sums[int(row[0])] = row[2:].tobytes()

    # ---------------------------------------------------------------------------- recovery

    @contextmanager
    def _left_on_errors(self) -> Iterator[None]:
        """Let nobody wait for a process that cannot go on."""
        try:
            yield
        except BaseException:
            self._members.leave()
            raise

    def _meet(self) -> _Met:
        """Find out who is left and what they hold, and bring parts to where they are wanted."""
        members = self._members
        sets = {one.key: one for one in (self._older, self._last) if one is not None}
        held = {key: one.held() for key, one in sets.items()}
        sizes = {(key, part): (len(one.data[part]), one.sums[part])
                 for key, one in sets.items() for part in held[key].held}  # fmt: skip
        own = Survivor(members.rank, held, self._last is not None)
        mine = (own, sizes, self._epoch, members.size, self._saves)
        told = members.gather(mine)
        plan = plan_recovery([one for one, *_ in told], max(one[3] for one in told))
        copies = None if plan.key is None else sets.get(plan.key)
        parts = {} if plan.key is None else self._delivered(plan, copies, told)
        members.settle(plan.ranks)
        epoch, saves = max(one[2] for one in told) + 1, max(one[4] for one in told)
        return _Met(plan, epoch, saves, copies, parts)

    def _delivered(
        self, plan: RecoveryPlan, copies: Copies | None, told: list[Any]
    ) -> dict[int, Buffer]:
        """Return the parts that this process goes on with, sent here where they were not."""
        held = {} if copies is None else copies.data
        here, sent, got, mine = self._members.place, [], [], {}
        for part, (owner, source) in enumerate(zip(plan.owners, plan.sources, strict=True)):
            length, _ = told[source][1][plan.key, part]
            if owner == here and source == here:
                mine[part] = held[part]
            elif owner == here:
                mine[part] = np.empty(length, np.uint8)
                got.append((source, mine[part]))
            elif source == here:
                sent.append((owner, held[part]))
        self._members.pass_on(sent, got)
        for part, data in mine.items():
            if _sum(data) != told[plan.sources[part]][1][plan.key, part][1]:
                raise RankLostError(f"part {part} arrived damaged")  # all try again
        return mine

    def _begin(self, met: _Met) -> _GoneOn:
        """Go on from what survivors hold, else from the vault; else from nothing, where nothing was
        ever saved."""
        plan, links = met.plan, self._members.links
        if plan.key is not None:
            return self._shared(met.epoch, plan.key.step, plan.parts, met.parts, "ring")
        if links is None:  # a spare still
            return _GoneOn(Restored(None, {}, "none", plan.lost))
        found = _told_by_first(links, self._newest)
        if isinstance(found, str):
            return _GoneOn(Restored(None, {}, "none"), error=LostError(found))
        if found is None and plan.lost:
            told = f"ranks {', '.join(map(str, plan.lost))} were lost with both their neighbors"
            return _GoneOn(Restored(None, {}, "none"), error=LostError(told))
        if found is None:
            return _GoneOn(Restored(None, {}, "none"))
        name, step, parts = found
        mine, wrong = self._read(name, parts)
        if not self._members.agree(wrong is None):
            said = wrong or LostError(f"another rank could not read checkpoint {name}")
            return _GoneOn(Restored(None, {}, "none"), error=said)
        return self._shared(met.epoch, step, parts, mine, "vault", plan.lost)

    def _shared(
        self, epoch: int, step: int, parts: int, mine: dict[int, Buffer],
        source: Literal["ring", "vault"], lost: tuple[int, ...] = (),
    ) -> _GoneOn:  # fmt: skip
        """Give what was restored to the neighbours, so that the next loss finds it there."""
        if self._members.rank is None:
            return _GoneOn(Restored(None, {}, "none"))
        states = {part: state_of(data) for part, data in sorted(mine.items())}
        new = Copies(StepKey(epoch, step), parts, tuple(sorted(mine)), dict(mine))
        new.sums = {part: _sum(data) for part, data in mine.items()}
        self._swap(new, {})
        if not self._members.agree(len(new.sums) == len(new.data)):
            raise RankLostError(f"step {step} arrived damaged at a neighbor")  # all try again
        return _GoneOn(Restored(step, states, source, lost), new)

    def _read(self, name: str, parts: int) -> tuple[dict[int, Buffer], ForestallError | None]:
        """Return the parts of a checkpoint that fall to this rank, or what was wrong."""
        assert self._store is not None
        owners = share_out(parts, self._members.size)
        mine = {}
        try:
            for part, owner in enumerate(owners):
                if owner == self._members.rank:
                    # a later save writes into it
                    mine[part] = np.require(self._store.read(name, part), requirements="W")
        except ForestallError as error:
            return {}, error
        return mine, None

    def _newest(self) -> tuple[str, int, int] | None:
        return None if self._store is None else self._store.newest()


def _tried(work: Callable[[], T]) -> T | RankLostError:
    """Return what comes of it, or that a rank was lost."""
    try:
        return work()
    except RankLostError as error:
        return error


def _told_by_first(
    links: Links, ask: Callable[[], tuple[str, int, int] | None]
) -> tuple[str, int, int] | str | None:
    """Return what rank 0 finds out, on all ranks; in words what was wrong with it."""
    told: dict[str, bytes] = {}
    if links.rank == 0:
        try:
            found = ask()
            if found is not None:
                told = {"name": found[0].encode(), "numbers": _ints(*found[1:])}
        except ForestallError as error:
            told = {"wrong": str(error).encode()}
        for other in range(1, links.size):
            links.send(other, packed(told))
    else:
        state = state_of(links.receive(0))
        assert isinstance(state, Mapping)
        told = {name: bytes(one) for name, one in state.items()}
    if "wrong" in told:
        return told["wrong"].decode()
    if not told:
        return None
    step, parts = np.frombuffer(told["numbers"], np.int64).tolist()
    return told["name"].decode(), step, parts


def _ints(*values: int) -> bytes:
    return np.array(values, np.int64).tobytes()


def _head(part: int, of: Copies) -> list[int]:
    high = np.frombuffer(of.sums[part], np.int64)
    return [part, len(of.data[part]), *high.tolist()]


def _raw(numbers: Any) -> Buffer:
    found: Buffer = numbers.reshape(-1).view(np.uint8)
    return found


def _sum(data: Buffer) -> bytes:
    return xxh3_128_digest(data.data)
