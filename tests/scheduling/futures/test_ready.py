"""Jobs that can first start at other times in each future."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.scheduling.futures.futures import make, quote
from forestall.scheduling.futures.snapshot import NEVER, Happened, QueueEvent, SchedulerRule, after
from forestall.scheduling.futures.updates import update
from scheduling.futures.cases import draws_of, snapshot_of
from scheduling.futures.plain import played

RULES = (
    SchedulerRule(),
    SchedulerRule.named("conservative"),
    SchedulerRule.named("priority", 4),
    SchedulerRule(reserved=2, tested=NEVER),
    SchedulerRule(reserved=2, tested=5),
)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_each_future_is_that_of_its_own_times(rule: SchedulerRule, seed: int) -> None:
    rng = np.random.default_rng(seed)
    snapshot = snapshot_of(rng, drains=seed)
    run = draws_of(rng, snapshot, 3)
    ready = snapshot.now + rng.integers(-20, 80, run.shape)
    ready = np.where(snapshot.running, snapshot.ready, ready)
    futures = make(snapshot, run, rule, ready=ready)
    assert not futures.kept
    for k in range(3):
        start, end = played(replace(snapshot, ready=ready[k]), run[k], rule)
        assert (futures.start[k].tolist(), futures.end[k].tolist()) == (start, end)


@pytest.mark.parametrize("seed", range(4))
def test_updates_and_quotes_keep_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    snapshot = snapshot_of(rng)
    run = draws_of(rng, snapshot, 3)
    ready = snapshot.now + rng.integers(0, 80, run.shape)
    own = np.full(3, 9, np.float32)
    event = QueueEvent(Happened.SUBMITTED, snapshot.now, 999, 3, 20)
    both = np.concatenate([run, own[:, None]], axis=1)
    times = np.concatenate([ready, np.full((3, 1), snapshot.now)], axis=1)
    anew = make(after(snapshot, event), both, ready=times)
    told = quote(make(snapshot, run, ready=ready), 3, 20, own)
    assert told.start.tolist() == anew.start[:, -1].tolist()
    later = update(make(snapshot, run, ready=ready), event, own)
    assert later.start.tolist() == anew.start.tolist()
    gone = QueueEvent(Happened.CANCELLED, snapshot.now, 999)
    back = update(later, gone)
    assert back.start.tolist() == make(snapshot, run, ready=ready).start.tolist()


def test_times_for_other_jobs_are_refused() -> None:
    rng = np.random.default_rng(0)
    snapshot = snapshot_of(rng)
    run = draws_of(rng, snapshot, 3)
    with pytest.raises(ParameterError, match="a time for each"):
        make(snapshot, run, ready=np.zeros((2, len(snapshot)), np.int64))
