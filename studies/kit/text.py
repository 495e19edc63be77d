"""Results as blocks of a report; JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import forestall as fs
from studies.kit.claims import Claim, closing_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Blocks = fs.reports.Block | Sequence[fs.reports.Block]
"""What is in a section: one block, or several."""


def table(
    head: Sequence[str], rows: Iterable[Sequence[str | fs.reports.Cell]], right: Sequence[int] = ()
) -> fs.reports.Table:
    """Return a table, all of whose rows are shown; columns in `right` are aligned to the right."""
    return fs.reports.Table.of("table", head, list(rows), right=right, most=0)


def claims_section(
    head: Sequence[str], claims: Iterable[Claim], fields: Sequence[str], why: Sequence[str] = ()
) -> tuple[fs.reports.Block, ...]:
    """Return claims as a table of these fields and, in bold, their verdicts; below it `why`."""
    rows = [(*(getattr(c, field) for field in fields), verdict(c)) for c in claims]
    return table(head, rows), *reasons(why)


CLOSING: Final = "Claim by claim"
"""Title of the section that a study ends with."""


def closing_table(claims: Iterable[Claim]) -> fs.reports.Table:
    """Return the table that a study ends with: one row a claim; see `closing_rows`."""
    head = ("What the paper claims, and where", "What we find", "Verdict", "On what it rests")
    return table(head, [
        (said, found, fs.reports.Cell(word, best=True), rests)
        for said, found, word, rests in closing_rows(claims)
    ])  # fmt: skip


def verdict(claim: Claim) -> fs.reports.Cell:
    """Return the verdict on a claim for a table, in bold."""
    return fs.reports.Cell(claim.verdict, best=True)


def reasons(why: Sequence[str]) -> tuple[fs.reports.Block, ...]:
    """Return why claims came out as they did, a line each."""
    return (fs.reports.Prose("Why:"), fs.reports.Listing(tuple(why))) if why else ()


def whys(claims: Iterable[Claim]) -> tuple[str, ...]:
    """Return why claims came out as they did; once for all tests of one claim."""
    told = {c.claim: c.why for c in claims if c.why}
    return tuple(f"{claim}: {why}" for claim, why in told.items())


def listing(text: str) -> fs.reports.Listing:
    """Return a text whose items begin with a dash at the begin of a line as a list."""
    items = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    return fs.reports.Listing(tuple(" ".join(one.split()) for one in items))


def share(value: float, digits: int = 1) -> str:
    """Return a share as text, in per cent."""
    return f"{100 * value:.{digits}f} %"


def report(
    title: str, lead: str, sections: Mapping[str, Blocks], verdict: Sequence[str] = ()
) -> fs.reports.Report:
    """Return sections by their titles as a report."""
    made = []
    for k, (name, body) in enumerate(sections.items(), 1):
        blocks = tuple(body) if isinstance(body, Sequence) else (body,)
        keyed = (
            replace(one, key=f"table_{k}_{n}") if isinstance(one, fs.reports.Table) else one
            for n, one in enumerate(blocks, 1)
        )
        made.append(fs.reports.Section(f"section_{k}", name, body=tuple(keyed)))
    return fs.reports.Report(title, lead, tuple(made), tuple(verdict), closing=())


def images(
    figures: Mapping[str, Figure], captions: Mapping[str, str]
) -> tuple[fs.reports.Figure, ...]:
    """Return figures by the names of their files, each with its caption where it has one."""
    return tuple(
        fs.reports.Figure(
            PurePath(name).stem, lambda one=one: one, captions.get(name, name),  # type: ignore[misc]
            captions.get(name, ""),
        )
        for name, one in figures.items()
    )  # fmt: skip


def as_json(value: Mapping[str, Any]) -> str:
    """Return valid JSON: no NaN."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
