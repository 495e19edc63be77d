"""The report on how many spares it takes: a sentence, the reliability of each number, remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forestall.show.blocks import Listing, Table
from forestall.show.report import Report, Section
from forestall.show.words import probability

if TYPE_CHECKING:
    from forestall.app.reliability.spares import SparesAdvice


def report_of(answer: SparesAdvice) -> Report:
    """Return the answer as a report."""
    found = answer.found
    rows = [
        (f"{count:,}", probability(reliability), "<" if count == found.spares else "")
        for count, reliability in found.rows()
    ]
    records = [{"spares": count, "reliability": reliability} for count, reliability in found.rows()]
    table = Table.of("reliability", ("Spares", "Reliability", ""), rows, records, right=(0, 1))
    sections = (
        Section("reliability", "Reliability by number of spares", body=(table,)),
        Section("assumptions", "What this rests on", body=(Listing(answer.remarks[1:]),)),
    )
    return Report(
        "How many spares", answer.remarks[0], sections, verdict=(answer.sentence,), closing=()
    )
