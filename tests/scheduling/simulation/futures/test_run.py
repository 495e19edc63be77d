"""Futures on several cores, and against the simulator."""

from __future__ import annotations

import numpy as np
import pytest

import forestall as fs
from forestall.core.model.errors import ParameterError
from forestall.scheduling.futures.snapshot import Happened, NodeHazard, QueueEvent, Snapshot
from forestall.scheduling.simulation.futures.run import make_futures, quote_futures, update_futures


def a_queue(rng: np.random.Generator, jobs: int, nodes: int) -> tuple[Snapshot, np.ndarray]:
    size = rng.integers(1, nodes // 2, jobs)
    limit = rng.integers(10, 500, jobs)
    run = np.ceil(rng.random((40, jobs)) * limit).astype(np.float32)
    none = np.empty(0, np.int64)
    snapshot = Snapshot.of(0, nodes, (none, none, none), (size, limit, np.zeros(jobs, np.int64)))
    return snapshot, run


@pytest.mark.parametrize("failures", [None, NodeHazard(1e-6, 60, 0)])
def test_any_number_of_workers_gives_the_same(failures: NodeHazard | None) -> None:
    snapshot, run = a_queue(np.random.default_rng(0), 200, 64)
    one, three = (make_futures(snapshot, run, failures=failures, workers=n) for n in (1, 3))
    assert one.start.tobytes() == three.start.tobytes()
    assert one.end.tobytes() == three.end.tobytes()
    event = QueueEvent(Happened.SUBMITTED, 30, 999, 5, 100)
    own = np.full(40, 50, np.float32)
    quotes = [quote_futures(each, 7, 90, own, workers=n) for each, n in ((one, 1), (three, 3))]
    assert quotes[0].start.tobytes() == quotes[1].start.tobytes()
    later = [update_futures(each, event, own, workers=n) for each, n in ((one, 1), (three, 3))]
    assert later[0].end.tobytes() == later[1].end.tobytes()


def test_no_workers_are_refused() -> None:
    snapshot, run = a_queue(np.random.default_rng(0), 3, 8)
    with pytest.raises(ParameterError, match="at least 1"):
        make_futures(snapshot, run, workers=0)


@pytest.mark.parametrize("seed", range(5))
def test_with_true_run_times_a_future_is_the_simulator(seed: int) -> None:
    """EASY of the futures and EASY of `fs.simulate` start every job in the same second."""
    rng = np.random.default_rng(seed)
    count, nodes = 400, 64
    submit = np.sort(rng.integers(0, 20_000, count))
    size = np.minimum(2 ** rng.integers(0, 7, count), nodes)
    run = rng.integers(1, 3000, count)
    limit = run + rng.integers(0, 2000, count)
    jobs = fs.Jobs.build(submit, size, run, limit)
    result = fs.simulate(
        jobs, nodes=nodes, policy="easy", estimates="requested", checkpoint_interval=10**8
    )
    none = np.empty(0, np.int64)
    snapshot = Snapshot.of(0, nodes, (none, none, none), (size, limit, submit))
    futures = make_futures(snapshot, run[None].astype(np.float32), workers=1)
    starts = result.jobs["start"].to_numpy()
    assert futures.start[0].tolist() == starts.tolist()
