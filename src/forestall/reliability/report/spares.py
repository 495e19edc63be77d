"""How many spares: a question as it is typed, its answer in a sentence and JSON, and the report."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import format_duration, parse_duration
from forestall.core.show.blocks import Listing, Table
from forestall.core.show.quantities import duration
from forestall.core.show.report import Report, Section
from forestall.core.show.result import ShownResult
from forestall.core.show.words import counted, probability
from forestall.reliability.queues.cluster import age_of
from forestall.reliability.report.interval import rate_json
from forestall.reliability.report.questions import DAY, MEASURED, SparesQuestion
from forestall.reliability.systems import ring
from forestall.reliability.systems.pools import Pool
from forestall.reliability.systems.spares import (
    SparesAnswer,
    answer_pool,
    answer_spares,
    never_short,
)
from forestall.reliability.systems.systems import Age, assumption, from_mttf

if TYPE_CHECKING:
    from forestall.reliability.report.failure_rate import MeasuredRate

MOST_LOST: Final = 20_000
"""Nodes whose loss is expected, at most: the time goes with the square of it."""
CHAIN_DOWN: Final = 150
"""The whole mission is looked at where no more nodes than this are down on average."""


@dataclass(frozen=True, repr=False)
class SparesAdvice(ShownResult):
    """An answer: a sentence, the reliability of each number of spares, and remarks.

    `mttf` is a node's mean life, s; `more` goes into the JSON as it is.
    """

    sentence: str
    found: SparesAnswer
    remarks: tuple[str, ...]
    mttf: float
    more: dict[str, Any]

    def _as_report(self) -> Report:
        return report_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain values."""
        return {
            "spares": self.found.spares,
            "target": self.found.target,
            "reliability": [
                {"spares": spares, "reliability": reliability}
                for spares, reliability in self.found.reliability
            ],
            "assumes": self.found.assumes,
            "mttf_s": self.mttf,
            **self.more,
        }


def answer(asked: SparesQuestion) -> SparesAdvice:
    """Return how many spares it takes, with a measured rate also at its interval's ends. Raises
    ParameterError."""
    done = _answer(asked)
    rate = asked.measured
    if rate is None:
        return done

    low, high = (_answer_at(asked, end) for end in reversed(rate.mttf_ends()))
    remarks = [f"Measured: {rate.text}", f"At the ends of that interval: {_range(low, high)}."]
    if asked.repair == MEASURED:
        remarks.append(f"Repair: {_repair_words(rate)}, as measured.")
    elif asked.pool and asked.repair is None and rate.repair is not None:
        remarks.append(
            f"Nothing is repaired here. In the records outages lasted {_repair_words(rate)}: "
            f"{{repair}} {MEASURED} uses that."
        )
    measured = rate_json(rate) | {"spares_low": low, "spares_high": high}
    return replace(
        done, remarks=(*remarks, *done.remarks[1:]), more={**done.more, "measured": measured}
    )


def _range(low: int | None, high: int | None) -> str:
    """Return the spares at both ends in words; None: no number suffices."""
    if low is None:
        return "no number of spares suffices at either"
    if high is None:
        return f"{counted(low, 'spare')} at one, and at the other no number suffices"
    return f"also {low:,}" if low == high else f"{low:,} to {counted(high, 'spare')}"


def _repair_words(rate: MeasuredRate) -> str:
    assert rate.repair is not None
    return f"{duration(rate.repair)} on average"


def _answer_at(asked: SparesQuestion, mttf: float) -> int | None:
    """Return the spares at another MTTF, s: 0 where it has no end."""
    if not math.isfinite(mttf):
        return 0
    assert asked.measured is not None
    other = replace(asked.measured, failures=1, node_days=mttf / DAY)
    return _answer(replace(asked, measured=other)).found.spares


def _answer(asked: SparesQuestion) -> SparesAdvice:
    seconds, mean = asked.seconds, asked.mean()
    if asked.nodes < 1:
        raise ParameterError("nodes", asked.nodes, "at least 1")
    if not 0 < asked.target < 1:
        raise ParameterError("target", asked.target, "a probability between 0 and 1, such as 0.99")
    if not 0.05 <= asked.shape <= 50:
        raise ParameterError("shape", asked.shape, "a number from 0.05 to 50")
    if asked.copies < 0:
        raise ParameterError("copies", asked.copies, "at least 0")
    if asked.pool or asked.repair is not None:
        return _of_pool(asked, seconds, mean)
    lost = asked.nodes * min(1.0, seconds / mean)
    if lost > MOST_LOST:
        allowed = f"fewer: about {lost:,.0f} would be lost, at most {MOST_LOST:,} can be computed"
        raise ParameterError("nodes", asked.nodes, allowed)
    age = _age(asked, "new")
    law = from_mttf(mean, asked.shape)
    found = answer_spares(asked.nodes, law, seconds, asked.target, age=age, copies=asked.copies)
    reached = (
        "" if found.spares is None else f" ({100 * dict(found.reliability)[found.spares]:.4g} %)"
    )
    chance = f"{100 * asked.target:g} %"
    if found.spares is None:
        sentence = f"No number of spares among {asked.nodes:,} nodes gives {chance}"
        sentence += f" over {format_duration(seconds)}."
    else:
        sentence = (
            f"{counted(found.spares, 'spare')} among {asked.nodes:,} nodes: no more are lost in "
            f"{format_duration(seconds)} with at least {chance}{reached}."
        )
    remarks = [_failures(asked, mean), f"Nodes: {assumption(age, format_duration)}."]
    remarks.append(
        "Spares are counted among the nodes (k out of N), fail as they do, and nothing is repaired."
    )
    if asked.copies:
        remarks.append(_ring(asked))
    return SparesAdvice(sentence, found, tuple(remarks), mean, {})


def _of_pool(asked: SparesQuestion, seconds: float, mean: float) -> SparesAdvice:
    if asked.copies:
        raise ParameterError("copies", asked.copies, "0 with a pool")
    age = _age(asked, "steady")
    repair = None
    if asked.repair is not None:
        repair = _repair(asked)
        if repair == 0:
            raise ParameterError("repair", asked.repair, "a duration above 0")
        if age != "steady":
            raise ParameterError("ages", asked.ages, "steady with {repair}")
    pool = Pool(asked.nodes, 1 / mean, repair)
    law = from_mttf(mean, asked.shape) if asked.shape != 1 else None
    found = answer_pool(pool, seconds, asked.target, law=law, age=age)
    chance = f"{100 * asked.target:g} %"
    spares = (
        "No number of spares suffices" if found.spares is None else counted(found.spares, "spare")
    )
    when = (
        f"in {format_duration(seconds)}, without repair"
        if repair is None
        else (f"at any given moment, with {format_duration(repair)} repairs")
    )
    sentence = (
        f"{spares} beside {asked.nodes:,} working nodes: no job waits for a node {when}, with "
        f"{chance} probability."
    )
    remarks = [_failures(asked, mean)]
    more: dict[str, Any] = {}
    if repair is None:
        if law is not None:
            remarks.append(f"Nodes: {assumption(age, format_duration)}.")
    elif pool.down(seconds) <= CHAIN_DOWN:
        whole = never_short(pool, seconds, asked.target)
        more["spares_whole_mission"] = whole
        if whole is not None:
            remarks.append(
                f"Never short during {format_duration(seconds)}, with {chance} probability: "
                f"{whole:,} (birth-death chain, pool full at the start)."
            )
    remarks.append(f"{found.assumes[0].upper()}{found.assumes[1:]}.")
    return SparesAdvice(sentence, found, tuple(remarks), mean, more)


def _repair(asked: SparesQuestion) -> float:
    """Return how long a failed node is away, s."""
    assert asked.repair is not None
    if asked.repair != MEASURED:
        return float(parse_duration(asked.repair, "repair"))
    if asked.measured is None:
        allowed = "a duration, where there are no records: {slurm}, FILES"
        raise ParameterError("repair", asked.repair, allowed)
    if asked.measured.repair is None:
        allowed = "a duration: the records do not tell when failed nodes were back"
        raise ParameterError("repair", asked.repair, allowed)
    return asked.measured.repair


def _age(asked: SparesQuestion, otherwise: str) -> Age:
    try:
        return age_of(asked.ages or otherwise)
    except ParameterError as error:
        raise ParameterError("ages", asked.ages, error.allowed) from None


def _failures(asked: SparesQuestion, mean: float) -> str:
    per = 1000 * DAY / mean
    text = f"Failures: MTTF of a node {format_duration(mean)}, {per:.3g} per 1000 node-days"
    if asked.mtbf is None and asked.rate is None:
        text += " (the default, of two large training clusters: Kokolis et al. 2024)"
    return f"{text}; shape {asked.shape:g}."


def _ring(asked: SparesQuestion) -> str:
    copies = min(asked.copies, asked.nodes)
    pairs = ring.recoverable_sets(asked.nodes, copies, min(copies, asked.nodes))
    share = pairs / math.comb(asked.nodes, min(copies, asked.nodes))
    return (
        f"Ring: {asked.copies} copies of each checkpoint; any {copies - 1} lost nodes can be "
        f"recovered, and {100 * share:.6g} % of the sets of {copies}. Copies are not renewed "
        "after a loss, so more spares help only up to what the ring recovers."
    )


def report_of(answer: SparesAdvice) -> Report:
    """Return the answer as a report."""
    found, remarks = answer.found, answer.remarks
    rows = [
        (f"{count:,}", probability(reliability), "<" if count == found.spares else "")
        for count, reliability in found.rows()
    ]
    records = [{"spares": count, "reliability": reliability} for count, reliability in found.rows()]
    table = Table.of("reliability", ("Spares", "Reliability", ""), rows, records, right=(0, 1))
    sections = (
        Section("reliability", "Reliability by number of spares", body=(table,)),
        Section("assumptions", "What this rests on", body=(Listing(remarks[1:]),)),
    )
    return Report("How many spares", remarks[0], sections, verdict=(answer.sentence,), closing=())
