"""`fs.reports`: a result said once, as sections of tables, texts and figures, and shown as text,
page, Markdown or JSON."""

from forestall.show.as_json import as_json
from forestall.show.blocks import Block, Cell, Figure, Listing, Prose, Table
from forestall.show.facts import Fact
from forestall.show.markdown import markdown
from forestall.show.page import page
from forestall.show.report import Report, Section
from forestall.show.shown import Shown
from forestall.show.text import text_of

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
