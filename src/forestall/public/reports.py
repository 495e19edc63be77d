"""`fs.reports`: a result said once, as sections of tables, texts and figures, and shown as text,
page, Markdown or JSON."""

from forestall.core.show.as_json import as_json
from forestall.core.show.blocks import Block, Cell, Figure, Listing, Prose, Table
from forestall.core.show.facts import Fact
from forestall.core.show.markdown import markdown
from forestall.core.show.page import page
from forestall.core.show.report import Report, Section
from forestall.core.show.shown import Shown
from forestall.core.show.text import text_of

__all__ = [
    "Block",
    "Cell",
    "Fact",
    "Figure",
    "Listing",
    "Prose",
    "Report",
    "Section",
    "Shown",
    "Table",
    "as_json",
    "markdown",
    "page",
    "text_of",
]
