"""The engine in single steps: the same decisions as the compiled loop, quotes without a trace."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.errors import ParameterError
from forestall.core.model.events import Event, EventKind
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.state import new_queue, new_timeline
from scheduling.engine.driving import bytes_of, check, decisions_of, drive, engine_for
from scheduling.simulation.cases import CLASSIC, SHARES, Case, cases, loaded_case, random_case, run

POLICIES = ("promise", *CLASSIC)
CHECKPOINTS = ("risk", "none", "periodic", "daly")


def settings_of(seed: int, policy: str) -> dict[str, Any]:
    rng = random.Random(seed)
    return {
        "policy": policy,
        "accuracy": rng.choice([0.0, 1.0, 0.7]),
        "risk": rng.choice([0.0, 1.0, 0.9, 0.5]),
        "checkpoint": rng.choice(CHECKPOINTS),
        "placement": rng.choice(["fault-aware", "first"]),
        "requeue": rng.choice(["now", "original"]),
        "compression": rng.random() < 0.7,
        "repeat_failures": rng.random() < 0.3,
    }


@settings(max_examples=150)
@given(cases(), st.sampled_from(POLICIES), st.integers(0, 1000))
def test_one_event_at_a_time(case: Case, policy: str, seed: int) -> None:
    check(case.with_quiet_end(), **settings_of(seed, policy))


@pytest.mark.parametrize("policy", POLICIES)
def test_one_event_at_a_time_on_larger_cases(policy: str) -> None:
    # Hundreds of jobs also make the engine's arrays grow, many times over.
    for seed in range(8):
        case = loaded_case(seed, jobs=200) if seed % 3 == 0 else random_case(seed, jobs=60)
        check(case.with_quiet_end(), **settings_of(seed, policy))


@pytest.mark.parametrize("policy", POLICIES)
def test_arrays_that_begin_tiny_grow(policy: str) -> None:
    case, chosen = loaded_case(4, jobs=150).with_quiet_end(), settings_of(4, policy)
    outcome, engine = run(case, log_events=True, **chosen), engine_for(case, **chosen)
    state = engine.state
    start = int(state.timeline.edges["time"][0])
    engine.state = state._replace(
        jobs=state.jobs[:1].copy(),
        timeline=new_timeline(case.nodes, 2, 2, start, policy == "promise"),
        queue=new_queue(case.nodes, 4),
        out=state.out._replace(decisions=state.out.decisions[:1].copy()),
    )
    assert all(mine == answers for mine, answers in drive(engine, outcome))


def test_events_of_one_second_in_any_order() -> None:
    case = Case([(0, 1, 5, 5), (5, 1, 5, 5)], [(5, 1, 3, 0.9)], 2)
    found = []
    for order in (1, -1):
        engine = engine_for(case, policy="easy")
        for k in range(2):
            engine.add_job(1, 5, 10, 5 * k)
        engine.handle([Event(0, EventKind.SUBMITTED, 0), Event(0, EventKind.PASS, 0)], 0)
        events = [
            Event(5, EventKind.FINISHED, 0),
            Event(5, EventKind.NODE_FAILED, 1, 8),
            Event(5, EventKind.SUBMITTED, 1),
            Event(5, EventKind.PASS, 0),
        ]
        found.append(engine.handle(events[::order], 5))
    assert found[0] == found[1]
    assert [(d.kind, d.job) for d in found[0]] == [(DecisionKind.START, 1)]


# ------------------------------------------------------------------------------- quotes


class Asker:
    """Asks for a quote at random moments, and sees that it changes nothing."""

    def __init__(self, seed: int, nodes: int, submits: bool = False) -> None:
        self.rng = random.Random(seed)
        self.nodes = nodes
        self.submits = submits
        self.asked = 0

    def __call__(self, engine: Engine, now: int) -> None:
        if self.rng.random() < 0.4:
            return
        wanted = (self.rng.randint(1, self.nodes), self.rng.randint(1, 99), self.rng.randint(1, 20))
        before = bytes_of(engine)
        quote = engine.quote(*wanted, now)
        assert bytes_of(engine) == before
        assert engine.quote(*wanted, now) == quote
        self.asked += 1
        if self.submits:
            self.compare(copy.deepcopy(engine), wanted, now, quote)

    def compare(self, engine: Engine, wanted: tuple[int, int, int], now: int, quote: Any) -> None:
        job = engine.add_job(*wanted, now)
        [promise] = engine.handle([Event(now, EventKind.SUBMITTED, job)], now)
        assert promise.kind is DecisionKind.RESERVE
        assert (promise.start, promise.deadline) == (quote.start, quote.deadline)
        assert (promise.probability, promise.nodes) == (quote.probability, quote.nodes)
        assert (promise.why,) == quote.reasons
        assert len(quote.nodes) == wanted[0]


@settings(max_examples=100)
@given(cases(), SHARES, SHARES, st.integers(0, 99))
def test_quotes_change_nothing(case: Case, accuracy: float, risk: float, seed: int) -> None:
    check(case, Asker(seed, case.nodes), accuracy=accuracy, risk=risk)


@settings(max_examples=60)
@given(cases(), SHARES, SHARES, st.integers(0, 99))
def test_a_quote_is_what_the_job_then_gets(
    case: Case, accuracy: float, risk: float, seed: int
) -> None:
    check(case, Asker(seed, case.nodes, submits=True), accuracy=accuracy, risk=risk)


def test_quotes_on_larger_cases() -> None:
    for seed in (0, 1, 5):
        case = loaded_case(seed, jobs=60) if seed % 3 == 0 else random_case(seed, jobs=45)
        asker = Asker(seed, case.nodes, submits=seed % 2 > 0)
        chosen = {**settings_of(seed, "promise"), "repeat_failures": seed % 3 == 1}
        check(case.with_quiet_end(), asker, **chosen)
        assert asker.asked > 40


def test_a_quote_at_a_moment_of_its_own() -> None:
    # Between events, and before the first: the clock of the engine need not have moved.
    engine = engine_for(Case([(10, 2, 5, 5)], [(30, 0, 5, 0.5)], 2), accuracy=1.0, risk=0.9)
    quote = engine.quote(2, 5, 100, 10)
    assert (quote.start, quote.deadline, quote.probability) == (10, 15, 1.0)
    assert str(quote.nodes) == "0-1"
    assert quote.reasons == ("enough nodes are free at once",)
    later = engine.quote(2, 5, 100, 27)
    assert (later.start, later.deadline) == (35, 40)
    assert later.reasons == ("1 earlier offers refused for their risk; first free at 27",)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [((0, 5, 5), "size"), ((3, 5, 5), "size"), ((1, 0, 5), "estimate"), ((1, 5, 0), "estimate")],
)
def test_impossible_jobs_are_refused(wanted: tuple[int, int, int], name: str) -> None:
    engine = engine_for(Case([(0, 1, 1, 1)], [], 2))
    with pytest.raises(ParameterError, match=name):
        engine.add_job(*wanted, 0)
    with pytest.raises(ParameterError, match=name):
        engine.quote(*wanted, 0)
    assert engine.jobs == 0


@pytest.mark.parametrize("policy", CLASSIC)
def test_policies_without_promises_quote_nothing(policy: str) -> None:
    with pytest.raises(ParameterError, match="promise"):
        engine_for(Case([(0, 1, 1, 1)], [], 2), policy=policy).quote(1, 1, 1, 0)


def test_only_conservative_engines_ask_to_be_woken() -> None:
    jobs = [(0, 2, 5, 9), (1, 2, 5, 5)]
    for policy in POLICIES:
        engine = engine_for(Case(jobs, [], 2), policy=policy)
        for now, size, _, estimate in jobs:
            job = engine.add_job(size, estimate, 10, now)
            last = [Event(now, EventKind.PASS, 0)] if policy != "promise" else []
            engine.handle([Event(now, EventKind.SUBMITTED, job), *last], now)
        assert engine.wake_at() == (9 if policy == "conservative" else None)


# ------------------------------------------------------------------------------- reasons


@settings(max_examples=100)
@given(cases(), SHARES, SHARES)
def test_a_promise_never_changes(case: Case, accuracy: float, risk: float) -> None:
    outcome = run(case, log_events=True, accuracy=accuracy, risk=risk)
    promised: dict[int, tuple[int, float]] = {}
    for d in decisions_of(outcome):
        if d.kind is DecisionKind.RESERVE:
            first = promised.setdefault(d.job, (d.deadline, d.probability))
            assert (d.deadline, d.probability) == first
            assert d.node >= 0 or d.end == d.deadline
    deadlines = [promised[k][0] for k in range(len(case.jobs))]
    assert outcome.deadlines.tolist() == deadlines
    assert outcome.promises.tolist() == [promised[k][1] for k in range(len(case.jobs))]


def test_all_reasons_are_given_and_can_be_read() -> None:
    seen: set[Reason] = set()
    for seed in range(40):
        case = loaded_case(seed, jobs=60) if seed % 4 == 0 else random_case(seed, 30, 100)
        for policy in POLICIES:
            for d in decisions_of(
                run(case.with_quiet_end(), log_events=True, **settings_of(seed, policy))
            ):
                seen.add(d.reason)
                assert d.why
                assert not set("{}") & set(d.why)
                assert "-1" not in d.why, d
    # A node that fails every 10 s is never safe for 15 s of work.
    never = Case([(3, 1, 15, 15)], [(0, 0, 1, 0.8), (9, 0, 1, 0.9)], 1, 0, 4)
    chosen = {"accuracy": 1.0, "risk": 1.0, "repeat_failures": True}
    found = decisions_of(run(never, log_events=True, **chosen))
    assert found[0].reason is Reason.BEST_OFFER
    seen.add(Reason.BEST_OFFER)
    # No driver hands over a job that is too large: those are left out and named beforehand.
    # Policies in Python have a test of their own, and so has what only a real cluster does.
    others = {Reason.TOO_LARGE, Reason.OWN_POLICY}
    assert seen == {one for one in Reason if one <= Reason.OWN_POLICY} - others


def test_a_node_left_out_is_named_with_its_failure() -> None:
    case = Case([(0, 1, 10, 10)], [(5, 0, 3, 0.4)], 2)
    [reserve, start] = decisions_of(run(case, log_events=True, accuracy=0.5))
    assert reserve.why == "enough nodes are free at once; node 0 left out: predicted to fail at 5"
    assert (str(reserve.nodes), start.why) == ("1", "the reserved start has come")
    for policy in CLASSIC:
        aware = {"policy": policy, "accuracy": 0.5, "placement": "fault-aware"}
        decisions = decisions_of(run(case, log_events=True, **aware))
        assert decisions[-1].why.endswith("; node 0 left out: predicted to fail at 5")


def test_decisions_tell_the_story_of_a_failure() -> None:
    # Node 0 of 1 fails at 5 for 3 s: killed, placed anew at 8 with the same promise.
    case = Case([(0, 1, 10, 10)], [(5, 0, 3, 0.4)], 1, overhead=2, interval=100)
    told = [
        (d.time, d.kind.name, d.why) for d in decisions_of(run(case, log_events=True, accuracy=0.0))
    ]
    assert told == [
        (0, "RESERVE", "enough nodes are free at once"),
        (0, "START", "the reserved start has come"),
        (5, "REQUEUE", "node 0 failed; 5 node-seconds are lost"),
        (5, "RESERVE", "node 0 failed; 0 node-seconds are lost"),
        (8, "START", "the reserved start has come"),
    ]


# ------------------------------------------------------------------------------- impossible events


@pytest.mark.parametrize(
    "event",
    [
        Event(6, EventKind.FINISHED, 0),  # another second
        Event(5, EventKind.FINISHED, 1),  # waits
        Event(5, EventKind.START_DUE, 0),  # runs already
        Event(5, EventKind.CHECKPOINT_REQUESTED, 1),
        Event(5, EventKind.CHECKPOINT_FINISHED, 2),
        Event(5, EventKind.SUBMITTED, 0),  # known already
        Event(5, EventKind.FINISHED, 3),  # no such job
        Event(5, EventKind.FINISHED, -1),
        Event(5, EventKind.NODE_FAILED, 2, 9),  # no such node
        Event(5, EventKind.NODE_FAILED, 0, 5),  # back at once?
        Event(5, EventKind.NODE_RECOVERED, 0),  # is up
    ],
)
def test_what_cannot_happen_is_refused(event: Event) -> None:
    engine = engine_for(Case([(0, 2, 10, 10)], [], 2))
    for _ in range(3):
        engine.add_job(2, 10, 10, 0)
    submitted = [Event(0, EventKind.SUBMITTED, 0), Event(0, EventKind.SUBMITTED, 1)]
    engine.handle([*submitted], 0)
    engine.handle([Event(0, EventKind.START_DUE, 0)], 0)
    before = bytes_of(engine)
    with pytest.raises(ParameterError, match="event"):
        engine.handle([event], 5)
    assert bytes_of(engine) == before
