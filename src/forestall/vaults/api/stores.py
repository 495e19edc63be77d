"""Storage hosts as this machine knows them: what is learned of them, and the choice among them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import parse_duration, parse_size
from forestall.logs.metrics.day_files import day_files_in
from forestall.prediction.availability.place import default_folder
from forestall.prediction.availability.status import STATUS, read_status
from forestall.vaults.hosts.host import HostLook
from forestall.vaults.hosts.places import host_at
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import HostPool
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.rules.placement import Stake, StoreChoice, choose
from forestall.vaults.saving import Placing
from forestall.vaults.stores.book import StoreBook, load_of
from forestall.vaults.stores.identity import admit, membership
from forestall.vaults.stores.looking import look_around, note_transfers, probe, this_start
from forestall.vaults.stores.placing import AutoPlacing, enough

with lazily():
    from forestall.prediction.availability import forecast
    from forestall.vaults.stores import learning

PLACING: Final = "Where it goes"
WORK: Final = 3600
"""s of work at stake where nothing tells how often is saved."""
UNMEASURED: Final = 1e8
"""B/s of a path of which, as of all others, nothing is known."""
DAYS: Final = 30


@dataclass(frozen=True)
class StakeOptions(Declared, group=PLACING):
    """What a checkpoint is for, as commands ask for it."""

    work: Annotated[
        str | None,
        Setting(
            "Work at risk without this checkpoint (default: the time since the last one with "
            "this label, or 1h)",
            shown="DURATION",
        ),
    ] = None
    fails: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Setting(
            "Probability that this machine fails before the next checkpoint (default: from its "
            "agent, or from its own past)",
            shown="P",
        ),
    ] = None


@dataclass(frozen=True)
class PlacingOptions(StakeOptions, group=PLACING):
    """How hosts are chosen, as commands ask for it."""

    place: Annotated[
        Literal["auto", "turn"],
        Setting(
            "How hosts are chosen for the pieces: auto: by cost and reliability, as far as "
            "they are known; turn: all of them in turn"
        ),
    ] = "auto"


@dataclass(frozen=True)
class PlacedTold:
    """How a save's hosts were chosen: `why`, where it was in turn; else their names, what storing
    costs and what the checkpoint is worth, s of the job's time, and the probability that enough of
    them are up when this machine fails."""

    place: str
    why: str = ""
    hosts: tuple[str, ...] = ()
    cost: float = 0.0
    benefit: float = 0.0
    available: float = 0.0


def book_path() -> Path:
    """Return where this machine keeps what it knows of storage hosts: homes may be shared."""
    return default_folder() / f"stores-{os.uname().nodename}.db"


@contextmanager
def this_book(now: float) -> Iterator[StoreBook]:
    """Give this machine's book, and say in it that the machine runs."""
    with StoreBook(book_path()) as book:
        boot, running = this_start()
        book.beat(boot, int(now), int(now - running))
        yield book


class SavePlacing:
    """Chooses the hosts of one save, and writes down afterwards how it went. That the book cannot
    be read or written is told, and stops no save.

    Parameters
    ----------
    pool : the vault's hosts
    code, label : of the save
    size : bytes of what is saved, at most
    clock : s since 1970
    """

    def __init__(
        self, pool: HostPool, options: PlacingOptions, code: Code, label: str, size: int,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self._pool, self._options, self._code = pool, options, code
        self._label, self._size, self._clock = label, size, clock
        self._auto: AutoPlacing | None = None
        try:
            with this_book(clock()) as book:
                self._why = self._choose(book)
        except TraceError as error:
            self._why = str(error)

    @property
    def place(self) -> Placing | None:
        """What a save is given; None: all hosts in turn."""
        return self._auto

    def _choose(self, book: StoreBook) -> str:
        """Choose hosts; return why not, where that is so."""
        pool, code = self._pool, self._code
        if self._options.place == "turn":
            return "as asked"
        if len(pool.hosts) <= code.pieces:
            return "there are not more hosts than pieces"
        now = self._clock()
        measured = any(book.path_to(name) is not None for name in pool.names)
        look_around(pool, book, int(now))
        if not measured:
            return "nothing is known about these hosts yet"
        probe(pool, book, now)
        stake = stake_of(book, self._options, code, self._label, self._size, int(now))
        known = learning.learn(book, pool.names, int(now), horizon_of(stake))
        seen = learning.outlook(book, known, int(now), unmeasured=_usual(known))
        if not enough(seen.bandwidth.tolist(), code):
            return "too few hosts answer"
        self._auto = AutoPlacing(pool, seen, stake, code)
        return ""

    def end(self, packed: int) -> PlacedTold:
        """Write down how fast hosts were and how many bytes were new; return how they were
        chosen."""
        now = self._clock()
        try:
            with this_book(now) as book:
                note_transfers(self._pool, book, now)
                book.add_save(self._label, int(now), float(packed))
        except TraceError as error:
            self._why = self._why or str(error)
        if self._auto is None:
            return PlacedTold("turn", self._why)
        return _told(self._auto.choice, self._pool.names)


def _told(chosen: StoreChoice, names: Sequence[str]) -> PlacedTold:
    hosts = tuple(names[k] for k in chosen.hosts)
    return PlacedTold("auto", "", hosts, chosen.cost, chosen.benefit, chosen.available)


def _usual(known: Sequence[learning.StoreKnown]) -> float:
    rates = [one.bandwidth for one in known if one.bandwidth is not None]
    return float(np.median(rates)) if rates else UNMEASURED


def stake_of(
    book: StoreBook, options: StakeOptions, code: Code, label: str | None, size: int, now: int
) -> Stake:
    """Return what a checkpoint is for: as asked, else by the last one with its label, the agent of
    this machine, and its own past."""
    last = None if label is None else book.last_save(label)
    work = float(WORK)
    if options.work is not None:
        work = float(parse_duration(options.work, "work"))
    elif last is not None and now > last[0]:
        work = float(min(now - last[0], DAYS * 86_400))
    new = float(size) if last is None or last[1] <= 0 else min(last[1], float(size) or last[1])
    fails = options.fails
    if fails is None:
        fails = fails_within(book, work, now)
    return Stake(max(new, 1.0) / code.data, fails, work)


def horizon_of(stake: Stake) -> int:
    """Return the s within which a checkpoint may be needed: until the next one."""
    return max(int(stake.work), 60)


def fails_within(book: StoreBook, seconds: float, now: int, folder: Path | None = None) -> float:
    """Return the probability that this machine fails within a time: as its agent says, else as
    often as it was seen to, with half a failure in a day more than was."""
    place = default_folder() if folder is None else folder
    try:
        chances = read_status(place)["reliability"] if (place / STATUS).exists() else None
    except (ForestallError, KeyError):
        chances = None
    if isinstance(chances, dict) and isinstance(chances.get("1h"), float):
        hazard = -math.log(max(chances["1h"], 1e-6)) / 3600
    else:
        downs = book.downs()
        days = (now - downs[0][0]) / 86_400 if downs else 0.0
        hazard = (len(downs) + 0.5) / (days + 1) / 86_400
    return -math.expm1(-hazard * seconds)


def note_own_failures(book: StoreBook, now: int, folder: Path | None = None) -> None:
    """Write down when the agent of this machine saw it fail a guest: S3, S4 and S5."""
    place = default_folder() if folder is None else folder
    files = day_files_in(place)[-DAYS:]
    if not files:
        return
    begin, states = forecast.past_states(files, place, os.uname().nodename, 60.0)
    failed = np.asarray(states) >= 2
    edges = np.diff(np.concatenate(([False], failed, [False])).astype(np.int8))
    went, back = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    book.add_downs([(begin + int(a) * forecast.STEP, min(begin + int(b) * forecast.STEP, now))
                    for a, b in zip(went, back, strict=True)])  # fmt: skip


# -------------------------------------------------------------------------------------- commands


@dataclass(frozen=True)
class ChoosingOptions(Declared):
    """A checkpoint that is asked about."""

    data: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Setting(
            "Number of pieces that suffice to recover the checkpoint",
            unset="as in the newest checkpoint, or 3",
        ),
    ] = None
    parity: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Setting("Number of pieces that may be lost", unset="as in the newest checkpoint, or 2"),
    ] = None
    size: Annotated[str, Setting("Amount of new data in the checkpoint", shown="SIZE")] = "1GiB"


def code_of(pool: HostPool, choosing: ChoosingOptions) -> Code:
    """Return m + k: as asked; else as the newest checkpoint on these hosts has it, where there is
    one that can be read without a key."""
    there = Code()
    if choosing.data is None or choosing.parity is None:
        with suppress(ForestallError):
            there = Vault(pool, VaultRules()).manifest("latest").code
    return Code(
        there.data if choosing.data is None else choosing.data,
        there.parity if choosing.parity is None else choosing.parity,
    )


def looked_at(
    stores: Sequence[str],
    choosing: ChoosingOptions,
    asked: StakeOptions,
    *,
    measure: bool = True,
) -> dict[str, Any]:
    """Look at storage hosts; return how each is, what was learned of it, and the choice."""
    now, size = time.time(), parse_size(choosing.size)
    with _stores_at(stores) as pool, this_book(now) as book:
        code = code_of(pool, choosing)
        found = look_around(pool, book, int(now))
        if measure:
            probe(pool, book, now)
        note_own_failures(book, int(now))
        stake = stake_of(book, asked, code, None, size, int(now))
        known = learning.learn(book, pool.names, int(now), horizon_of(stake))
        seen = learning.outlook(book, known, int(now), unmeasured=_usual(known))
        told: dict[str, Any] = {
            "within": horizon_of(stake), "fails": stake.fails, "data": code.data,
            "parity": code.parity,
        }  # fmt: skip
        chosen: StoreChoice | None = None
        if enough(seen.bandwidth.tolist(), code):
            chosen = choose(seen, stake, code.data, code.parity)
            told["choice"] = asdict(_told(chosen, pool.names))
        else:
            told["choice"] = None
        told["hosts"] = [
            {**asdict(one), **_looks_like(found[k]),
             "chosen": chosen is not None and k in chosen.hosts}
            for k, one in enumerate(known)
        ]  # fmt: skip
        return told


def _looks_like(look: object) -> dict[str, Any]:
    """Return what a host said now."""
    if not isinstance(look, HostLook):
        return {"load": None, "clients": None, "limit": None, "stored": None, "quota": None,
                "said": str(look)}  # fmt: skip
    values = {"load": load_of(look), **look._asdict()}
    told = {name: None if math.isnan(values[name]) else values[name]
            for name in ("load", "clients", "limit", "stored", "quota")}  # fmt: skip
    return {**told, "said": ""}


def watch(
    stores: Sequence[str],
    every: float,
    until: float,
    *,
    tell: Callable[[str, str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Look at storage hosts each so many s, for `until` s; `tell` is told each change of a host:
    its name, and its state."""
    if every < 1:
        raise ParameterError("every", every, "at least 1s")
    begun, before, learned = time.monotonic(), dict[str, str](), -math.inf
    while True:
        now = time.time()
        with _stores_at(stores) as pool, this_book(now) as book:
            look_around(pool, book, int(now))
            if time.monotonic() - learned >= 3600:
                note_own_failures(book, int(now))
                learned = time.monotonic()
            for one in learning.learn(book, pool.names, int(now), 60):
                if before.get(one.name) != one.state:
                    tell(one.name, one.state)
                before[one.name] = one.state
        left = until - (time.monotonic() - begun)
        if left <= 0:
            return
        sleep(min(every, left))


@contextmanager
def _stores_at(stores: Sequence[str]) -> Iterator[HostPool]:
    """Give the hosts at URLs; where some hold a vault, the others count as not there."""
    with HostPool([host_at(url) for url in _named(stores)]) as pool:
        admit(pool, membership(pool))
        yield pool


def _named(stores: Sequence[str]) -> Sequence[str]:
    if not stores:
        raise ParameterError("store", None, "the URL of a storage host, at least one")
    return stores
