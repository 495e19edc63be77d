"""A modelled vault in which everything goes wrong: savers, collections, repairs and readers on
machines whose clocks differ by days, each stopped, continued, interrupted or killed at any request
to a host, while hosts go, come back and lose what they had.

The code of saves, leases, collections and moves is the real one. Hosts are in memory; each process
is a greenlet, and at each request to a host chance decides who goes on. Time is the model's own.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from itertools import combinations
from typing import Any, Final, TypeVar
from unittest import mock

import numpy as np
from greenlet import getcurrent, greenlet

from forestall.core.model.errors import InputError
from forestall.vaults import collecting, envelopes, keys, leases, moving, repository, saving, writer
from forestall.vaults.chunks import Cutting
from forestall.vaults.collecting import collect, forget
from forestall.vaults.envelopes import Content
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost, Stored
from forestall.vaults.manifests import Directory, Manifest
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import HostNow, HostPool
from forestall.vaults.reading import read_file
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings, save_stream
from forestall.vaults.upkeep import repair

T = TypeVar("T")
HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
BEGIN: Final = 1_800_000_000.0
RULES: Final = VaultRules(Cutting("blocks", 1024))
BLOCKS: Final = tuple(bytes([k]) * 1024 for k in range(12))
SHAPES: Final = (3, Code(2, 1)), (4, Code(2, 1)), (3, Code(1, 1)), (3, Code(1, 2)), (4, Code(2, 2))
"""Numbers of hosts, and codes."""
TURNS: Final = 20_000
"""Requests after which a scenario that has not ended counts as stuck."""


class KilledError(BaseException):
    """The process is killed: nothing that it would still do happens."""


class ScenarioError(AssertionError):
    """A rule that did not hold, with the story of its seed."""


class Process:
    """A process: on a machine, with a clock of its own, doing one thing."""

    def __init__(self, world: World, number: int, work: Callable[[Process], None]) -> None:
        chance = world.chance
        self.world, self.pid = world, 100 + number
        self.place = ("", "a", "b")[int(chance() * 3)]
        self.ahead = (chance() - 0.5) * (10 * DAY if chance() < 0.5 else 2.0)
        self.until = 0.0
        self.is_dead = self.is_interrupted = False
        self.beats: list[Beat] = []
        self.main = greenlet(lambda: world.run(self, work))
        pool = ModelPool([ProcessHost(one, world) for one in world.hosts])
        self.vault = Vault(pool, RULES, clock=self.clock)

    def clock(self) -> float:
        """Its machine's clock, s since 1970."""
        return self.world.now + self.ahead

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.until = self.world.now + seconds
        self.world.turn()

    def ready(self) -> list[greenlet]:
        """Return what of it can go on."""
        due = [one.thread for one in self.beats if one.is_due()]
        return due if self.main.dead else [self.main, *due]


class Beat:
    """The thread that renews a lease."""

    def __init__(self, process: Process, held: leases.SaveLease) -> None:
        self.process, self.held = process, held
        self.next = process.world.now + leases.BEAT
        self.is_busy = self.is_over = False
        self.thread = greenlet(self._run)

    def is_due(self) -> bool:
        """Whether it has something to do."""
        due = not self.is_over and self.process.world.now >= self.next
        return not self.thread.dead and (self.is_busy or due)

    def _run(self) -> None:
        with suppress(KilledError):
            while not self.is_over:
                self.is_busy = True
                goes_on = self.held.beat()
                self.is_busy = False
                self.process.world.events["beats"] += 1
                if not goes_on:
                    return
                self.next = self.process.world.now + leases.BEAT
                self.process.world.turn()

    def stop(self) -> None:
        """End it, once its requests are over."""
        self.is_over = True
        while self.is_busy and not self.thread.dead:
            self.process.world.turn()


class ModelHost:
    """What lies on a host, and whether it answers."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.objects: dict[str, bytes] = {}
        self.is_away = False


class ProcessHost(StorageHost):
    """A host as a process sees it: at each request others may go on before it is done."""

    def __init__(self, host: ModelHost, world: World) -> None:
        self.name, self._host, self._world = host.name, host, world

    def put(self, key: str, data: bytes) -> None:
        fails = self._turn(writes=True, halts=not key.startswith(keys.PACKS))
        if fails < 0.5:  # it may have been done, though nobody hears of it
            self._host.objects[key] = data
        self._answer(fails)

    def get(self, key: str) -> bytes:
        self._answer(self._turn())
        found = self._host.objects.get(key)
        if found is None:
            raise AbsentError(self.name, f"{key} is not there")
        return found

    def keys(self, prefix: str) -> Iterator[Stored]:
        self._answer(self._turn())
        there = self._host.objects
        return iter([Stored(key, len(there[key])) for key in there if key.startswith(prefix)])

    def delete(self, key: str) -> None:
        fails = self._turn(writes=True, halts=True)
        if fails < 0.5:
            self._host.objects.pop(key, None)
        self._answer(fails)

    def _turn(self, *, writes: bool = False, halts: bool = False) -> float:
        """Let others go on; return how the request fails: 0 not, below a half after it was done."""
        world = self._world
        if world.current is not None and (writes or world.chance() < 0.4):
            world.turn(halts=halts)
        if self._host.is_away:
            return 1.0
        if world.is_flaky and world.chance() < 0.002:
            return world.chance() + 1e-9
        return 0.0

    def _answer(self, fails: float) -> None:
        if fails:
            raise HostError(self.name, "does not answer")


class ModelPool(HostPool):
    """Hosts that are asked one after the other, each time in another order."""

    def __post_init__(self) -> None:
        self.seen = [HostNow() for _ in self.hosts]

    def each(self, ask: Callable[[StorageHost], T]) -> dict[int, T | HostError]:
        """Ask all hosts; return each one's answer, or what was wrong."""
        found: dict[int, T | HostError] = {}
        count = len(self.hosts)
        first = int(self._world.chance() * count)
        for number in range(first, first + count):
            try:
                found[number % count] = ask(self.hosts[number % count])
            except HostError as error:
                found[number % count] = error
        return found

    @property
    def _world(self) -> World:
        host = self.hosts[0]
        assert isinstance(host, ProcessHost)
        return host._world

    def _ask(self, number: int, ask: Callable[[StorageHost], T], size: Any) -> Future[T]:
        return _done(lambda: ask(self.hosts[number]))


def _done(work: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
    return future


class Inline:
    """Does at once what a pool of threads would."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, work: Callable[..., T], *given: Any) -> Future[T]:
        """Do it."""
        return _done(lambda: work(*given))

    def shutdown(self, **_: Any) -> None:
        """Nothing goes on."""


class Reported:
    """A checkpoint that a save reported: its content, the hosts that may be lost, and how many had
    lost what they had when the save began."""

    def __init__(self, made: Manifest, content: bytes, survives: int, wiped: int) -> None:
        self.name, self.content, self.survives, self.wiped = made.name, content, survives, wiped


class World:
    """A scenario: a vault, its hosts, and those who work with it."""

    current: Process | None = None

    def __init__(self, seed: int) -> None:
        self.seed, self.now = seed, BEGIN
        self._rng = np.random.default_rng(seed)
        self._draws: list[float] = []
        self.events: Counter[str] = Counter()
        self.story: list[str] = []
        count, self.code = SHAPES[int(self.chance() * len(SHAPES))]
        self.hosts = [ModelHost(f"h{k}") for k in range(count)]
        self.processes: list[Process] = []
        self.reported: dict[str, Reported] = {}
        self.forgotten: set[str] = set()
        self.wiped = 0
        self.is_hard = self.is_flaky = False
        self.turns = 0
        self._hub = getcurrent()

    def chance(self) -> float:
        """Return a number from 0 to 1."""
        if not self._draws:
            self._draws = self._rng.random(1024).tolist()
        return self._draws.pop()

    def among(self, several: Sequence[T]) -> T:
        """Return one of several."""
        return several[int(self.chance() * len(several))]

    def note(self, text: str) -> None:
        """Add a line to the story."""
        who = "" if self.current is None else f" {self.current.pid}"
        self.story.append(f"{(self.now - BEGIN) / HOUR:.3f} h{who}: {text}")

    # ----------------------------------------------------------------------------- processes

    def begin(self, work: Callable[[Process], None]) -> Process:
        """Begin a process."""
        made = Process(self, len(self.processes), work)
        self.processes.append(made)
        return made

    def run(self, process: Process, work: Callable[[Process], None]) -> None:
        """Do what a process does, to its end."""
        try:
            work(process)
        except (InputError, KeyboardInterrupt) as error:
            self.note(f"{type(error).__name__}: {error}")
            self.events[type(error).__name__] += 1
        except KilledError:
            pass
        process.is_dead = True

    def turn(self, *, halts: bool = False) -> None:
        """Let another process go on; come back when it is this one's turn."""
        process = self.current
        assert process is not None
        if process.is_dead:
            raise KilledError
        if halts and self.is_hard and self.chance() < 0.02:
            self._stop(process)
        self._hub.switch()
        if process.is_dead:
            raise KilledError
        if process.is_interrupted and getcurrent() is process.main:
            process.is_interrupted = False
            raise KeyboardInterrupt

    def play(self) -> None:
        """Let processes go on, by turns, until all have ended."""
        while True:
            alive = [one for one in self.processes if not (one.main.dead or one.is_dead)]
            if not alive:
                break
            self.turns += 1
            if self.turns > TURNS:
                raise ScenarioError(self.told("it does not end"))
            if self.is_hard:
                self._fault(alive)
            self.now += self.chance() * (30.0 if self.chance() < 0.1 else 0.5)
            ready = [one for one in alive if one.until <= self.now]
            if not ready:
                self.now = min(one.until for one in alive)
                self.turns -= 1
                continue
            process = self.among(ready)
            self._switch(process)
        for one in self.processes:
            for each in (one.main, *(beat.thread for beat in one.beats)):
                self.current = one
                one.is_dead = True
                while each and not each.dead:
                    each.switch()
        self.current = None

    def _switch(self, process: Process) -> None:
        self.current = process
        self.among(process.ready()).switch()
        self.current = None

    # -------------------------------------------------------------------------------- faults

    def _fault(self, alive: Sequence[Process]) -> None:
        """Let something go wrong, now and then."""
        chance = self.chance()
        if chance > 0.012:
            return
        process = self.among(alive)
        if chance < 0.004:
            self._stop(process)
        elif chance < 0.005:
            process.is_dead = True
            self.note(f"{process.pid} is killed")
            self.events["killed"] += 1
        elif chance < 0.0055:
            process.is_interrupted = True
            self.events["interrupted"] += 1
        else:
            self._host_fault()

    def _stop(self, process: Process) -> None:
        seconds = self.among((90.0, HOUR / 2, 2 * HOUR, 3 * DAY))
        process.until = max(process.until, self.now + seconds)
        self.note(f"{process.pid} is stopped for {seconds / HOUR:.2f} h")
        self.events["stopped"] += 1

    def _host_fault(self) -> None:
        host = self.among(self.hosts)
        away = sum(one.is_away for one in self.hosts)
        if host.is_away:
            host.is_away = False
            self.note(f"{host.name} is back")
        elif away + self.wiped < self.code.parity:
            host.is_away = True
            self.note(f"{host.name} is away")
            self.events["away"] += 1
            if self.chance() < 0.1:
                host.objects.clear()
                self.wiped += 1
                self.note(f"{host.name} lost what it had")
                self.events["wiped"] += 1

    # ---------------------------------------------------------------------------------- work

    def tries(self, process: Process, what: Callable[[Process], None]) -> bool:
        """Do something; return whether that was possible."""
        try:
            what(process)
        except InputError as error:
            self.note(f"{what.__name__.strip('_')}: {type(error).__name__}: {error}")
            self.events[type(error).__name__] += 1
            return False
        return True

    def save(self, process: Process) -> None:
        """Save, again where that fails."""
        for _ in range(2):
            if self.tries(process, self._save):
                return
            process.sleep(self.among((1.0, HOUR)))

    def _save(self, process: Process) -> None:
        """Save some content, of which others may have parts."""
        count = 2 + int(self.chance() * 4)
        content = b"".join(self.among(BLOCKS) for _ in range(count))
        settings = SaveSettings("x", self.code, "none")
        wiped = self.wiped
        made = save_stream(process.vault, io.BytesIO(content), "data", settings)
        survives = int(made.figures["survives"])  # what the save itself says
        self.reported[made.name] = Reported(made, content, survives, wiped)
        self.note(f"saved {made.name}")
        self.events["saved"] += 1

    def collect(self, process: Process) -> None:
        """Collect, once or several times."""
        for _ in range(1 + int(self.chance() * 2)):
            self.tries(process, self._collect)
            process.sleep(self.among((1.0, HOUR / 2, 2 * HOUR, 30 * HOUR)))

    def _collect(self, process: Process) -> None:
        told = collect(process.vault, sleep=process.sleep)
        self.note(f"collected {told.objects} objects, moved {told.packs} packs; {told.said}")
        self.events["collected"] += told.objects > 0
        self.events["moved"] += told.packs

    def forget(self, process: Process) -> None:
        """Forget a checkpoint, and collect."""
        there = [one for one in self.reported if one not in self.forgotten]
        if there:
            name = self.among(sorted(there))
            self.forgotten.add(name)
            self.note(f"forgets {name}")
            self.tries(process, lambda process: forget(process.vault, name))
        self.collect(process)

    def repair(self, process: Process) -> None:
        """Repair a checkpoint."""
        made = process.vault.newest("x")[0]
        self.events["repaired"] += repair(process.vault, made).mended > 0

    # --------------------------------------------------------------------------------- rules

    def told(self, what: str) -> str:
        """Return the story, and what did not hold."""
        return f"seed {self.seed}: {what}\n  " + "\n  ".join(self.story[-60:])

    def expect(self, holds: bool, what: str) -> None:
        """Raise ScenarioError where something does not hold."""
        if not holds:
            raise ScenarioError(self.told(what))

    def vault(self, ahead: float = 0.0) -> Vault:
        """Return the vault for one who is alone with it."""
        pool = ModelPool([ProcessHost(one, self) for one in self.hosts])
        return Vault(pool, RULES, clock=lambda: self.now + ahead)

    def kept(self) -> list[Reported]:
        """Return the checkpoints that were reported and not forgotten."""
        return [one for one in self.reported.values() if one.name not in self.forgotten]

    def all_there(self) -> None:
        """Each checkpoint that was reported comes back whole, whichever hosts are lost, as many as
        it said."""
        for one in self.kept():
            most = one.survives - (self.wiped - one.wiped)
            every = list(combinations(self.hosts, max(most, 0)))
            self._comes_back(one, self.among(every) if most >= 0 else None)

    def _comes_back(self, one: Reported, lost: Sequence[ModelHost] | None) -> None:
        if lost is None:
            return
        for host in lost:
            host.is_away = True
        vault = self.vault()
        try:
            found = read_file(vault, vault.manifest(one.name), "data")
        except InputError as error:
            hosts = [host.name for host in lost]
            raise ScenarioError(self.told(f"{one.name} without {hosts}: {error}")) from error
        self.expect(found == one.content, f"{one.name} has another content")
        for host in lost:
            host.is_away = False

    def settles(self) -> None:
        """Once nothing goes wrong, repairs make all whole, and collections leave what is needed."""
        for name in self.vault().names():
            with suppress(InputError):  # what was never reported need not be there
                repair(self.vault(), self.vault().manifest(name))
        for place in ("a", "b", "c", "c"):
            self.place = place
            self.now += 3 * DAY
            try:
                told = collect(self.vault(), sleep=lambda seconds: None)
            except InputError as error:
                raise ScenarioError(self.told(f"the last collections: {error}")) from error
        self.expect(not told.said, f"the last collection: {told.said}")
        self.wiped = 0
        for one in self.kept():
            one.survives, one.wiped = self.code.parity, 0
        self.all_there()
        self._only_needed(self.vault())

    place = "c"

    def _only_needed(self, vault: Vault) -> None:
        left = {key for one in self.hosts for key in one.objects}
        kinds = {key.partition("/")[0] for key in left}
        self.expect(not kinds & {"leases", "sightings"}, f"left: {sorted(left)}")
        directories, packs = collecting._needed(vault)
        for key in left:
            kind, _, rest = key.partition("/")
            save = keys.save_of(rest.partition("/")[0])
            if kind in ("packs", "directories") and f"fences/{save}" not in left:
                there = rest in directories or rest.rpartition(".")[0] in packs
                self.expect(there, f"{key} is left, and nothing needs it")
        for key, one in leases.announcements(vault).items():
            self.expect(bool(one.packs & (packs | directories)), f"{key} is left")


class _Parsed:
    """What objects hold: each content is parsed once in a scenario."""

    def __init__(self) -> None:
        self._contents: dict[bytes, Content] = {}
        self._made: dict[tuple[type, int], Any] = {}

    def content_of(self, stored: bytes, unseal: Callable[[bytes], bytes]) -> Content:
        """Return what is in an envelope."""
        if stored not in self._contents:
            self._contents[stored] = envelopes.content_of(stored, unseal)
        return self._contents[stored]

    def taking(self, kind: type[Manifest] | type[Directory]) -> Callable[[Content], Any]:
        """Return what makes a manifest or directory of a content."""
        real = kind.from_content

        def take(content: Content) -> Any:
            key = kind, id(content)
            if key not in self._made:
                self._made[key] = content, real(content)
            return self._made[key][1]

        return take


WORLDS: list[World] = []
"""The one that is played."""


class _System:
    """What leases ask the system."""

    @staticmethod
    def getpid() -> int:
        """Return the number of the process that goes on."""
        current = WORLDS[-1].current
        return 1 if current is None else current.pid


class _Nonces:
    """Random names, of the scenario's chance."""

    @staticmethod
    def token_bytes(count: int) -> bytes:
        """Return random bytes."""
        return bytes(int(256 * WORLDS[-1].chance()) for _ in range(count))

    @staticmethod
    def token_hex(count: int) -> str:
        """Return random digits."""
        return _Nonces.token_bytes(count).hex()


def _place() -> str:
    world = WORLDS[-1]
    return world.place if world.current is None else world.current.place


def _is_gone(place: str, pid: int) -> bool:
    alive = {one.pid for one in WORLDS[-1].processes if not one.is_dead}
    return bool(place) and place == _place() and pid not in alive


def _since_boot() -> float:
    return WORLDS[-1].now - BEGIN + len(_place()) * DAY


def _beating(held: leases.SaveLease) -> Callable[[], None]:
    process = WORLDS[-1].current
    if process is None:
        return lambda: None
    beat = Beat(process, held)
    process.beats.append(beat)
    return beat.stop


@contextmanager
def modelled(world: World) -> Iterator[None]:
    """Have the code of the vault run in a world."""
    WORLDS.append(world)
    parsed = _Parsed()
    with (
        mock.patch.object(repository, "content_of", parsed.content_of),
        mock.patch.object(Manifest, "from_content", parsed.taking(Manifest)),
        mock.patch.object(Directory, "from_content", parsed.taking(Directory)),
        mock.patch.multiple(
            leases, os=_System, process_space=_place, is_gone=_is_gone, since_boot=_since_boot,
            beating=_beating,
        ),
        mock.patch.multiple(
            collecting, is_gone=_is_gone, since_boot=_since_boot, secrets=_Nonces
        ),
        mock.patch.multiple(saving, secrets=_Nonces),
        mock.patch.multiple(moving, secrets=_Nonces),
        mock.patch.multiple(writer, ThreadPoolExecutor=Inline),
    ):  # fmt: skip
        try:
            yield
        finally:
            WORLDS.pop()


def play(seed: int) -> World:
    """Play a seed; return its world. Raises ScenarioError where a rule does not hold."""
    world = World(seed)
    with modelled(world):
        world.begin(world.save)
        world.play()
        world.is_hard, world.is_flaky = True, world.chance() < 0.5
        works = [world.save, world.collect, world.forget, world.save, world.forget, world.repair]
        for _ in range(3 + int(world.chance() * 2)):
            process = world.begin(world.among(works))
            process.until = world.now + world.among((0.0, 60.0, 600.0)) * world.chance()
        world.play()
        world.is_flaky = world.is_hard = False
        for host in world.hosts:
            host.is_away = False
        world.all_there()
        world.settles()
    return world
