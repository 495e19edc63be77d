"""The report on how often to checkpoint: the best interval, and how far others are from it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from forestall.app.reliability.interval import PROMISES
from forestall.show import closing
from forestall.show.blocks import Block, Listing, Prose, Table
from forestall.show.facts import Fact
from forestall.show.report import Report, Section

if TYPE_CHECKING:
    from forestall.app.reliability.interval import IntervalAnswer
    from forestall.reliability.checkpoints.completion import CompletionTime

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
    if answer.hopeless:
        return "No interval helps: failures come before practically any checkpoint is finished."
    best = answer.found.choices[-1]
    every = f"Checkpoint every {clock(best.interval)} of work"
    if answer.unsaved:
        every = "Take no checkpoint, the job is short beside the time between failures"
    return f"{every}: efficiency {percent(best.efficiency)}, overhead {percent(best.overhead)}."


def _intervals(answer: IntervalAnswer) -> Section:
    """Return the best interval beside the closed forms."""
    choices = answer.found.choices
    rows = [
        (
            TITLES[one.name],
            clock(one.interval),
            percent(one.overhead),
            percent(one.loss, 3),
            f"{one.ratio:.3f}",
        )
        for one in choices
    ]
    records = [
        {"name": one.name, "interval_s": one.interval, "overhead": one.overhead, "loss": one.loss,
         "ratio": one.ratio}
        for one in choices
    ]  # fmt: skip
    heads = ("", "interval", "overhead", "longer than best", "of best interval")
    best = choices[-1]
    facts = (
        Fact("interval", "Best interval", best.interval, "seconds"),
        Fact("efficiency", "Efficiency", best.efficiency, "ratio"),
        Fact("mttf", "MTBF of the system", answer.found.mttf, "seconds"),
    )
    table = Table.of("intervals", heads, rows, records)
    return Section("intervals", "Intervals", series=facts, body=(table,))


def _assumptions(answer: IntervalAnswer, assumed: str) -> Section:
    """Return what the interval rests on."""
    lines = []
    if answer.measured is not None:
        lines += _measured(answer)
    if answer.recall:
        lines.append(
            f"A predictor foresees {100 * answer.recall:g} % of the failures, and work is saved in "
            "time. What acting on its alarms costs, false ones too, comes on top."
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
            "Measured is the MTTF alone, as time in service over failures; the shape is as told."
        )
    low, high = answer.ends
    if answer.hopeless or low is None:
        return lines
    work = answer.found.plan.work if answer.found.plan is not None else math.inf
    said = clock(low) if low < work else "no checkpoint"
    until = "upwards" if high is None else f"to {clock(high) if high < work else 'no checkpoint'}"
    same = low >= work and high is not None and high >= work
    ends = said if same else f"{said} {until}"
    return [*lines, f"The best interval at the ends of that: {ends}."]


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
        return (Prose("With these failures the job practically never ends."),)
    told = f"The job: {clock(job.unhindered)} without failures, {clock(job.mean())} in the mean."
    promises = list(zip(PROMISES, answer.deadlines, strict=True))
    rows = [(f"{100 * p:g} % done by", clock(deadline)) for p, deadline in promises]
    records = [{"probability": p, "deadline_s": deadline} for p, deadline in promises]
    table = Table.of("promises", ("Probability", "Time"), rows, records)
    if not answer.approximate:
        return Prose(told), table
    how = job.method.removeprefix("approximation: ")
    doubt = f"The promises are an approximation ({how}): the mean is good, the spread less so."
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
