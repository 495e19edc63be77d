"""What to do about it: checkpoint intervals, limits, spares, and requests that are far off.

Each piece says what it would have saved over the time of the records, with bounds, and what that
rests on. Nothing is a forecast, and nothing is counted that the records do not show.

- Checkpoint interval, by size of run: sqrt(2 C / (n r)) and its exact form for n nodes that fail r
  times a second each and checkpoints of C. For a run of T on n nodes, going from every D to every E
  saves n C (floor(T / (D + C)) - floor(T / (E + C))) of checkpoints, and n (n r T) (min(D, T) -
  min(E, T)) / 2 of work that failures take, to first order.
- Limit, by size of run: each run that a node's failure ended after t loses t mod L instead of t;
  every run of T pays a restart and a checkpoint at each of its floor(T / L) new ends.
- Requests that are far off: runs of one user and name that ran out of memory or of time again.
- Spares: nodes that a run should hold so that with 99 % it never has fewer than it needs.
- When to act on an alarm: where P(failure | alarm) >= cost of acting / loss avoided; with recall q
  the interval between regular checkpoints grows to sqrt(2 M C / (1 - q)).

Sources: Daly, Future Generation Computer Systems 22 (2006) 303; Aupy, Robert, Vivien and Zaidouni,
"Impact of fault prediction on checkpointing strategies", arXiv 1207.6936; Kokolis et al., arXiv
2410.21680; Hacker and Meglicki, HPDC 2007.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.show.clean import clean
from forestall.core.show.facts import plain
from forestall.core.show.quantities import counted, duration, percent
from forestall.reliability.checkpoints.training import best_exact
from forestall.reliability.history.rates import poisson_interval
from forestall.reliability.queues.queues import LADDER, Queue, queue_failure
from forestall.reliability.report.failure_rate import MeasuredRate, measured
from forestall.reliability.systems.pools import Pool, spares_of_pool
from forestall.reliability.systems.systems import from_mttf
from forestall.site.shared import how_ended
from forestall.site.summary import known_nodes
from forestall.slurm.records.run_ends import Ends, cause

if TYPE_CHECKING:
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked


@dataclass(frozen=True)
class Advice:
    """What to do about it.

    Attributes
    ----------
    key : kind of advice: checkpoint_interval, spares, limit, node, ...
    text : what to do, in a sentence
    saves : node-hours that it would have saved over the time of the records; None: not told
    low, high : interval or bounds of `saves`
    because : the evidence, with its number of records
    assumes : what must hold
    labels : what it is about, such as {"node": "n17"}
    """

    key: str
    text: str
    saves: float | None
    because: str
    assumes: str = ""
    low: float | None = None
    high: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "key": self.key,
            "text": self.text,
            "saves_node_hours": plain(self.saves),
            "saves_low_node_hours": plain(self.low),
            "saves_high_node_hours": plain(self.high),
            "because": self.because,
            "assumes": self.assumes,
            "labels": dict(self.labels),
        }


Long = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SIZES: Final = (1, 2, 8, 32, 128, 512, 2048)
"""Where classes of job sizes begin, nodes."""
FEWEST_RUNS: Final = 20
FEWEST_FAILURES: Final = 3
LEAST_SAVED: Final = 1.0
"""Node-hours below which nothing is said."""
REPEATS: Final = 3
MOST_OF_A_KIND: Final = 5
TARGET: Final = 0.99
LIKELY: Final = 0.05
"""A class of runs needs spares where a run of its typical length fails with this probability."""
MOST_SPARES: Final = 2
"""Classes, the largest, for which spares are told."""
RECALL: Final = 0.3
HOUR: Final = 3600
ON_ALARMS: Final = (
    "Act on an alarm if P(failure | alarm) is at least the cost of acting divided by the loss "
    "avoided: here the cost of a checkpoint over half an interval. If a predictor foresees "
    f"{100 * RECALL:g} % of the failures, the interval grows to sqrt(2 M C / (1 - {RECALL:g})). "
    "Alarms of several nodes at the same time count once."
)
"""When to act on an alarm."""


@dataclass(frozen=True)
class SizeClass:
    """Runs of about one size that started and ended or still run.

    Attributes
    ----------
    low, high : nodes, both ends included
    mean : their size weighted by work
    nodes, elapsed : int64[k], of each run, s
    failed : bool[k], whether a node's failure ended it
    """

    low: int
    high: int
    mean: float
    nodes: Long
    elapsed: Long
    failed: Mask

    @property
    def name(self) -> str:
        """The class in words."""
        if self.low == self.high:
            return f"{self.low:,}"
        return f"{self.low:,} to {self.high:,}"

    @property
    def label(self) -> str:
        """The class as a label."""
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"

    @property
    def words(self) -> str:
        """The class as runs: ``runs on 8 to 31 nodes``."""
        return f"runs on {self.name} {'node' if self.high == 1 else 'nodes'}"


@dataclass(frozen=True)
class Alarm:
    """When an alarm is worth a checkpoint, for runs of one size.

    `size` is without its runs; `interval` is the best between regular checkpoints, `low` and `high`
    the best at the ends of the failure rate's interval (None: no end), and `with_recall` the best
    where a predictor finds `RECALL` of the failures, s; `threshold` is the least P(failure | alarm)
    to act on.
    """

    size: SizeClass
    interval: float
    low: float | None
    high: float | None
    with_recall: float
    threshold: float


@dataclass(frozen=True)
class AdviceFound:
    """Advice with what it was made from; `rate` is None where no failures are known."""

    rate: MeasuredRate | None
    advice: tuple[Advice, ...]
    alarms: tuple[Alarm, ...]


def study(site: SiteRecords, asked: Asked, *, told: bool = False) -> AdviceFound:
    """Return what follows from records that are cut to what was asked.

    `told` says whether the checkpoint interval of today was told or is assumed; where it is
    assumed, a better one may save nothing, for all that is known.
    """
    rate = measured(site, asked)
    if site.accounting is None or not len(site.accounting):
        nodes = known_nodes(site) or 0
        enough = rate is not None and rate.failures >= FEWEST_FAILURES
        sizes = [_bare(one) for one in SIZES if enough and one <= nodes]
        return AdviceFound(rate, (), tuple(alarm(one, rate, asked) for one in sizes if rate))
    accounting = site.accounting
    found: list[Advice] = []
    needed: list[Advice] = []
    alarms: list[Alarm] = []
    ends = how_ended(site)
    sizes = size_classes(accounting, ends)
    if rate is not None and rate.failures >= FEWEST_FAILURES:
        for size in sizes:
            found += checkpoints(size, rate, asked, told=told)
            needed += spares(size, rate)
            alarms.append(alarm(size, rate, asked))
    for size in sizes:
        found += limits(size, rate, asked)
    found += far_off(accounting, asked, ends) + needed[-MOST_SPARES:]
    return AdviceFound(rate, tuple(found), tuple(alarms))


def advice(found: AdviceFound) -> tuple[Advice, ...]:
    """Return the advice of a study."""
    return found.advice


def size_classes(accounting: Accounting, ends: Ends | None = None) -> list[SizeClass]:
    """Return the classes that runs are in, in order of size; `ends` says how they ended, where that
    is known already."""
    known = Ends.of(accounting) if ends is None else ends
    elapsed = known.elapsed
    ended = accounting.base().among(["NODE_FAIL"]) & (known.causes != cause("operator_down"))
    largest = int(accounting.nodes.max(initial=0))
    edges = np.array([edge for edge in SIZES if edge <= largest], dtype=np.int64)
    # One pass for all classes: a class a run, -1 for runs of no size or no length.
    of = np.full(len(elapsed), -1, dtype=np.int8)
    for k, edge in enumerate(edges.tolist()):
        of[accounting.nodes >= edge] = k
    of[elapsed <= 0] = -1
    found = []
    for k, end in enumerate([*edges[1:].tolist(), largest + 1]):
        index = np.flatnonzero(of == k)
        if len(index) >= FEWEST_RUNS:
            nodes, time = accounting.nodes[index].astype(np.int64), elapsed[index]
            work = nodes * time.astype(np.float64)
            mean = float((nodes @ work) / work.sum())
            high = min(end - 1, largest)
            found.append(SizeClass(int(edges[k]), high, mean, nodes, time, ended[index]))
    return found


def _bare(nodes: int) -> SizeClass:
    """Return a size of which there are no runs."""
    none = np.zeros(0, dtype=np.int64)
    return SizeClass(nodes, nodes, float(nodes), none, none, none.astype(np.bool_))


def best_interval(nodes: float, rate: float, cost: float) -> float:
    """Return the best interval of a long run, s; the exact form for a constant failure rate."""
    return best_exact(nodes * rate, cost)


def rounded(seconds: float) -> int:
    """Return an interval as people set it: to about a tenth, in whole minutes, hours or days."""
    steps = (60, 300, 600, 1800, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR)
    step = max((one for one in steps if one <= seconds / 5), default=60)
    return max(step, round(seconds / step) * step)


def checkpoints(
    size: SizeClass, rate: MeasuredRate, asked: Asked, *, told: bool = False
) -> list[Advice]:
    """Return how often runs of this size should checkpoint, where it would have saved anything."""
    cost, now = float(asked.checkpoint_cost), float(asked.checkpoint_interval)
    if cost <= 0:
        return []
    best = rounded(best_interval(size.mean, rate.rate, cost))
    long = size.elapsed > min(best, now)
    if not bool(long.any()):
        return []
    time = size.elapsed[long].astype(np.float64)
    nodes = size.nodes[long].astype(np.float64)
    fewer = np.floor(time / (now + cost)) - np.floor(time / (best + cost))
    paid = float((nodes * fewer).sum()) * cost
    exposed = nodes * nodes * time * (np.minimum(now, time) - np.minimum(best, time)) / 2
    work = float(exposed.sum())
    saved, *ends = ((paid + work * one) / HOUR for one in (rate.rate, *rate.ends()))
    if saved < LEAST_SAVED:
        return []
    low, high = min(ends), max(ends)
    how = f"runs checkpoint every {duration(now)} today ({{checkpoint_interval}})"
    if not told:
        low, how = (
            min(low, 0.0),
            f"{how} (not in the records); the low end is without any checkpoints",
        )
    return [
        Advice(
            "checkpoint_interval",
            f"Let {size.words} checkpoint every {duration(best)} of work.",
            saved,
            f"{counted(len(time), 'runs')} lasted longer than {duration(min(best, now))}; from "
            f"{counted(rate.failures, 'failures')}.",
            f"{how}; a checkpoint takes {duration(cost)} ({{checkpoint_cost}}); failures do not "
            "depend on the workload.",
            low,
            high,
            {"nodes": size.label},
        )
    ]


def alarm(size: SizeClass, rate: MeasuredRate, asked: Asked) -> Alarm:
    """Return when an alarm is worth a checkpoint: half an interval is at stake, on average."""
    cost = max(float(asked.checkpoint_cost), 1.0)
    best = best_interval(size.mean, rate.rate, cost)
    grown = best_interval(size.mean, rate.rate * (1 - RECALL), cost)
    low, high = (best_interval(size.mean, one, cost) for one in reversed(rate.ends()))
    bare = replace(size, nodes=size.nodes[:0], elapsed=size.elapsed[:0], failed=size.failed[:0])
    return Alarm(bare, best, low, high, grown, min(1.0, cost / (grown / 2)))


def spares(size: SizeClass, rate: MeasuredRate) -> list[Advice]:
    """Return how many spares a long run of this size needs."""
    length = float(np.quantile(size.elapsed, 0.9))
    nodes = max(1, round(size.mean))
    chance = -math.expm1(-nodes * rate.rate * length)
    if length <= 0 or chance < LIKELY:
        return []
    low, high = (
        spares_of_pool(Pool(nodes, one), TARGET, length) for one in (rate.rate, rate.ends()[1])
    )
    if not low or not high:
        return []
    wanted = f"{low:,}" if low == high else f"{low:,} (at most {high:,})"
    many = "node" if low == high == 1 else "nodes"
    return [
        Advice(
            "spares",
            f"Add {wanted} spare {many} to a run of {duration(length)} on {nodes:,} nodes: with "
            f"{100 * TARGET:g} % probability that is enough.",
            None,
            f"Such a run meets a failure with {percent(chance)} probability; from "
            f"{counted(rate.failures, 'failures')}.",
            "the job can continue on other nodes; the length is the one that one run in ten "
            "exceeds.",
            labels={"nodes": size.label},
        )
    ]


def limits(size: SizeClass, rate: MeasuredRate | None, asked: Asked) -> list[Advice]:
    """Return the time limit that would have saved most of what node failures took from runs of this
    size, where it would have saved anything."""
    failed, elapsed = size.failed, size.elapsed
    count = int(failed.sum())
    if count < FEWEST_FAILURES:
        return []
    price = float(asked.checkpoint_cost + asked.restart)
    longest = int(elapsed.max())
    nodes, length = size.nodes[failed].astype(np.float64), elapsed[failed]
    best, kept, paid = 0.0, 0.0, 0.0
    least = 0.0
    # From the longest limit on, for shorter ones never cost less: most need not be looked at.
    for limit in sorted((one for one in LADDER if one < longest), reverse=True):
        gain = float(nodes @ (length // limit * limit))
        if gain - least < kept - paid or gain <= least:
            continue
        beyond = np.flatnonzero(elapsed > limit)  # runs up to the limit are as they were
        least = cost = float(size.nodes[beyond] @ ((elapsed[beyond] - 1) // limit)) * price
        if gain - cost > 0 and gain - cost >= kept - paid:
            best, kept, paid = limit, gain, cost
    saved = (kept - paid) / HOUR
    if saved < LEAST_SAVED:
        return []
    every = float(asked.checkpoint_interval)
    again = np.minimum(length, every) - np.minimum(length % best, every)
    sure = (float(nodes @ again) - paid) / HOUR
    high = (kept * float(poisson_interval(count, asked.level)[1]) / count - paid) / HOUR
    return [
        Advice(
            "limit",
            f"Limit {size.words} to {duration(best)}, and let longer ones continue in a next run.",
            saved,
            f"{counted(count, 'runs')} of {len(elapsed):,} ended by a node "
            f"failure{_chances(size, rate, best, longest)}.",
            "the limit is the best in hindsight, and a node failure loses everything since the "
            f"start of the run; the low end is with checkpoints every {duration(every)}. Each "
            f"additional end costs a checkpoint and a restart, {duration(price)}.",
            min(sure, saved),
            max(high, saved),
            {"nodes": size.label},
        )
    ]


def _chances(size: SizeClass, rate: MeasuredRate | None, limit: float, longest: float) -> str:
    """Return in words how likely runs to the limit fail, now and then."""
    if rate is None or rate.failures < FEWEST_FAILURES:
        return ""
    law, nodes = from_mttf(rate.mttf), max(1, round(size.mean))
    now, then = (queue_failure(Queue("all", nodes, one), law) for one in (longest, limit))
    return (
        f"; a run of {duration(longest)} on {nodes:,} nodes meets a failure with {percent(now)} "
        f"probability, one of {duration(limit)} with {percent(then)}"
    )


def far_off(accounting: Accounting, asked: Asked, ends: Ends | None = None) -> list[Advice]:
    """Return requests that did not suffice time and again: what one user's jobs of one name took
    when they ran out of memory or time, the first time left out. `ends` as in `size_classes`."""
    elapsed = (Ends.of(accounting) if ends is None else ends).elapsed
    base = accounting.base()
    found: list[Advice] = []
    for state, what, remedy in (
        ("OUT_OF_MEMORY", "ran out of memory", "ask for more memory"),
        ("TIMEOUT", "reached their time limit", "ask for more time, or save and continue"),
    ):
        some = base.among([state]) & accounting.user.told & accounting.name.told
        index = np.flatnonzero(some & (accounting.nodes > 0) & (elapsed > 0))
        if len(index):
            time = elapsed[index]
            found += _repeated(accounting, index, time, state.lower(), what, remedy, asked)
    return found


def _repeated(
    accounting: Accounting,
    index: Long,
    elapsed: Long,
    key: str,
    what: str,
    remedy: str,
    asked: Asked,
) -> list[Advice]:
    user = accounting.user.code[index].astype(np.int64)
    name = accounting.name.code[index].astype(np.int64)
    pair = user * (len(accounting.name.words) + 1) + name
    order = np.lexsort((accounting.end[index], pair))
    index, pair, elapsed = index[order], pair[order], elapsed[order]
    first = np.ones(len(pair), dtype=np.bool_)
    first[1:] = pair[1:] != pair[:-1]
    heads = np.flatnonzero(first)
    nodes = accounting.nodes[index].astype(np.int64)
    work = np.where(first, 0, nodes * elapsed)
    kept = np.minimum(elapsed, asked.checkpoint_interval)
    least = np.where(first, 0, nodes * kept)
    count = np.diff(np.append(heads, len(pair)))
    lost, sure = (np.add.reduceat(one, heads) / HOUR for one in (work, least))
    often = np.flatnonzero((count > REPEATS - 1) & (lost >= LEAST_SAVED))
    ranked = often[np.lexsort((often, -lost[often]))][:MOST_OF_A_KIND]
    found = []
    for k in ranked.tolist():
        row = int(index[heads[k]])
        who, job = accounting.user[row], accounting.name[row]
        low = 0.0 if key == "timeout" else float(sure[k])
        kept_all = "if they had saved all of their work"
        with_some = f"with checkpoints every {duration(asked.checkpoint_interval)}"
        why = "runs after the first lost all of their work; the low end is "
        why += (kept_all if key == "timeout" else with_some) + "."
        found.append(
            Advice(
                key,
                f"Have {clean(who, 40)} {remedy} for {clean(job, 40)!r}.",
                float(lost[k]),
                f"{int(count[k]):,} of these jobs {what}.",
                why,
                low,
                float(lost[k]),
                {"user": who, "name": job},
            )
        )
    return found
