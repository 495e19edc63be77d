"""A report in a notebook: the last value of a cell shows itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from forestall.show.markdown import markdown
from forestall.show.page import fragment

if TYPE_CHECKING:
    from forestall.show.report import Report


@dataclass(frozen=True)
class InNotebook:
    """A report that a notebook shows, as HTML or, where that is not to be had, as Markdown."""

    report: Report

    def _repr_html_(self) -> str:
        return fragment(self.report)

    def _repr_markdown_(self) -> str:
        return markdown(self.report)
