"""Scenarios of a controller on a modelled cluster where everything goes wrong, with the rules that
must hold after every step. A rule that is broken tells the seed and what happened."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.rows import IntentRow, OutcomeRow, PromiseRow, StateRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.rules.rules import ActingRules
from forestall.live.rules.settings import RuleSettings
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.controller import Controller, ControllerSettings
from forestall.live.slurm.outlook import ListedForecasts, NodeForecast
from forestall.live.slurm.sight import sight_of
from forestall.live.slurm.site_book import SiteBook
from forestall.live.slurm.testing import MARGIN, CheckedReturns, NodeTest
from forestall.model.cluster.actions import DrainNode, ResumeNode, Submit
from forestall.model.cluster.faults import WriteError
from forestall.model.cluster.marks import Mark
from forestall.model.cluster.nouns import ClusterRun
from forestall.model.errors import InputError, LedgerError
from forestall.model.live.desk import JobOrder
from forestall.model.live.intents import Action, Intent, IntentState, Role
from forestall.predict.turnaround.book import CompletionBook
from forestall.simulation.slurm.cluster import Killed, ModelCluster
from forestall.simulation.slurm.settings import CALM, ROUGH, WorldSettings, rough
from forestall.simulation.slurm.world import SlurmWorld
from forestall.simulation.slurm.writes import ME
from live.slurm.memory_ledger import MemoryLedger
from live.slurm.mortal_ledger import FateOf, MortalLedger, drawn

CYCLE = 30
HOUR = 3600
JUMP = 200
"""s by which clocks may differ: ours jumps by up to 90 s either way."""
KEEPER = RoleSettings(
    "on", nodes=8, percent=70.0, partition_nodes=8, partition_percent=70.0, per_hour=20,
    cool_down=300,
)  # fmt: skip
WARDEN = RoleSettings(
    "on", nodes=2, percent=20.0, partition_nodes=2, partition_percent=20.0, per_hour=4,
    cool_down=600,
)  # fmt: skip
GUARD = GuardSettings(floor_percent=30.0, settle=300, keeper=KEEPER, warden=WARDEN)
ADVISES = GuardSettings(floor_percent=30.0, settle=300, warden=WARDEN)
"""No keeper: offers rest on what became of the site's jobs."""

TEST = NodeTest("#!/bin/sh\n", 300, ME)

RULES = RuleSettings(least=0.1, worth=0.1, rest=120, eats_within=1800, life=300, repeats=4)


class _Check:
    """A site's check that holds a node or two to be ill for ten minutes, and at times is silent."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def lines(self, now: int) -> dict[str, str] | None:
        chance = random.Random(f"{self._seed} {now // 600}")
        if chance.random() < 0.2:
            return None
        ill = {f"n{chance.randrange(1, 13):02}" for _ in range(chance.randrange(3))}
        names = (f"n{k:02}" for k in range(1, 13))
        return {name: f"fan {now // 600} fails" if name in ill else "ok" for name in names}


class Scenario:
    """A world, a ledger, and the controller that lives at the moment.

    ruled : with all rules on; every second of these brings nodes back by way of a test job
    fate_of : what happens at each write of the ledger; None: it is written
    asks : probability that somebody asks for a quote in a step
    """

    def __init__(
        self,
        seed: int,
        *,
        calm: bool = False,
        nodes: int = 12,
        ledger: LiveLedger | None = None,
        ruled: bool = False,
        fate_of: FateOf | None = None,
        asks: float = 0.15,
    ) -> None:
        self.seed, self.chance, self.ruled = seed, random.Random(seed), ruled
        self.tested, self.calm = ruled and seed % 2 == 0, calm
        hole = 1 + seed % nodes if ruled and seed % 3 == 0 else 0
        settings = WorldSettings(nodes=nodes, load=0.6, run=1200.0, widest=6, hole=hole)
        self.world = SlurmWorld(settings if calm else rough(settings), seed)
        self.cluster = ModelCluster(self.world, CALM if calm else ROUGH)
        self.ledger: LiveLedger = ledger or MemoryLedger()
        self.mortal = MortalLedger(self.ledger, fate_of or (lambda _: None))
        self.asks = asks
        self.accepted: dict[str, PromiseRow] = {}
        self.unsure: set[str] = set()  # there or not, as the ledger says from the next look on
        self.asking: list[str] = []
        self.story: list[str] = []
        self.deaths = 0
        self._checked, self._done = 0, set[tuple[type, str]]()
        self.book: CompletionBook | None = None
        self.forecasts = ListedForecasts(self._listed())
        self.controller = self._born()

    def _listed(self) -> Iterator[tuple[str, NodeForecast]]:
        names = sorted(self.world.state.nodes)
        for _ in range(self.chance.randrange(12)):
            at = self.world.state.now + self.chance.randrange(600, 9000)
            risk = self.chance.choice((0.1, 0.5, 0.9))
            yield self.chance.choice(names), NodeForecast(at, at + 1800, risk, "listed")

    def _born(self) -> Controller:
        back = CheckedReturns(self.cluster, TEST, lambda: self.cluster.clock)
        actor = ClusterActor(self.cluster, self._owner, returns=back if self.tested else None)
        actors = {Role.KEEPER: actor, Role.WARDEN: actor}
        settings = ControllerSettings(
            learned=(30, 1, 0)[self.seed % 3],
            forget=(10_000, 2)[self.seed % 2],
            rounded=(4096, 1)[self.seed % 4 == 2],
        )
        guard = ADVISES if self.seed % 7 == 3 else GUARD
        rules = None
        if self.ruled:
            check = _Check(self.seed)
            rules = ActingRules(RULES, self.mortal, health=check, tested=self.tested)
        return Controller(
            self.cluster, self.mortal, actors, guard, self.forecasts, lambda: self.cluster.clock,
            settings, site=SiteBook(self.book), rules=rules,
        )  # fmt: skip

    def _owner(self, promise: str) -> str:
        found = self.mortal.one(PromiseRow, promise)
        return "" if found is None else found.owner

    # ------------------------------------------------------------------------------- steps

    def step(self) -> None:
        """Let time pass, let somebody ask, do a cycle, and look whether all rules hold."""
        self.world.advance(self.world.state.now + CYCLE)
        self._living(self._somebody)
        self._living(self._propose)
        self._living(self._cycle)
        self.check()

    def _living(self, part: Callable[[], None]) -> None:
        try:
            part()
        except Killed as death:
            self.deaths += 1
            self.tell(str(death))
            self.mortal.away = 0  # it is begun again and again until its ledger is there
            self.book = self.controller.site.book if self.seed % 2 else None
            self.controller = self._born()
        except LedgerError as error:
            self.tell(str(error))

    def _cycle(self) -> None:
        told = self.controller.cycle()
        if told.said:
            self.tell(f"look failed: {told.said}")
        for one in told.moved:
            words = f"{one.intent.action} {one.intent.target} {one.intent.id}"
            self.tell(f"{words}: {one.state}: {one.why}")
        for row in told.outcomes:
            self.tell(f"promise {row.promise}: {row.outcome} {row.cause} {row.ended}")

    def _somebody(self) -> None:
        """Somebody asks for a quote and takes one of the offers; or tries again."""
        if self.asking and self.chance.random() < 0.5:
            self._accept(self.asking[0])
            return
        if self.chance.random() > self.asks:
            return
        size, time = self.chance.randint(1, 5), self.chance.choice((300, 900, 2400))
        try:
            by = self.world.state.now + 5 * time if self.seed % 4 == 1 else None
            offers = self.controller.quote(WantedJob(size, time, user=ME), by=by).rows
        except LedgerError:
            raise
        except InputError as error:
            self.tell(f"no quote: {error}")
            return
        if offers:
            self.asking.append(self.chance.choice(offers).id)
            self._accept(self.asking[-1])

    def _accept(self, name: str) -> None:
        try:
            promise, number = self.controller.accept(name, ME, JobOrder("#!/bin/sh\n"))
            self.tell(f"promise {promise.id} by {promise.deadline}: job {number}")
            self.accepted.setdefault(name, promise)
            self.asking.remove(name)
        except LedgerError:
            raise  # asked again later
        except (InputError, WriteError) as error:
            self.tell(f"not accepted {name}: {error}")
            if isinstance(error, InputError):
                self.asking.remove(name)
        finally:
            self.unsure.add(name)

    def _propose(self) -> None:
        """Drains and resumes are proposed, on what was seen last, which may be old."""
        if self.chance.random() > 0.1 or self.controller.age is None:
            return
        seen, state = self.cluster.world.state, self.world.state
        sight = sight_of(self.controller._before, {})  # type: ignore[arg-type]
        name = self.chance.choice(sorted(seen.nodes))
        ours = [one for one in sorted(seen.nodes) if state.nodes[one].ours]
        action = Action.DRAIN
        if ours and self.chance.random() < 0.7:
            name, action = ours[0], self.chance.choice((Action.RESUME, Action.REBOOT))
        now = self.cluster.clock
        told = sight.standing(action, name)
        self.controller.executor.propose([Intent(action, name, now, now + 300, told, "risk")])

    def settle(self) -> None:
        """Let the cluster calm down and time pass until every promise is over."""
        self.cluster.mishaps = CALM
        self.cluster.ahead = 0
        self.mortal.fate_of, self.mortal.away = lambda _: None, 0
        for _ in range(400):
            if not self.ledger.open_promises():
                break
            self.world.advance(self.world.state.now + 10 * CYCLE)
            self._living(self._cycle)
            self.check()
        self.must(not self.ledger.open_promises(), "all promises are over")

    # ------------------------------------------------------------------------------- rules

    def check(self) -> None:
        """Hold the world and the books to the rules."""
        state = self.world.state
        wrong = self.world.problems()
        self.must(not wrong, str(wrong))
        for one in state.deeds[self._checked :]:
            what = type(one.action), one.action.id
            twice = what in self._done and not isinstance(one.action, Submit)
            self.must(not twice, f"done twice: {what}")
            self._done.add(what)
        self._checked = len(state.deeds)
        tags = [job.mark.promise for job in state.jobs.values() if job.user == ME]
        tags = [one for one in tags if one]
        self.must(len(tags) == len(set(tags)), f"submitted twice: {tags}")
        self._limits()
        self._promises()
        if self.tested and self.calm:
            self._returns()

    def _limits(self) -> None:
        state, count = self.world.state, len(self.world.state.nodes)
        held = sum(one.node_count for one in state.reservations.values()
                   if one.name.startswith("forestall_") and "MAINT" not in one.flags)  # fmt: skip
        self.must(held <= min(KEEPER.nodes, int(count * 0.7)), f"{held} nodes reserved")
        out = [name for name, one in state.nodes.items() if one.ours and not one.in_service]
        self.must(len(out) <= min(WARDEN.nodes, int(count * 0.2)), f"taken out: {out}")
        since = self.cluster.clock - HOUR + JUMP
        written = [row.role for row, _ in self.ledger.written_since(since)]
        for role, most in ((Role.KEEPER, KEEPER), (Role.WARDEN, WARDEN)):
            self.must(written.count(str(role)) <= most.per_hour, f"{role}: {written} in an hour")

    def _returns(self) -> None:
        """A node that we brought back is kept for its test, or passed it, or is out again."""
        state = self.world.state
        for deed in state.deeds:
            one = deed.action
            if not isinstance(one, ResumeNode) or not state.nodes[one.node].in_service:
                continue
            kept = f"forestall_{one.id}" in state.reservations
            passed = any(
                run.state == "COMPLETED" and Mark.parse(run.comment, "").promise == one.id
                for run in state.runs
            )
            again = any(late.at > deed.at and getattr(late.action, "node", "") == one.node
                        for late in state.deeds)  # fmt: skip
            self.must(kept or passed or again, f"{one.node} is back without a test: {deed}")

    def _promises(self) -> None:
        rows = {row.id: row for row in self.ledger.read(PromiseRow)}
        for name in self.unsure & rows.keys():
            self.accepted.setdefault(name, rows[name])
        self.unsure.clear()
        self.must(rows == self.accepted, "no promise lost, doubled or changed")
        runs = [run for run in self.world.state.runs if run.state == "COMPLETED" and run.user == ME]
        for row in self.ledger.read(OutcomeRow):
            promise = rows[row.promise]
            ends = [
                run.end
                for run in runs
                if Mark.parse(run.comment, "").promise == row.promise
                and run.end is not None and run.end <= promise.deadline
                and not self._twin_of_one_taken_off(row, run)
            ]  # fmt: skip
            fine = bool(ends) if row.outcome == "kept" else not ends
            self.must(fine, f"{row} and what is true: {ends}")

    def _twin_of_one_taken_off(self, row: OutcomeRow, run: ClusterRun) -> bool:
        """Whether a person took the tag off a promise's job, so that it was void, and only then a
        first try to submit it arrived that had given no answer: nobody could know of that job."""
        off = any(act.what == "comment" and act.target == str(row.job)
                  for act in self.world.state.acts)  # fmt: skip
        later = run.submit is not None and run.submit > row.at
        return off and later and row.outcome == "void" and run.job != row.job

    def stale(self) -> None:
        """No deed on what a decision did not know, and none long after it expired."""
        for deed in self.world.state.deeds:
            row = self.ledger.one(IntentRow, deed.action.id)
            if row is not None:
                tests = self.tested and row.action == Action.RESUME  # it ends with its test
                life = 600 + tests * (TEST.time + MARGIN + HOUR)
                self.must(deed.at <= row.expires + life + JUMP, f"stale: {deed}")
                written = self.ledger.one(StateRow, row.id, str(IntentState.WRITTEN))
                self.must(written is not None, f"done before it was written: {deed}")
            else:
                self.must(not isinstance(deed.action, DrainNode), f"of no intent: {deed}")

    def must(self, true: bool, what: str) -> None:
        if not true:
            told = "\n".join(self.story[-60:])
            people = "\n".join(str(one) for one in self.world.state.acts[-10:])
            raise AssertionError(f"seed {self.seed}: {what}\n{told}\npeople: {people}")

    def tell(self, line: str) -> None:
        self.story.append(f"{self.world.state.now} {line}")

    @contextmanager
    def told(self) -> Iterator[None]:
        """Let any other error tell the seed, too."""
        try:
            yield
        except AssertionError:
            raise
        except Exception as error:
            self.must(False, f"{type(error).__name__}: {error}")


def play(
    seed: int,
    steps: int = 60,
    *,
    ledger: LiveLedger | None = None,
    ruled: bool = False,
    fate_of: FateOf | None = None,
) -> Scenario:
    """Play a scenario to its end; every fifth is a calm one. `ruled`: with all rules on."""
    one = Scenario(seed, calm=seed % 5 == 0, ledger=ledger, ruled=ruled, fate_of=fate_of)
    return played_out(one, steps)


def play_small(seed: int) -> Scenario:
    """Play one of the short scenarios that come by the hundred thousand: few nodes, many promises,
    and a ledger that fails at every thirtieth write; at one of those of every fifth seed."""
    chance = random.Random(f"{seed} small")
    one = Scenario(
        seed, calm=seed % 5 == 0, nodes=chance.randint(4, 8), fate_of=drawn(seed, 1 / 30), asks=0.5
    )
    return played_out(one, chance.randint(6, 16))


def played_out(one: Scenario, steps: int) -> Scenario:
    """Play a scenario for so many steps, and then until all its promises are over."""
    with one.told():
        for _ in range(steps):
            one.step()
        one.settle()
        one.stale()
    return one
