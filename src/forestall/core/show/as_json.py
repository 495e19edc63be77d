"""A report as plain values for JSON: no NaN, whole numbers as such, times and work in their units.

Facts stand under ``figures``, as they did before figures were drawn.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from forestall.core.show.blocks import Prose, Steps, Table
from forestall.core.show.clean import LONGEST, example
from forestall.core.show.facts import plain

if TYPE_CHECKING:
    from forestall.core.model.cleaning import Cleaning
    from forestall.core.show.report import Report, Section

SCHEMA: Final = 1
"""Of the JSON; it grows when a key changes its meaning or goes away, not when one is added."""
EXAMPLES: Final = 5


def as_json(report: Report) -> dict[str, Any]:
    """Return all that a report says as plain values."""
    return {
        "schema": SCHEMA,
        "title": report.title,
        "headline": report.headline,
        "verdict": list(report.verdict),
        "top": [one.as_json() for one in report.top],
        "sections": {one.key: section_json(one) for one in report.sections},
        "untold": [{"section": key, **asdict(one)} for key, one in report.untold()],
        "odd": odd_json(report.cleaning),
        "sources": list(report.sources),
        "versions": dict(report.versions),
        "options": {name: plain(value) for name, value in report.parameters.items()},
    }


def section_json(section: Section) -> dict[str, Any]:
    """Return a section as plain values."""
    told: dict[str, Any] = {
        "title": section.title,
        "lead": section.lead,
        "figures": [one.as_json() for one in section.facts],
        "series": [one.as_json() for one in section.series],
        "tables": {one.key: table_json(one) for one in section.tables},
        "notes": list(section.notes),
    }
    said = [one.text for one in section.body if isinstance(one, Prose) and not one.soft]
    steps = [step for one in section.body if isinstance(one, Steps) for step in _steps(one)]
    return told | ({"text": said} if said else {}) | ({"steps": steps} if steps else {})


def table_json(table: Table) -> dict[str, Any]:
    """Return a table as plain values."""
    rows = [{name: plain(value) for name, value in row.items()} for row in table.records]
    return {"title": table.title or table.caption, "rows": rows, "note": table.note}


def odd_json(cleaning: Cleaning) -> list[dict[str, Any]]:
    """Return what was left out, changed or found odd, with a few examples of each kind."""
    return [
        {
            "kind": one.kind,
            "text": one.counted,
            "action": one.action,
            "count": one.count,
            "examples": [example(name, LONGEST) for name in one.names[:EXAMPLES]],
        }
        for one in cleaning.remarks
    ]


def _steps(steps: Steps) -> list[dict[str, Any]]:
    return [{"under": group.title, **asdict(one)} for group in steps.groups for one in group.steps]
