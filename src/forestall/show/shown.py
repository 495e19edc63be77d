"""A report in Python: every form that it can take, and in a notebook it shows itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.show.as_json import as_json
from forestall.show.markdown import markdown
from forestall.show.openmetrics import openmetrics
from forestall.show.page import fragment, page, write_page
from forestall.show.text import Short, text_of

if TYPE_CHECKING:
    from forestall.show.report import Report

SHORT: Final = Short(
    more="text(full=True)", whole="Shortened. All of it: text(full=True), save(PATH), json."
)


@dataclass(frozen=True)
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

    def _repr_html_(self) -> str:
        return fragment(self.report)

    def _repr_markdown_(self) -> str:
        return self.markdown
