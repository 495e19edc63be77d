"""A report in Python: every form that it can take, and in a notebook it shows itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core.show.as_json import as_json
from forestall.core.show.markdown import markdown
from forestall.core.show.openmetrics import openmetrics
from forestall.core.show.page import fragment, page, write_page
from forestall.core.show.text import Short, brief_of, text_of

if TYPE_CHECKING:
    from forestall.core.show.report import Report

SHORT: Final = Short(
    more="text(full=True)", whole="Shortened. All of it: text(full=True), save(PATH), json."
)

MOST_LINES: Final = 24
"""Lines of what stands for a report where an object is printed."""


def in_short(report: Report, name: str) -> str:
    """Return the beginning of a report in brief, as `repr` of the object called `name` gives it."""
    lines = brief_of(report, wrap=True).splitlines()
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], "... (all of it: .report.text(full=True))"]
    return "\n".join([f"{name}: {report.title}", *lines])


@dataclass(frozen=True, repr=False)
class Shown:
    """What a result says, in any form."""

    report: Report

    @property
    def json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return as_json(self.report)

    @property
    def markdown(self) -> str:
        """It as Markdown, without figures."""
        return markdown(self.report)

    @property
    def openmetrics(self) -> str:
        """Its facts for Prometheus."""
        return openmetrics(self.report)

    def text(self, *, full: bool = False) -> str:
        """Return it as a terminal shows it, with `full` all of it."""
        return text_of(self.report, full=full, short=SHORT)

    def save(self, path: str | Path) -> Path:
        """Write it as one page, whole or not at all, and return where."""
        return write_page(path, page(self.report))

    def __repr__(self) -> str:
        return in_short(self.report, "Shown")

    def _repr_html_(self) -> str:
        return fragment(self.report)

    def _repr_markdown_(self) -> str:
        return self.markdown
