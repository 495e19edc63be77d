"""How often to checkpoint: options read as text, the answer as plain values and as a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import parse_duration
from forestall.core.show import closing
from forestall.core.show.blocks import Block, Column, Listing, Prose, Table
from forestall.core.show.facts import Fact, plain, taken
from forestall.core.show.report import Report, Section
from forestall.core.show.result import ShownResult
from forestall.reliability.checkpoints.checkpoints import (
    CheckpointInterval,
    checkpoint_interval,
    nodes_for_interval,
)
from forestall.reliability.checkpoints.completion import (
    MOST_SEGMENTS,
    CompletionTime,
    completion_of,
)
from forestall.reliability.report.wanted import WantedInterval, most_nodes
from forestall.reliability.systems.ageing import carried

if TYPE_CHECKING:
    from collections.abc import Callable

    from forestall.reliability.report.failure_rate import MeasuredRate
    from forestall.reliability.report.questions import IntervalQuestion

USUAL = "5m"
"""What a checkpoint costs where nobody says."""
HOPELESS = 1e-6
"""At no higher efficiency than this, checkpoints are as good as never finished."""
WHY: Final = {
    "nodes": "the number of nodes is the answer",
    "work": "the interval is that of a long job",
}
PROMISES = (0.5, 0.9, 0.99)
POINTS = 2048
"""Of the grid of completion times: enough for the digits that are printed."""


@dataclass(frozen=True, repr=False)
class IntervalAnswer(ShownResult):
    """The best interval, what it is compared with and, for a job of given length, its promises.

    Attributes
    ----------
    found : intervals, in seconds
    shape : of a node's life
    job : the law of its time; None without a work length, or where it has too many checkpoints
    deadlines : seconds by which the job has ended with each probability of `PROMISES`; inf where
        it never does
    recall : share of the failures that a predictor foresees; they cost no lost work
    measured : the failure rate, where it comes from records
    wanted : an interval that was wanted, and the nodes for it; the rest is for that many then
    ends : the best interval at the ends of that rate's interval, s; None where it has no end
    """

    found: CheckpointInterval
    shape: float
    job: CompletionTime | None
    deadlines: tuple[float, ...]
    recall: float = 0.0
    measured: MeasuredRate | None = None
    ends: tuple[float | None, float | None] = (None, None)
    wanted: WantedInterval | None = None

    @property
    def approximate(self) -> bool:
        """Whether the promises are an approximation of unknown error."""
        return self.job is not None and math.isnan(self.job.error)

    @property
    def hopeless(self) -> bool:
        """Whether no interval helps: practically no checkpoint is ever finished."""
        return self.found.efficiency < HOPELESS

    @property
    def unsaved(self) -> bool:
        """Whether the job does best without a checkpoint."""
        plan = self.found.plan
        return plan is not None and plan.segments == 1

    def _as_report(self) -> Report:
        return report_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None for what does not exist or has no bound."""
        found = self.found
        told: dict[str, Any] = {
            "young_s": found.young,
            "daly_first_s": plain(found.daly_first),
            "daly_s": found.daly,
            "optimal_s": found.optimal,
            "mttf_s": found.mttf,
            "nodes": found.system.nodes,
            "shape": self.shape,
            "assumes": found.assumes,
        }
        for what in ("efficiency", "overhead", "loss"):
            told[what] = {one.name: plain(getattr(one, what)) for one in found.choices}
        if self.job is not None:
            told["completion"] = {
                "mean_s": plain(self.job.mean()),
                "unhindered_s": self.job.unhindered,
                "promises": [
                    {"probability": p, "deadline_s": plain(t)}
                    for p, t in zip(PROMISES, self.deadlines, strict=True)
                ],
                "error": plain(self.job.error),
                "method": self.job.method,
            }
        if self.wanted is not None:
            told["wanted"] = {
                "interval_s": self.wanted.interval,
                "nodes": self.wanted.nodes,
                "nodes_first_order": self.wanted.formula,
            }
        if self.recall:
            told["recall"] = self.recall
        if self.measured is not None:
            told["measured"] = rate_json(self.measured) | {
                "optimal_low_s": self.ends[0],
                "optimal_high_s": self.ends[1],
            }
        return told


def rate_json(rate: MeasuredRate) -> dict[str, Any]:
    """Return a measured failure rate as plain values."""
    low, high = rate.mttf_ends()
    return {
        **taken(rate, "failures", "events", "node_days", of="what"),
        "node_mttf_s": plain(rate.mttf),
        "node_mttf_low_s": plain(low),
        "node_mttf_high_s": plain(high),
        "level": rate.level,
    }


def answer(asked: IntervalQuestion, rate: MeasuredRate | None = None) -> IntervalAnswer:
    """Return the answer to ``forestall interval``; ParameterError names the option.

    A measured `rate` stands instead of the MTTF. With a recall r only 1 - r of the failures
    are unforeseen, and the interval grows to sqrt(2 M C / (1 - r)) to first order (Aupy, Robert,
    Vivien and Zaidouni, arXiv 1207.6936).
    """
    shape, recall = asked.shape, asked.recall
    _check(asked, rate)
    cost = asked.checkpoint_overhead or USUAL
    given = {
        "mtbf": asked.mtbf, "checkpoint_overhead": cost, "work": asked.work,
        "shortest": asked.shortest,
    }  # fmt: skip
    told = {name: parse_duration(text, name) for name, text in given.items() if text is not None}
    for name, value in told.items():
        if value == 0:
            raise ParameterError(name, given[name], "a duration of at least 1s")
    life = rate.mttf if rate is not None else float(told["mtbf"])
    restart = parse_duration(asked.restart_overhead, "restart_overhead")
    downtime = parse_duration(asked.downtime, "downtime")
    old = asked.ages if asked.ages in ("new", "steady") else _age(asked.ages)

    def at(mean: float, nodes: int = 0) -> CheckpointInterval:
        return checkpoint_interval(
            mean / (1 - recall),
            told["checkpoint_overhead"],
            shape=shape,
            nodes=nodes or count,
            ages=old,
            restart=restart,
            downtime=downtime,
            work=told.get("work"),
        )

    count, wanted = asked.nodes, None
    try:
        if asked.shortest is not None:
            wanted = _wanted(lambda nodes: at(life, nodes), told, life / (1 - recall), shape)
            count = max(wanted.nodes, 1)
        found = at(life)
    except ParameterError as error:
        if error.name == "cost":
            raise ParameterError("checkpoint_overhead", cost, error.allowed) from None
        raise ParameterError(error.name, error.value, error.allowed) from None
    ends: tuple[float | None, float | None] = (None, None)
    if rate is not None:
        low, high = (_optimal(at, end) for end in rate.mttf_ends())
        ends = (low, high)
    more = (recall, rate, ends, wanted)
    memory = found.system.rate is None and not carried(found.system)
    if found.plan is None or (memory and found.plan.segments > MOST_SEGMENTS):
        return IntervalAnswer(found, shape, None, (), *more)
    job = completion_of(found.plan, found.system, points=POINTS)
    deadlines = tuple(np.asarray(job.quantile(PROMISES)).tolist())
    return IntervalAnswer(found, shape, job, deadlines, *more)


def _wanted(
    at: Callable[[int], CheckpointInterval], told: dict[str, int], life: float, shape: float
) -> WantedInterval:
    """Return the nodes for the wanted interval; `life` is a node's MTTF, s."""
    interval = told["shortest"]
    formula = nodes_for_interval(interval, told["checkpoint_overhead"], life, shape)
    return WantedInterval(interval, most_nodes(lambda nodes: at(nodes).optimal, interval), formula)


def _check(asked: IntervalQuestion, rate: MeasuredRate | None) -> None:
    """Raise ParameterError for what does not fit together."""
    mtbf, recall, shape = asked.mtbf, asked.recall, asked.shape
    if mtbf is None and rate is None:
        raise ParameterError("mtbf", None, "a duration, or records to measure it: {slurm}, FILES")
    if mtbf is not None and rate is not None:
        raise ParameterError("mtbf", mtbf, "either {mtbf}, or {slurm} and FILES")
    if not 0 <= recall < 1:
        raise ParameterError("recall", recall, "a share from 0 to below 1, such as 0.3")
    if recall and shape != 1:
        raise ParameterError("recall", recall, "0 with a {shape} other than 1")
    if asked.shortest is not None:
        for name, value in (("nodes", asked.nodes != 1), ("work", asked.work is not None)):
            if value:
                raise ParameterError(
                    name, getattr(asked, name), f"nothing with {{shortest}}: {WHY[name]}"
                )
    if asked.nodes < 1:
        raise ParameterError("nodes", asked.nodes, "a whole number of at least 1")
    if not (math.isfinite(shape) and 0.05 <= shape <= 100):
        raise ParameterError("shape", shape, "a number from 0.05 to 100")


def _optimal(at: Callable[[float], CheckpointInterval], mttf: float) -> float | None:
    """Return the best interval `at` this MTTF, s; None where it has no end, or no checkpoint would
    be finished."""
    if not math.isfinite(mttf):
        return None
    try:
        return at(mttf).optimal
    except ParameterError:
        return None


def _age(text: str) -> float:
    try:
        return float(parse_duration(text, "ages"))
    except ParameterError:
        allowed = "new, steady, or how long the nodes have been in use, such as 90d"
        raise ParameterError("ages", text, allowed) from None


TITLES: Final = {
    "young": "Young",
    "daly_first": "Daly, first order",
    "daly": "Daly",
    "optimal": "optimum",
}
ENDLESS: Final = 1e12
"""Seconds from which on a time is told as never."""


def report_of(answer: IntervalAnswer, assumed: str = "") -> Report:
    """Return the answer as a report; `assumed` says what is taken for granted where nobody says."""
    mttf = answer.found.mttf
    said = clock(mttf) if mttf >= 1 else f"{mttf:.2g} s"
    what = "unforeseen failures" if answer.recall else "failures"
    sections = (
        *(() if answer.hopeless else (_intervals(answer),)),
        _assumptions(answer, assumed),
        *_job(answer),
    )
    return Report(
        "How often to checkpoint",
        f"Mean time between {what} of the system: {said}.",
        sections,
        verdict=(verdict(answer),),
        closing=(closing.parameters({"nodes": answer.found.system.nodes, "shape": answer.shape}),),
    )


def verdict(answer: IntervalAnswer) -> str:
    """Return in a sentence how often to checkpoint, and what that costs."""
    if answer.wanted is not None:
        return _nodes_for(answer, answer.wanted)
    if answer.hopeless:
        return "No interval helps: failures come before practically any checkpoint is finished."
    best = answer.found.choices[-1]
    every = f"Checkpoint every {clock(best.interval)} of work"
    if answer.unsaved:
        every = "Take no checkpoint, as the job is short compared with the time between failures"
    return f"{every}: efficiency {percent(best.efficiency)}, overhead {percent(best.overhead)}."


def _nodes_for(answer: IntervalAnswer, wanted: WantedInterval) -> str:
    """Return in a sentence how many nodes the wanted interval allows."""
    least = clock(wanted.interval)
    if not wanted.nodes:
        return f"Even a job on one node has a best interval shorter than {least}."
    best = answer.found.choices[-1]
    many = "node" if wanted.nodes == 1 else "nodes"
    return (
        f"A job of at most {wanted.nodes:,} {many} has a best interval of {least} or more; at that "
        f"size the efficiency is {percent(best.efficiency)}."
    )


def _intervals(answer: IntervalAnswer) -> Section:
    """Return the best interval beside the closed forms."""
    choices = answer.found.choices
    named = {"interval_s": "interval", "overhead": "overhead", "loss": "loss", "ratio": "ratio"}
    records = [taken(one, "name", **named) for one in choices]
    best = choices[-1]
    facts = (
        Fact("interval", "Best interval", best.interval, "seconds"),
        Fact("efficiency", "Efficiency", best.efficiency, "ratio"),
        Fact("mttf", "MTBF of the system", answer.found.mttf, "seconds"),
    )
    table = Table.by("intervals", COLUMNS, records)
    return Section("intervals", "Intervals", series=facts, body=(table,))


def _assumptions(answer: IntervalAnswer, assumed: str) -> Section:
    """Return what the interval rests on."""
    lines = []
    if answer.measured is not None:
        lines += _measured(answer)
    if answer.recall:
        lines.append(
            f"A predictor foresees {100 * answer.recall:g} % of the failures in time to save "
            "the work. The cost of acting on its alarms, including false ones, is not included."
        )
    if answer.wanted is not None:
        lines.append(
            f"The closed form allows {answer.wanted.formula:,.1f} nodes: it is of first order, "
            "and assumes that all nodes are new at each failure."
        )
    lines.append(f"Assumes: {answer.found.assumes}.")
    if assumed:
        lines.append(assumed)
    return Section("assumptions", "What this rests on", body=(Listing(tuple(lines)),))


def _measured(answer: IntervalAnswer) -> list[str]:
    """Return the failure rate that records tell, and what its interval means for the answer."""
    assert answer.measured is not None
    lines = [f"Measured: {answer.measured.text}"]
    if answer.shape != 1:
        lines.append(
            "Only the MTTF is measured, as time in service over failures; the shape is the one "
            "given."
        )
    low, high = answer.ends
    if answer.hopeless or low is None:
        return lines
    work = answer.found.plan.work if answer.found.plan is not None else math.inf
    said = clock(low) if low < work else "no checkpoint"
    until = "upwards" if high is None else f"to {clock(high) if high < work else 'no checkpoint'}"
    same = low >= work and high is not None and high >= work
    ends = said if same else f"{said} {until}"
    return [*lines, f"The best interval at the ends of that interval: {ends}."]


def _job(answer: IntervalAnswer) -> tuple[Section, ...]:
    """Return when a job of given length is done; nothing where none is given."""
    if answer.job is not None:
        return (Section("job", "The job", body=_completion(answer, answer.job)),)
    if answer.found.plan is None or answer.hopeless:
        return ()
    many = "The job has too many checkpoints for a distribution; its mean follows the efficiency."
    return (Section("job", "The job", body=(Prose(many),)),)


def _completion(answer: IntervalAnswer, job: CompletionTime) -> tuple[Block, ...]:
    """Return the job's mean, and by when it is done with some probabilities."""
    if not job.mean() < ENDLESS:
        return (Prose("With these failures the job practically never finishes."),)
    told = f"The job: {clock(job.unhindered)} without failures, {clock(job.mean())} on average."
    promises = list(zip(PROMISES, answer.deadlines, strict=True))
    rows = [(f"{100 * p:g} % done by", clock(deadline)) for p, deadline in promises]
    records = [{"probability": p, "deadline_s": deadline} for p, deadline in promises]
    table = Table.of("promises", ("Probability", "Time"), rows, records)
    if not answer.approximate:
        return Prose(told), table
    how = job.method.removeprefix("approximation: ")
    doubt = (
        f"The completion times are an approximation ({how}): the mean is accurate, the spread "
        "less so."
    )
    return Prose(told), table, Prose(doubt)


def clock(seconds: float) -> str:
    """Return a time as Slurm writes it, ``1-12:00:00``."""
    if not seconds < ENDLESS:
        return "never"
    whole = round(seconds)
    days, rest = divmod(whole, 86_400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days:,}-{text}" if days else text


def percent(share: float, digits: int = 2) -> str:
    """Return a share as a percentage; large ones as a factor."""
    if not math.isfinite(share):
        return "no end"
    return f"{100 * share:.{digits}f} %" if share < 100 else f"x {share:.3g}"


COLUMNS: Final[tuple[Column, ...]] = (
    ("", "name", TITLES.__getitem__),
    ("interval", "interval_s", clock),
    ("overhead", "overhead", percent),
    ("longer than best", "loss", lambda share: percent(share, 3)),
    ("of best interval", "ratio", "{:.3f}".format),
)
