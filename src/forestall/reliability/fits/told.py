"""Fits as reports: what a fit and a ranking say of themselves in a notebook and on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from forestall.core.show.blocks import Figure, Listing, Table
from forestall.core.show.facts import Fact
from forestall.core.show.report import Report, Section
from forestall.reliability.fits import plots

if TYPE_CHECKING:
    from forestall.reliability.fits.redraw import Fit

DRAWN: Final = {
    "survival": (plots.plot_survival, "Survival beside Kaplan and Meier's estimate"),
    "pp": (plots.plot_pp, "Share failed, fitted against observed"),
    "qq": (plots.plot_qq, "Times of failures, observed against fitted"),
    "hazard": (plots.plot_hazard, "Hazard rate over age"),
}
MOST_DRAWN: Final = 3
"""Laws of a ranking in one figure."""


def report_of_fits(
    title: str,
    fits: Sequence[Fit],
    rows: Sequence[Mapping[str, Any]],
    facts: Mapping[str, float],
    notes: Sequence[str],
) -> Report:
    """Return a report on laws that were fitted to one sample: a table of `rows`, `facts` on the
    best of them by their names, and figures of the first few."""
    sample = fits[0].sample
    heads = list(rows[0])
    cells = [tuple(_cell(row[name]) for name in heads) for row in rows]
    table = Table.of("fits", [name.replace("_", " ") for name in heads], cells, rows)
    known = f"{len(sample):,} gaps, {sample.failures:,} ended, {len(sample.right):,} censored."
    told = tuple(Fact(name.lower(), name, value, "number") for name, value in facts.items())
    body = (table, Listing(tuple(notes))) if notes else (table,)
    figures = tuple(
        Figure(name, _drawn(name, fits[:MOST_DRAWN]), alt) for name, (_, alt) in DRAWN.items()
    )
    sections = (Section("fits", "Fits", body=body), Section("figures", "Figures", body=figures))
    return Report(title, known, sections, top=told, closing=())


def _drawn(name: str, fits: Sequence[Fit]) -> Any:
    return lambda: DRAWN[name][0](fits)


def _cell(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else "" if value is None else str(value)
