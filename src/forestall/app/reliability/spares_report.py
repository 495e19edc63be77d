"""The report on how many spares it takes: a sentence, the reliability of each number, remarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from forestall.model.spelling import named
from forestall.show.blocks import Listing, Table
from forestall.show.report import Report, Section
from forestall.show.words import probability

if TYPE_CHECKING:
    from forestall.app.reliability.spares import SparesAdvice


def report_of(answer: SparesAdvice, spell: Callable[[str], str] = str) -> Report:
    """Return the answer as a report; `spell` writes the names of parameters in remarks."""
    found = answer.found
    remarks = tuple(named(one, spell) for one in answer.remarks)
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
