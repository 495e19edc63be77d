"""Random cases small and large, and how an outcome is compared with a reference to the second."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.world.failures import prepare_failures
from forestall.prediction.models.foreseen_kernels import Foreseen
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.report.result import Result
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import Workload, foreseen_by, prepare_jobs
from forestall.scheduling.simulation.run import Outcome, play
from reference.classic_reference import simulate_classic
from reference.promise_reference import simulate_promise
from reference.result import FailureRow, Hit, JobRow, ReferenceRun, Run

CLASSIC = ("fcfs", "easy", "conservative")


@dataclass(frozen=True)
class Case:
    """Jobs in submit order, failures in order of (time, node), and the machine."""

    jobs: list[JobRow]
    failures: list[FailureRow]
    nodes: int = 4
    overhead: int = 2
    interval: int = 10
    seed: int = -1

    def without_failures(self) -> Case:
        return replace(self, failures=[])

    def with_quiet_end(self) -> Case:
        """Return this with one more failure, so late that all can end before it: repeated for
        ever, such a log lets every job finish."""
        if not self.failures:
            return self
        work = sum(e + (e // self.interval + 1) * self.overhead for _, _, e, _ in self.jobs)
        last = max(t + down for t, _, down, _ in self.failures)
        late = 2 * (last + work) + max(v for v, *_ in self.jobs)
        return replace(self, failures=[*self.failures, (late, 0, 1, 0.5)])


# ------------------------------------------------------------------------------- making cases


def random_case(
    seed: int, jobs: int | None = None, horizon: int | None = None, nodes: int | None = None
) -> Case:
    """Return a case in which the seed also draws how large, loaded and apt to fail all is."""
    rng = random.Random(seed)
    nodes = nodes or rng.choice([1, 2, 3, 5, 8, 64, 65, 100, 130, 200])
    count = jobs or rng.randint(1, 60)
    span = horizon or rng.choice([30, 100, 3000, 100_000])
    rows: list[JobRow] = []
    for _ in range(count):
        runtime = rng.choice([1, rng.randint(1, 20), rng.randint(1, max(1, span // 3))])
        submit = rng.randint(0, span) if rng.random() < 0.8 else 5
        size = rng.choice([1, nodes, rng.randint(1, nodes)])
        over = rng.choice([0, 0, rng.randint(0, span // 3)])
        rows.append((submit, size, runtime, runtime + over))
    rows.sort(key=lambda row: row[0])
    overhead, interval = rng.choice([0, 1, 10, 720]), rng.choice([1, 7, 50, 3600])
    return Case(rows, random_failures(rng, nodes, span), nodes, overhead, interval, seed)


def random_failures(rng: random.Random, nodes: int, span: int) -> list[FailureRow]:
    usual = rng.choice([1, 10, 120, max(1, span // 10)])
    own_downtimes = rng.random() < 0.3
    places = {
        (rng.randint(0, 2 * span), rng.randrange(nodes)) for _ in range(rng.choice([0, 3, 30, 100]))
    }
    if rng.random() < 0.2:  # all nodes at once
        places |= {(span // 2, node) for node in range(nodes)}
    steps = rng.random() < 0.5  # detectabilities with ties
    return [
        (
            time,
            node,
            rng.randint(1, 2 * usual) if own_downtimes else usual,
            rng.randint(1, 9) / 10 if steps else rng.random(),
        )
        for time, node in sorted(places)
    ]


def loaded_case(seed: int, jobs: int = 420, load: float = 1.3, failures: int = 40) -> Case:
    """Return a case with more work than the machine can do: queues of hundreds."""
    rng = random.Random(seed)
    nodes = rng.choice([4, 16, 64, 100, 200])
    rows: list[JobRow] = []
    time = 0.0
    for _ in range(jobs):
        size = min(nodes, 2 ** rng.randrange(0, nodes.bit_length()))
        if rng.random() < 0.3:
            size = rng.randint(1, nodes)
        runtime = max(1, int(rng.lognormvariate(4.0, 1.2)))
        estimate = rng.choice([runtime, runtime * rng.randint(1, 10), 3600 + runtime])
        time += rng.expovariate(1.0) * size * runtime / nodes / load if rng.random() < 0.8 else 0.0
        rows.append((int(time), size, runtime, estimate))
    span = max(100, int(time))
    down = rng.choice([5, 120, 600])
    places = {(rng.randint(0, 2 * span), rng.randrange(nodes)) for _ in range(failures)}
    hits = [(t, node, rng.randint(1, down), rng.random()) for t, node in sorted(places)]
    return Case(rows, hits, nodes, rng.choice([0, 5, 30]), rng.choice([20, 60, 200]), seed)


def at_the_same_seconds(seed: int) -> Case:
    """Return a case whose failures fall on the very seconds of submissions, starts and finishes."""
    rng = random.Random(seed)
    nodes = rng.choice([1, 2, 4, 7])
    rows = [
        (
            5 * rng.randrange(6),
            rng.randint(1, nodes),
            length := 5 * rng.randint(1, 4),
            length + 5 * rng.randrange(3),
        )
        for _ in range(rng.randint(1, 14))
    ]
    rows.sort(key=lambda row: row[0])
    places = {(5 * rng.randrange(25), rng.randrange(nodes)) for _ in range(rng.randint(1, 12))}
    hits = [(t, node, 5 * rng.randint(1, 4), rng.randint(1, 9) / 10) for t, node in sorted(places)]
    return Case(rows, hits, nodes, rng.choice([0, 5]), rng.choice([5, 10]), seed)


@st.composite
def cases(draw: st.DrawFn, *, fails: bool = True, constant_downtime: bool = False) -> Case:
    """Draw a small case that Hypothesis can shrink."""
    nodes = draw(st.sampled_from([1, 2, 3, 4, 65]))
    row = st.tuples(
        st.integers(0, 60),
        st.integers(1, nodes),
        st.integers(1, 40),
        st.sampled_from([0, 0, 1, 25]),
    )
    drawn = draw(st.lists(row, min_size=1, max_size=25))
    rows = sorted(((v, n, e, e + more) for v, n, e, more in drawn), key=lambda r: r[0])
    down = draw(st.sampled_from([1, 5, 30]))
    downtimes = st.just(down) if constant_downtime else st.integers(1, down)
    hit = st.tuples(
        st.integers(0, 200),
        st.integers(0, nodes - 1),
        downtimes,
        st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]),
    )
    hits = draw(st.lists(hit, max_size=15, unique_by=lambda h: h[:2])) if fails else []
    overhead, interval = draw(st.sampled_from([0, 1, 6])), draw(st.sampled_from([1, 4, 15]))
    return Case(rows, sorted(hits), nodes, overhead, interval)


SHARES = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])


# ------------------------------------------------------------------------------- playing them


def jobs_of(rows: list[JobRow]) -> Jobs:
    columns = np.array(rows, dtype=np.int64).T
    return Jobs(np.arange(1, len(rows) + 1), *(columns[k].copy() for k in range(4)))


def failures_of(rows: list[FailureRow]) -> Failures:
    if not rows:
        return Failures.none()
    time, node, downtime, detectability = zip(*rows, strict=True)
    return Failures.build(time, node, downtime, detectability)


def prepared(case: Case, **settings: Any) -> tuple[Workload, Failures, Parameters, Foreseen]:
    """Return what `play` takes; estimates are the rows' own unless told otherwise."""
    parameters = Parameters(
        **{
            "nodes": case.nodes,
            "checkpoint_overhead": case.overhead,
            "checkpoint_interval": case.interval,
            "estimates": "requested",
            **settings,
        }
    )
    failures = prepare_failures(failures_of(case.failures), parameters)
    workload = prepare_jobs(jobs_of(case.jobs), failures, parameters)
    period = failures.span if parameters.repeat_failures else 0
    return (
        workload,
        failures,
        parameters,
        foreseen_by(TracePredictor(parameters.accuracy), failures, period),
    )


def run(case: Case, *, log_events: bool = False, **settings: Any) -> Outcome:
    return play(*prepared(case, **settings), log_events=log_events)


def result(case: Case, **settings: Any) -> Result:
    outcome = run(case, **settings)
    return Result(outcome, {}, outcome.workload.cleaning + outcome.failures.cleaning)


def promise_reference(case: Case, **settings: Any) -> ReferenceRun:
    return simulate_promise(
        case.jobs, case.failures, nodes=case.nodes, overhead=case.overhead,
        interval=case.interval, **settings,
    )  # fmt: skip


def classic_reference(case: Case, **settings: Any) -> ReferenceRun:
    return simulate_classic(case.jobs, case.failures, nodes=case.nodes, **settings)


# ------------------------------------------------------------------------------- comparing


def nodes_of(outcome: Outcome, first: int, count: int) -> tuple[int, ...]:
    ranges = outcome.ranges[first : first + count].tolist()
    return tuple(node for low, high in ranges for node in range(low, high))


def runs_of(outcome: Outcome) -> list[Run]:
    """Return the runs as a reference lists them, by (job, start)."""
    rows = []
    for k, r in enumerate(outcome.runs):
        truth = outcome.jobs[int(r["job"])]
        done = int(truth["run"]) == k and int(truth["finish"]) == int(r["end"])
        mine = nodes_of(outcome, int(r["first_range"]), int(r["ranges"]))
        rows.append(
            Run(
                int(r["job"]), int(r["start"]), int(r["end"]), mine,
                "finished" if done else "failed", int(r["checkpoints"]), int(r["lost"]),
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: (row.job, row.start))


def hits_of(outcome: Outcome) -> list[Hit]:
    log = outcome.failures
    return [
        Hit(
            int(p["time"]), int(log.node[k]), int(log.downtime[k]), float(log.detectability[k]),
            None if p["job"] < 0 else int(p["job"]), int(p["lost"]),
        )
        for p in outcome.played
        for k in [int(p["number"])]
    ]  # fmt: skip


def schedule(outcome: Outcome) -> dict[str, list[Any]]:
    """Return everything that a schedule consists of, by the names of `ReferenceRun`."""
    truth = outcome.jobs
    promised = (outcome.deadlines >= 0).tolist()
    deadline = [
        d if there else None for d, there in zip(outcome.deadlines.tolist(), promised, strict=True)
    ]
    promise = [
        p if there else None for p, there in zip(outcome.promises.tolist(), promised, strict=True)
    ]
    return {
        "start": truth["first_start"].tolist(),
        "last_start": truth["last_start"].tolist(),
        "finish": truth["finish"].tolist(),
        "deadline": deadline,
        "promise": promise,
        "restarts": truth["restarts"].tolist(),
        "checkpoints": truth["checkpoints"].tolist(),
        "skipped": truth["skipped"].tolist(),
        "lost": truth["lost"].tolist(),
        "runs": runs_of(outcome),
        "failures": hits_of(outcome),
    }


def assert_same(
    ours: Outcome, reference: ReferenceRun, *told: object, leave_out: tuple[str, ...] = ()
) -> None:
    """Compare with a reference, to the second and the node; `told` says how to see it again."""
    for name, mine in schedule(ours).items():
        other = getattr(reference, name)
        if name in leave_out or mine == other:
            continue
        k = next((k for k, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), -1)
        if k < 0:
            raise AssertionError(f"{name}: {len(mine)} here, {len(other)} there; {told}")
        raise AssertionError(f"{name}[{k}]: {mine[k]} here, {other[k]} there; {told}")


def assert_equal_outcomes(one: Outcome, other: Outcome, *told: object) -> None:
    left, right = schedule(one), schedule(other)
    for name, mine in left.items():
        assert mine == right[name], (name, *told)
