"""Generated machines whose truth is known, and what the paper's chain finds on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import forestall as fs
from forestall import judge
from studies.assessment import paper
from studies.kit.means import Floats

BLIND_DRAWS: Final = 400
LEAST: Final = 0.05
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

THRESHOLDS: Final = (0.05, paper.THRESHOLD, 0.2)
"""Active memory from which on policies act in the closed loop."""


@dataclass(frozen=True)
class Plan:
    """How much is played.

    Attributes
    ----------
    seed : of everything
    nodes, days, period : the machine of the figures; its samples are `period` seconds apart
    repeats, repeat_period : further machines of that size, each with and without a relation
    nulls, null_nodes : small machines without a relation
    draws : permutations
    """

    seed: int = 1
    nodes: int = paper.NODES
    days: float = paper.DAYS
    period: int = 60
    repeats: int = 6
    repeat_period: int = 300
    nulls: int = 48
    null_nodes: int = 72
    draws: int = paper.DRAWS

    @property
    def steps(self) -> int:
        """Machines to generate, the sample of the paper's size, and the closed loop."""
        return 3 + 2 * self.repeats + self.nulls

    @property
    def loop(self) -> judge.PolicySettings:
        """The policies of the closed loop, on as many machines as have a relation."""
        return judge.PolicySettings(
            seed=self.seed, machines=1 + self.repeats, nodes=self.nodes, days=self.days,
            thresholds=THRESHOLDS,
        )  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """What was put in beside what was found, of one machine.

    Attributes
    ----------
    failed, killed : jobs that failed, and those that memory killed
    found : of the killed, those whose period is on the node that truly lacked most
    area_killed : area of the metric for killed jobs against jobs that completed; nan without any
    lost, caught : node-hours that memory destroyed, and those of jobs whose period, on that node,
        is among the share of periods with the highest values that the paper acts on
    random_breaks_even, breaks_even : the costs of an action, node-hours, from which on acting at
        random, and by the metric, loses if acting saves only what memory destroyed; see `Machine`
    """

    failed: int
    killed: int
    found: int
    area_killed: float
    lost: float
    caught: float
    random_breaks_even: float
    breaks_even: float


@dataclass(frozen=True)
class Node:
    """One node as Figure 1 has it: samples; its jobs; when memory ran out; times in s."""

    time: Ints
    value: Floats
    start: Ints
    end: Ints
    state: tuple[str, ...]
    out_of_memory: Ints


def worst_node(records: fs.JobRecords, metrics: fs.Metrics, truth: Any) -> Node:
    """Return the node on which memory ran out most often, of several the lowest."""
    count = np.bincount(truth.worst[truth.killed], minlength=metrics.nodes)
    node = int(np.argmax(count))
    samples = metrics.take(metrics.node == node)
    job = np.repeat(np.arange(len(records)), records.size)[records.node == node]
    struck = truth.killed & (truth.worst == node)
    return Node(
        samples.time, samples.value[:, 0], records.start[job], records.end[job],
        tuple(records.state[k] for k in job.tolist()), records.end[struck],
    )  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """What the chain finds on one machine.

    Attributes
    ----------
    periods, occasions, curve : idle periods, and the net benefit of acting in them, node-hours
    area, chance : over Cases I and II
    biased : area of Case I against Cases II and III together
    part : of the highest gain, by acting in the paper's share of the periods
    blind_part : the same if the metric told nothing
    truth : what was put in
    worst : the node on which memory ran out most often
    """

    relation: float
    periods: judge.Attribution
    occasions: judge.Occasions
    curve: judge.BenefitCurve
    area: judge.AreaInterval
    chance: judge.Permutation
    biased: float
    part: float
    blind_part: float
    truth: Truth
    worst: Node

    @property
    def threshold(self) -> float:
        """The active memory from which on one acts in the paper's share of the periods."""
        within = self.curve.acted <= paper.SHARE * self.curve.occasions
        return float(self.curve.threshold[within][-1])

    @property
    def values(self) -> Floats:
        """The metric over Cases I and II."""
        return self.periods.value[self.periods.answerable]

    @property
    def hits(self) -> Flags:
        """Which of them are Case I."""
        hits: Flags = self.periods.case[self.periods.answerable] == 1
        return hits

    @property
    def random_breaks_even(self) -> float:
        """The cost of an action, node-hours, from which on acting at random or always loses."""
        return float(self.occasions.net.sum()) / len(self.occasions)

    @property
    def breaks_even(self) -> float:
        """The cost of an action from which on acting by the metric loses at every threshold that
        acts in at least a twentieth of the periods."""
        return breaks_even(self.curve)

    def row(self) -> dict[str, float]:
        """Return what a table says of it."""
        first, second, third = self.periods.counts()
        return {
            "relation": self.relation,
            "case_1": first,
            "case_2": second,
            "case_3": third,
            "auc": self.area.auc,
            "auc_low": self.area.low,
            "auc_high": self.area.high,
            "p_value": self.chance.p_value,
            "auc_with_case_3": self.biased,
            "part_at_20_percent": self.part,
            "threshold_at_20_percent": self.threshold,
            "part_without_relation": self.blind_part,
            "failed_jobs": self.truth.failed,
            "killed_jobs": self.truth.killed,
            "killed_found": self.truth.found,
        }


def breaks_even(curve: judge.BenefitCurve) -> float:
    """Return the cost of an action, node-hours, from which on every threshold loses that acts in
    at least a twentieth of the periods."""
    some = curve.acted >= LEAST * curve.occasions
    return float(np.max(curve.net[some] / curve.acted[some]))


def play(seed: int, plan: Plan, *, nodes: int, period: int, relation: float = 1.0) -> Machine:
    """Generate a machine and judge its active memory as a predictor of failed jobs."""
    records, metrics, truth = fs.generate_memory(
        seed, nodes=nodes, days=plan.days, relation=relation, period=period
    )
    periods = attributed(records, metrics)
    occasions = judge.of_periods(periods, reboot=paper.REBOOT)
    curve = judge.net_benefit(occasions)
    value, hit = periods.value[periods.answerable], periods.case[periods.answerable] == 1
    every = periods.considered
    dealt, shuffled = (fs.stream(seed, "assessment", use) for use in ("unrelated", "permutation"))
    blind = judge.unrelated(occasions, dealt, draws=BLIND_DRAWS)
    top = float(curve.net.max())
    return Machine(
        relation=relation,
        periods=periods,
        occasions=occasions,
        curve=curve,
        area=judge.delong(value, hit),
        chance=judge.permutation(value, hit, plan.draws, rng=shuffled),
        biased=judge.area(periods.value[every], periods.case[every] == 1),
        part=curve.part_at(paper.SHARE) or 0.0,
        blind_part=float(np.interp(paper.SHARE, blind.share, blind.mean)) / top,
        truth=planted(records, periods, occasions, curve, truth),
        worst=worst_node(records, metrics, truth),
    )


def attributed(records: fs.JobRecords, metrics: fs.Metrics) -> judge.Attribution:
    """Return the idle periods of generated jobs, all of which ended."""
    close = int(metrics.time.max()) + metrics.period
    fates = judge.Fates(
        records.start, records.end, records.failed(), records.offsets, records.node,
        (records.failed() | records.completed()) & (records.end <= close),
    )  # fmt: skip
    samples = judge.MetricSamples(metrics.time, metrics.node, metrics.value[:, 0])
    return judge.attribute(fates, samples, nodes=metrics.nodes, begin=0, close=close)


def planted(
    records: fs.JobRecords,
    periods: judge.Attribution,
    occasions: judge.Occasions,
    curve: judge.BenefitCurve,
    truth: Any,
) -> Truth:
    """Return what was put in beside what the attribution found."""
    known = periods.period >= 0
    at = np.where(known, periods.period, 0)
    right = known & (periods.node[at] == truth.worst)
    killed = truth.killed & known
    good = records.completed() & known
    value = periods.value[at]
    within = curve.acted <= paper.SHARE * curve.occasions
    threshold = float(curve.threshold[within][-1])
    lost = records.size * records.elapsed / 3600
    truly = np.bincount(
        periods.period[killed & right], weights=lost[killed & right], minlength=len(periods)
    )[periods.considered]
    real = replace(occasions, gain=truly.astype(np.float64), potential=None)
    both = killed | good
    there = bool(killed.any() and good.any())
    return Truth(
        failed=int(records.failed().sum()),
        killed=int(killed.sum()),
        found=int((killed & right).sum()),
        area_killed=judge.area(value[both], killed[both]) if there else float("nan"),
        lost=float(lost[killed].sum()),
        caught=float(lost[killed & right & (value >= threshold)].sum()),
        random_breaks_even=float(real.net.sum()) / len(real),
        breaks_even=breaks_even(judge.net_benefit(real)),
    )


def sample_of(
    positives: int, negatives: int, wanted: float, rng: np.random.Generator
) -> tuple[Floats, Flags]:
    """Return scores and outcomes of such numbers whose area is the wanted one, as near as the
    sample allows: normal scores, those of failures moved until the area is right."""
    noise = rng.standard_normal(positives + negatives)
    failed = np.arange(positives + negatives) < positives
    low, high = -10.0, 10.0
    for _ in range(80):
        middle = (low + high) / 2
        if judge.area(noise + middle * failed, failed) < wanted:
            low = middle
        else:
            high = middle
    return noise + high * failed, failed
