"""Scenarios of a controller on a modelled cluster where everything goes wrong, with the rules that
must hold after every step. A rule that is broken tells the seed and what happened."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from forestall.core.model.errors import InputError, LedgerError
from forestall.core.model.faults import WriteError
from forestall.core.model.hostlist import expand
from forestall.core.model.live.desk import JobOrder
from forestall.core.model.live.intents import HALF_WAY, Action, Intent, IntentState, Role
from forestall.core.model.marks import Mark
from forestall.live.desk.promises import promise_told
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.queries import BookedIntent, BookedPromise
from forestall.live.ledger.rows import IntentRow, OfferRow, OutcomeRow, PromiseRow, StateRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.rules.rules import ActingRules
from forestall.live.rules.settings import RuleSettings
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.controller import Controller, ControllerSettings
from forestall.live.slurm.sight import sight_of
from forestall.live.slurm.site_book import SiteBook
from forestall.live.slurm.submissions import BY_OWNER, Seals
from forestall.live.slurm.testing import MARGIN, CheckedReturns, NodeTest
from forestall.prediction.watching.foreseen import ListedForecasts, NodeForecast
from forestall.site.learning.turnaround.book import CompletionBook
from forestall.slurm.cluster.actions import DrainNode, RebootNode, Requeue, ResumeNode, Submit
from forestall.slurm.cluster.nouns import ClusterJob, ClusterRun
from forestall.slurm.simulation.cluster import Killed, ModelCluster
from forestall.slurm.simulation.limits import NODES, STOPPED, broken_limit
from forestall.slurm.simulation.picture import Picture
from forestall.slurm.simulation.settings import CALM, ROUGH, WorldSettings, rough
from forestall.slurm.simulation.world import SlurmWorld
from forestall.slurm.simulation.writes import ME
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

EXPEDITED = "#!/bin/sh\n#SBATCH --requeue=expedite\n"
_LOST = (IntentState.REFUSED, IntentState.FAILED, IntentState.EXPIRED, IntentState.DROPPED)
USELESS = 1800
"""s in which the reservation of a job that its partition stops is given back."""
SEALS = Seals(b"the key of these scenarios")
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
        self.world = SlurmWorld(_settings(seed, nodes, calm, ruled), seed)
        self.cluster = ModelCluster(self.world, CALM if calm else ROUGH)
        self.ledger: LiveLedger = ledger or MemoryLedger()
        self.mortal = MortalLedger(self.ledger, fate_of or (lambda _: None))
        self.asks = asks
        self.accepted: dict[str, PromiseRow] = {}
        self.unsure: set[str] = set()  # there or not, as the ledger says from the next look on
        self.asking: list[str] = []
        self.to_submit: dict[str, tuple[str, ...]] = {}
        self.story: list[str] = []
        self.deaths = 0
        self.events = self.world.state.happened
        self._stopped: dict[str, int] = {}
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
            settings, site=SiteBook(self.book), rules=rules, seals=SEALS,
        )  # fmt: skip

    def _owner(self, promise: str) -> str:
        found = self.mortal.one(PromiseRow, promise)
        return "" if found is None else found.owner

    # ------------------------------------------------------------------------------- steps

    def step(self) -> None:
        """Let time pass, let somebody ask, do a cycle, and look whether all rules hold."""
        self.world.advance(self.world.state.now + CYCLE)
        self._living(self._somebody)
        self._owners_submit()
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
        else:
            self._open_ones()
            self._causes(told.outcomes)
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
            told = self.controller.quote(WantedJob(size, time, user=ME), by=by)
            offers = told.rows
            self._offered(told.rows)
            self.events["no offer: a limit"] += told.said.startswith("partition ")
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
            by_owner = self.seed % 3 == 1 and int(name, 16) % 2 == 1
            order = JobOrder("" if by_owner else self._script(name), below=True)
            promise, number = self.controller.accept(name, ME, order)
            if promise.at == self.cluster.clock:
                self._offered([self.ledger.one(OfferRow, promise.offer)])  # type: ignore[list-item]
            self.tell(f"promise {promise.id} by {promise.deadline}: job {number}")
            if by_owner:
                offer = self.mortal.one(OfferRow, promise.offer)
                self.to_submit[name] = self.controller.options_of(promise, offer)  # type: ignore[arg-type]
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

    def _script(self, name: str) -> str:
        """Return a job's script: in the seeds of expedited requeues most ask for them."""
        asks = self.seed % 11 in EXPEDITED_SEEDS and int(name, 16) % 3 > 0
        return EXPEDITED if asks else "#!/bin/sh\n"

    def _owners_submit(self) -> None:
        """Owners submit their jobs: at once or late, at times another job than was quoted, or the
        same twice, or none."""
        for name, options in list(self.to_submit.items()):
            if self.chance.random() < 0.3:
                continue
            told = dict(one.removeprefix("--").split("=", 1) for one in options)
            wrong = self.chance.random() < 0.2
            for _ in range(2 if self.chance.random() < 0.1 else 1):
                self._owner_submits(name, told, wrong)
            if self.chance.random() < 0.9:
                del self.to_submit[name]

    def _owner_submits(self, name: str, told: dict[str, str], wrong: bool) -> None:
        excluded = tuple(expand(told["exclude"])) if "exclude" in told else ()
        action = Submit(
            name, "#!/bin/sh\n", int(told["nodes"]) + wrong, 60 * int(told["time"]), user=ME,
            reservation=told.get("reservation", ""), excluded=excluded,
            requeue="expedite" if self._script(name) == EXPEDITED else "yes",
        )  # fmt: skip
        try:
            number = self.world.apply(action)
        except WriteError as error:
            self.tell(f"sbatch refused the job of {name}: {error}")
            return
        job = self.world.state.jobs[number]
        self.world.state.job(job._replace(comment=told["comment"]))
        self.events["submitted by its owner"] += 1
        self.tell(f"its owner submitted job {number} of {name}{' wrongly' if wrong else ''}")

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
        tags = [job.mark.promise for job in state.jobs.values()
                if job.user == ME and not job.mark.seal]  # fmt: skip
        tags = [one for one in tags if one]
        self.must(len(tags) == len(set(tags)), f"submitted twice: {tags}")
        self._limits()
        self._promises()
        self._moves()
        if self.tested and self.calm:
            self._returns()

    def _offered(self, rows: list[OfferRow] | tuple[OfferRow, ...]) -> None:
        """No offer for a job that breaks a limit of its partition, as the last look showed it; none
        is held beyond what the guard allows."""
        shown = self.cluster.shown
        assert shown is not None, "an offer without a look"
        held = sum(one.node_count for one in shown.reservations.values()
                   if self.ledger.one(PromiseRow, one.name.removeprefix("forestall_")))  # fmt: skip
        most = min(KEEPER.nodes, max(int(len(shown.nodes) * 0.7), 1))
        for row in rows:
            broken = broken_limit(shown.partition, row.size, row.length)
            self.must(not broken, f"offer {row.id} breaks {broken}: {shown.partition}")
            beyond = bool(row.held) and held + row.size > most
            self.must(not beyond, f"offer {row.id} is held beyond {most} nodes: {held}")

    def _open_ones(self) -> None:
        """What is told of an open promise is so: one whose job its partition stops is told to be,
        with no probability, not as held, and its reservation is given back."""
        shown, view = self.cluster.shown, self.controller.view
        if not isinstance(self.ledger, MemoryLedger) or shown is None or view is None:
            return
        done = self._serving()
        for row in self.ledger.open_promises():
            booked = BookedPromise(row, self.ledger.one(OfferRow, row.offer), None)  # type: ignore[arg-type]
            intents = done.get(row.id, [])
            told = promise_told(booked, view, intents)
            job, name = view.carried.get(row.id), f"forestall_{row.id}"
            stopped = job is not None and _is_stopped(job, shown)
            as_stopped = told.stopped and told.likely is None and bool(told.why)
            self.must(as_stopped if stopped else not told.stopped, f"{job} is told as {told}")
            self.must(not (stopped and told.reserved), f"{job} is told to be held: {told}")
            states = [one.state for one in intents if one.intent.action == Action.RESERVE]
            sure = not states or states[-1].state in HALF_WAY or states[-1].at >= view.looked
            there = sure or name in shown.reservations or job is None or not job.waits
            self.must(there or not told.reserved, f"no reservation holds {told}")
            lost = bool(states) and states[-1].state in _LOST
            self.must(bool(told.why) or not lost, f"its start is not held, and it says {told}")
            self._useless(row.id, name, stopped)

    def _useless(self, promise: str, name: str, stopped: bool) -> None:
        now = self.world.state.now
        since = self._stopped.setdefault(promise, now) if stopped else now
        if not stopped:
            self._stopped.pop(promise, None)
        elif since == now:
            self.events["promise stopped by a limit"] += 1
        one = self.world.state.reservations.get(name)
        if one is not None and stopped and self.calm:
            useless = now - max(one.start, since)
            self.must(useless <= USELESS, f"{one} holds a job that may not start")

    def _serving(self) -> dict[str, list[BookedIntent]]:
        found: dict[str, list[BookedIntent]] = {}
        for row, state in self.ledger.latest_states(*IntentState):
            if row.promise:
                found.setdefault(row.promise, []).append(BookedIntent(row, state))
        return found

    def _causes(self, outcomes: tuple[OutcomeRow, ...]) -> None:
        """Who stopped a job by its partition's limits is why it was late."""
        shown = self.cluster.shown
        assert shown is not None, "an outcome without a look"
        for row in outcomes:
            job = shown.jobs.get(row.job)
            # A number may be another job's by now, where the controller forgot.
            mine = job is not None and job.mark.promise == row.promise
            stopped = job is not None and mine and _is_stopped(job, shown)
            fine = row.outcome != "missed" or row.ended >= 0 or row.cause == "operator"
            self.must(fine or not stopped, f"{row} of {job}")

    def _limits(self) -> None:
        state, count = self.world.state, len(self.world.state.nodes)
        held = sum(one.node_count for one in state.reservations.values()
                   if one.name.startswith("forestall_") and "MAINT" not in one.flags)  # fmt: skip
        self.must(held <= min(KEEPER.nodes, max(int(count * 0.7), 1)), f"{held} nodes reserved")
        out = [name for name, one in state.nodes.items() if one.ours and not one.in_service]
        self.must(len(out) <= min(WARDEN.nodes, max(int(count * 0.2), 1)), f"taken out: {out}")
        since = self.cluster.clock - HOUR + JUMP
        written = [row.role for row, _ in self.ledger.written_since(since)]
        for role, most in ((Role.KEEPER, KEEPER), (Role.WARDEN, WARDEN)):
            self.must(written.count(str(role)) <= most.per_hour, f"{role}: {written} in an hour")

    def _moves(self) -> None:
        """A job that was sent elsewhere is kept off the nodes that it was to leave, or runs on
        others; and a reboot is done when the node has booted since."""
        if self.events["controller forgot"]:
            return
        moved: dict[str, Requeue] = {}
        for deed in self.world.state.deeds:
            one = deed.action
            if isinstance(one, Requeue):
                moved[one.id] = one
            elif isinstance(one, RebootNode):
                done = self.ledger.one(StateRow, one.id, str(IntentState.CONFIRMED))
                booted = self.world.state.nodes[one.node].booted or 0
                self.must(done is None or booted > one.boot, f"no reboot of {one.node}: {deed}")
        for one in moved.values():  # of one that a process left half-way, the last try
            row = self.ledger.one(IntentRow, one.id)
            left = {name[6:] for name in row.figures if name[:6] == "avoid "} if row else set()
            done = self.ledger.one(StateRow, one.id, str(IntentState.CONFIRMED))
            job = self.world.state.jobs.get(one.job)
            again = job is not None and job.restarts == one.restarts + 1
            free = job is not None and again and (job.waits or bool(left & set(job.nodes)))
            kept_off = left <= set(one.excluded) or not free
            self.must(done is None or kept_off, f"{one} leaves {left}")

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
                and (promise.job != BY_OWNER or self._is_as_quoted(run, promise, row))
            ]  # fmt: skip
            fine = bool(ends) if row.outcome == "kept" else not ends
            self.must(fine, f"{row} and what is true: {ends}")

    def _is_as_quoted(self, run: ClusterRun, promise: PromiseRow, row: OutcomeRow) -> bool:
        offer = self.ledger.one(OfferRow, promise.offer)
        quoted = offer is not None and len(run.nodes) == offer.size
        return quoted and run.job == row.job and not row.why

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

    def happened(self) -> Counter[str]:
        """Return how often what happened."""
        found = Counter(self.events)
        found.update(row.outcome for row in self.ledger.read(OutcomeRow))
        found.update(type(deed.action).__name__ for deed in self.world.state.deeds)
        found.update(fate.rpartition(" ")[0] for fate in self.mortal.met)
        found.update(died=self.deaths)
        for row, state in self.ledger.latest_states(*_LOST):
            found[f"hold {state.state}"] += row.action == Action.RESERVE
        return +found

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


LIMITED_SEEDS, EXPEDITED_SEEDS = (0, 6, 8), (6, 8, 10)
"""Of eleven seeds those with limits that change, and those with expedited requeues: other ones than
those that broke a rule once, whose worlds stay what they were."""


def _is_stopped(job: ClusterJob, shown: Picture) -> bool:
    """Whether its partition keeps a job from starting, as a look shows it. Slurm gives the reason
    of a limit of nodes also where nodes are down, and a while after the limit was lifted: then the
    limit has to be there."""
    if not job.waits or job.reason not in STOPPED:
        return False
    return job.reason != NODES or bool(broken_limit(shown.partition, job.node_count, job.limit))


def _settings(seed: int, nodes: int, calm: bool, ruled: bool) -> WorldSettings:
    limited, expedited = (seed % 11 in one for one in (LIMITED_SEEDS, EXPEDITED_SEEDS))
    hole = 1 + seed % nodes if expedited or (ruled and seed % 3 == 0) else 0
    delay = 5 if expedited and seed % 2 else 120
    delay = 0 if seed % 4 == 3 else delay  # Slurm with short credentials starts at once
    settings = WorldSettings(
        nodes=nodes, load=0.6, run=1200.0, widest=6, hole=hole, delay=delay,
        limits=400.0 if limited else 0.0, refuses=seed % 2 == 0,
        expedited=0.5 if expedited else 0.0,
    )  # fmt: skip
    settings = settings if calm else rough(settings)
    if expedited and not calm:  # minutes in which nobody queues again what failed
        settings = replace(settings, restart=900.0, away=240.0, failure=settings.failure / 4)
    return settings


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
