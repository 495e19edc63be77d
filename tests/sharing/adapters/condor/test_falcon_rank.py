"""The rank that HTCondor computes is Falcon's choice: HTCondor's own evaluator against
`sharing.rules.falcon`, on machines that a seed makes up."""

from __future__ import annotations

import re
import time
from typing import NamedTuple

import numpy as np
import pytest

from condor_pool import trixie
from condor_pool.pool import evaluated
from forestall.core.model.arrays import Floats
from forestall.core.model.cycle import FAR, GuestReason
from forestall.core.model.errors import ParameterError
from forestall.sharing.adapters.condor.attributes import HOURS, ad_text
from forestall.sharing.adapters.condor.falcon import (
    LIVES,
    RANK,
    JobNeeds,
    falcon_attributes,
    falcon_record,
)
from forestall.sharing.rules.falcon import Estimate, choose, estimate

STEP = 60
FIGURES = ("jct", "mttf", "etl", "jctf")


class Machine(NamedTuple):
    """What one publishes: mean loads and chances to stay by `HOURS`, and its speed."""

    loads: list[float]
    chances: list[float]
    speed: float

    def ad(self, **more: object) -> str:
        """Return it as lines of a ClassAd."""
        told = {
            "time": int(time.time()), "state": "S1", "speed": self.speed, "mttf": self.mttf,
            "reliability": dict(zip((f"{h}h" for h in HOURS), self.chances, strict=True)),
            "expected_load": dict(zip((f"{h}h" for h in HOURS), self.loads, strict=True)),
        }  # fmt: skip
        return ad_text(told | more).replace("-\n", "")

    @property
    def reliability(self) -> Floats:
        """The chances at each step of a day, on straight lines between those that are published."""
        at = 3600 * np.array([0, *HOURS])
        return np.interp(STEP * np.arange(1441), at, [1.0, *self.chances])

    @property
    def share(self) -> Floats:
        """What a guest gets in each step: the means of intervals whose sums are published."""
        ends = np.array([0, *HOURS]) * 1.0
        free = np.maximum.accumulate([0.0, *(h * (1 - x) for h, x in zip(HOURS, self.loads,
                                                                       strict=True))])  # fmt: skip
        return np.repeat(np.diff(free) / np.diff(ends), (np.diff(ends) * 60).astype(int))

    @property
    def mttf(self) -> int:
        """The integral of the reliability, going on as from now after a day; at most ten years."""
        alive = self.reliability
        within, left = STEP * ((alive[:-1] + alive[1:]) / 2).sum(), 1 - alive[-1]
        return int(min(within / left, 10 * 365 * 86_400.0)) if left > 0 else 10 * 365 * 86_400

    def estimate(self, hours: float) -> Estimate:
        """Return what Falcon expects of it."""
        alive = np.minimum(self.reliability, 1)
        return estimate(hours * 3600, np.clip(self.share, 0, 1), alive, step=STEP,
                        speed=self.speed)  # fmt: skip


def some_machines(count: int, seed: int) -> list[Machine]:
    """Return machines of all kinds: idle, busy, sure, hopeless."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(count):
        busy = rng.choice([0.0, 0.3, 0.9])
        each = np.clip(rng.normal(busy, 0.1, 24), 0, 1)
        loads = [float(each[:h].mean()) for h in HOURS]
        falls = rng.exponential(rng.choice([0.002, 0.1, 0.6, 2.0]), len(HOURS))
        chances = np.exp(-np.cumsum(falls)) if k % 7 else np.ones(len(HOURS))
        made.append(
            Machine(
                [round(x, 6) for x in loads],
                [round(float(p), 6) for p in chances],
                round(float(rng.uniform(0.5, 2)), 3),
            )
        )
    return made


def asked(machines: list[Machine], *expressions: str) -> list[list[float]]:
    """Return what HTCondor makes of expressions of machines; its tool knows them as its own."""
    rows = evaluated([one.ad() for one in machines],
                     *(each for each in expressions))  # fmt: skip
    return [[float(value) for value in row] for row in rows]


@pytest.fixture
def htcondor() -> None:
    if reason := trixie.why_not():
        pytest.skip(reason)


@pytest.mark.usefixtures("htcondor")
@pytest.mark.parametrize("hours", [0.25, 1.0, 3.0, 6.0, 30.0])
def test_every_figure_is_that_of_falcon(hours: float) -> None:
    machines = some_machines(60, seed=round(100 * hours))
    needs = JobNeeds(hours)
    found = asked(
        machines, *(falcon_record(needs, name) for name in FIGURES), falcon_record(needs, "rank")
    )
    for machine, row in zip(machines, found, strict=True):
        told = machine.estimate(hours)._replace(mttf=machine.mttf)
        for name, value in zip(FIGURES, row[:4], strict=True):
            wanted = getattr(told, name)
            if value == -1:
                assert wanted >= FAR or wanted > 7 * 86_400
            elif name == "etl":
                # the published MTTF is of whole seconds, of 10 years at most
                if wanted >= FAR:
                    wanted = machine.speed * machine.share.mean() * machine.mttf
                assert value == pytest.approx(wanted, rel=1e-3, abs=2)
            else:
                assert value == pytest.approx(wanted, rel=1e-4, abs=2), (name, machine)
        assert 0 < row[4] <= LIVES / 100


@pytest.mark.usefixtures("htcondor")
@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_rank_is_falcons_choice(seed: int) -> None:
    machines = some_machines(240, seed)
    rng = np.random.default_rng(seed)
    reasons = set()
    lengths = (0.5, 2.0, 6.0)
    ranks = asked(machines, *(falcon_record(JobNeeds(hours), "rank") for hours in lengths))
    for column, hours in enumerate(lengths):
        for _ in range(80):
            few = rng.choice(len(machines), rng.integers(2, 8), replace=False)
            told = [machines[k].estimate(hours) for k in few]
            place, reason = choose(told)
            best = max(ranks[k][column] for k in few)
            mine = ranks[few[place]][column]
            # Whole seconds on one side: what is closer than that may go either way.
            assert mine == pytest.approx(best, rel=2e-3)
            reasons.add(reason)
    assert reasons == {GuestReason.ENDS_FIRST, GuestReason.LONGEST_LEFT}


@pytest.mark.usefixtures("htcondor")
def test_a_steady_machine_goes_before_a_quick_one_that_leaves() -> None:
    quick = Machine([0.0] * 6, [0.3, 0.1, 0.05, 0.01, 0.0, 0.0], 2.0)
    steady = Machine([0.1] * 6, [1.0, 1.0, 0.99, 0.98, 0.97, 0.96], 1.0)
    (one,), (other,) = asked([quick, steady], falcon_record(JobNeeds(3), "rank"))
    assert one < 1 < other < LIVES
    (one,), (other,) = asked([quick, steady], falcon_record(JobNeeds(0.05), "rank"))
    assert one > other > 100  # for three minutes of work, the quick one


@pytest.mark.usefixtures("htcondor")
@pytest.mark.parametrize(("hours", "load"), [(0.5, 0.25), (6.0, 0.25), (6.0, 1.0)])
def test_ties_go_to_the_larger_mttf(hours: float, load: float) -> None:
    """Alike but for what they say of the time after a day; with a load of 1 nothing is done."""
    machine, lives = Machine([load] * 6, [1.0] * 6, 1.0), [90_000, 90_003, 90_001, 90_002, 90_001]
    needs = JobNeeds(hours)
    rows = evaluated([machine.ad(mttf=life) for life in lives], falcon_record(needs, "rank"))
    ranks = [float(row[0]) for row in rows]
    assert np.argsort(ranks, kind="stable").tolist() == np.argsort(lives, kind="stable").tolist()
    assert ranks[2] == ranks[4]
    # a second of JCTF or ETL counts for more than any MTTF
    long = evaluated([machine.ad(mttf=10**9)], falcon_record(needs, "rank"))
    (soon,) = evaluated([machine.ad(mttf=90_000)],
                        falcon_record(JobNeeds(hours - 2 / 3600), "rank"))  # fmt: skip
    assert float(long[0][0]) < float(soon[0]) or load == 1


@pytest.mark.usefixtures("htcondor")
def test_a_checkpoint_makes_a_slow_path_count() -> None:
    machine = Machine([0.0] * 6, [0.99] * 6, 1.0)
    ads = [machine.ad(vault_bandwidth=rate, vault_hosts=5) for rate in (1e6, 1e8)]
    ads.append(machine.ad())
    needs = JobNeeds(2, checkpoint=1e9)
    figures = [falcon_record(needs, name) for name in ("jct", "jctf")]
    slow, quick, unknown = ([float(value) for value in row] for row in evaluated(ads, *figures))
    # fetching: 1000 s and 10 s; saving by Young's interval: (fetch / (2 MTTF))^0.5 of the work
    for row, fetch in ((slow, 1000.0), (quick, 10.0), (unknown, 0.0)):
        work = 7200 * (1 + (fetch / (2 * machine.mttf)) ** 0.5)
        assert row[0] == pytest.approx(fetch + work, rel=1e-4)
    assert slow[1] > quick[1] > unknown[1]


@pytest.mark.usefixtures("htcondor")
def test_machines_that_do_not_tell_all_of_it_come_last() -> None:
    machine = Machine([0.2] * 6, [0.99] * 6, 1.0)
    now = int(time.time())
    ads = [
        machine.ad(), machine.ad(speed=None), machine.ad(state="S3"), machine.ad(time=now - 700),
        machine.ad(time=now + 700), machine.ad(mttf=None), machine.ad(expected_load=None),
        machine.ad(reliability={"1h": 1.0}), "",
        machine.ad(expected_load={f"{h}h": 1.0 for h in HOURS}),
    ]  # fmt: skip
    rows = evaluated(ads, falcon_record(JobNeeds(2), "rank"))
    ranks = [float(row[0]) for row in rows]
    assert ranks[0] == ranks[1] > 100  # a speed that is not told is 1
    assert ranks[2:9] == [0.0] * 7
    assert 1 <= ranks[9] * LIVES < 2  # nothing is ever done there, and that is known


@pytest.mark.parametrize(
    ("hours", "checkpoint", "words"),
    [(0, 0, "hours: 0"), (10_001, 0, "hours"), (float("nan"), 0, "hours"),
     (1, -1, "checkpoint_size: -1"), (1, float("inf"), "checkpoint_size")],
)  # fmt: skip
def test_what_no_job_needs_is_refused(hours: float, checkpoint: float, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        JobNeeds(hours, checkpoint)
    with pytest.raises(ParameterError, match="name: 'best'"):
        falcon_record(JobNeeds(1), "best")


def test_the_attributes_of_a_job_say_the_same() -> None:
    needs = JobNeeds(4, 1e9)
    told = falcon_attributes(needs)
    assert list(told)[-1] == RANK == "ForestallFalconRank"
    for name, value in told.items():
        assert "\n" not in value
        assert "$" not in value
        for word in re.findall(r"[\w.]*Forestall\w+", value):
            mine = word.startswith("MY.")
            assert word.startswith(("MY.", "TARGET."))
            assert (word.partition(".")[2] in told) is mine, (name, word)
    # in their order, each names only those before it: nothing turns in a circle
    seen: set[str] = set()
    for name, value in told.items():
        assert set(re.findall(r"MY\.(\w+)", value)) <= seen
        seen.add(name)
    record = falcon_record(needs, "rank")
    plain = "".join(told.values()).replace("TARGET.", "").replace("MY.ForestallFalcon", "")
    assert abs(len(plain) - len(record)) < 300
    assert sum(map(len, told.values())) < 30_000
