"""One report in every form: the same figures, nothing that plays tricks, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from core.show.hostile import PLAIN, TRICK, report
from forestall.core.show import closing
from forestall.core.show.as_json import as_json
from forestall.core.show.blocks import Cell, Part, Prose, Step, StepGroup, Table
from forestall.core.show.drawings import NO_FIGURES, draw, figure_files
from forestall.core.show.facts import Fact
from forestall.core.show.markdown import markdown
from forestall.core.show.openmetrics import openmetrics
from forestall.core.show.page import MOST_ROWS, fragment, page, write_page
from forestall.core.show.report import Report, Section
from forestall.core.show.shown import Shown
from forestall.core.show.style import has_matplotlib
from forestall.core.show.text import MOST_LISTED, Short, breadth, grid, sections_of, text_of

needs_matplotlib = pytest.mark.skipif(not has_matplotlib(), reason="needs the extra plot")
VOID = {"meta", "br"}


class Tags(HTMLParser):
    """Collects tags, texts and what is loaded, and refuses tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self.loads += [value or "" for name, value in attrs if name in {"src", "href"}]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_every_form_tells_the_same_figure() -> None:
    made = report()
    told = json.loads(json.dumps(as_json(made), allow_nan=False))
    fact = told["sections"]["losses"]["figures"][0]
    assert (fact["value"], fact["unit"], fact["low"], fact["high"]) == (12.5, "node_hours", 10, 15)
    assert fact["meaning"] == PLAIN
    assert "forestall_lost_work_node_seconds" in openmetrics(made)
    assert " 45000.0" in openmetrics(made)
    for full in (False, True):
        assert "12.5 node-hours" in text_of(made, full=full)
    assert "**12.5 node-hours**" in markdown(made)
    assert "12.5 <small>node-hours</small>" in page(made, drawn={})
    assert "12.5 <small>node-hours</small>" in fragment(made, drawn={})


def test_the_json_has_all_of_it() -> None:
    told = as_json(report())
    assert set(told) == {
        "schema", "title", "headline", "verdict", "top", "sections", "untold", "odd", "sources",
        "versions", "options",
    }  # fmt: skip
    part = told["sections"]["losses"]
    assert part["tables"]["rows"]["rows"] == [
        {"cause": PLAIN, "runs": 1.0},
        {"cause": "b", "runs": None},
    ]
    assert [one["key"] for one in part["series"]] == ["runs"]
    assert part["text"] == [PLAIN]
    assert len(part["steps"]) == 9
    assert told["odd"][0]["count"] == 9


@needs_matplotlib
@pytest.mark.parametrize("name", [PLAIN, TRICK])
def test_a_page_is_whole_and_needs_nothing_else(name: str) -> None:
    text = page(report(name))
    seen = Tags(text)
    assert not {"link", "iframe", "object", "img"} & set(seen.tags)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert not re.search("fetch|XMLHttp|innerHTML|eval|import", script)
    assert all(one.startswith(("#", "data:image/png;base64,")) for one in seen.loads)
    assert not re.search(r"url\((?!#)", text)
    assert not re.search(r"https?:|//[a-z]", re.sub(r'href="data:[^"]*"', "", text))
    assert not set("\x1b\u202e") & set(text)
    assert len(set(seen.ids)) == len(seen.ids)
    assert "default-src 'none'" in text
    assert text.endswith("</html>\n")
    assert "alert('x')" not in text or "<script>alert" not in text
    assert "<script" not in fragment(report(name))


def test_a_headline_figure_leads_to_its_table_and_definition() -> None:
    fact = Fact("lost", "lost", 3.0, "node_hours")
    table = Table.of("causes", ("Cause", "Hours"), [("all", "3"), ("x", "3")], title="By cause",
                     summed=True)  # fmt: skip
    home = Section("losses", "Losses", "Lost.", (fact,), (table,), notes=("How.",))
    made = page(Report("T", "h", (home,), top=(fact,)))
    seen = Tags(made)
    assert {"#losses", "#losses-causes", "#losses-counted"} <= set(seen.loads)
    assert {one[1:] for one in seen.loads} <= set(seen.ids)
    assert '<tr class="sum"><th scope="row" class="left short">all' in made


@needs_matplotlib
def test_what_a_page_says_of_a_text_that_plays_tricks_is_the_text() -> None:
    said = Tags(page(report(TRICK))).said
    assert "<script>alert('x')</script>\\x1b[31m\\u202e\"&|*_`#" in said


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", [PLAIN, TRICK, "word " * 90, "x" * 300])
def test_text_fits_a_terminal(name: str, full: bool) -> None:
    told = text_of(report(name), full=full)
    assert max(map(len, told.splitlines())) <= 100
    assert all(one.isprintable() or one == "\n" for one in told)
    assert told.endswith("\n")
    assert max(map(len, text_of(report(), full=full, width=60).splitlines())) <= 60


def test_a_short_text_says_where_the_rest_is() -> None:
    short = text_of(report(), short=Short(more="--full", whole="All of it: --full."))
    assert "7 things more like these: --full" in short
    assert short.endswith("All of it: --full.\n")
    assert "things more" not in text_of(report(), full=True)


def test_markdown_has_no_markup_of_others() -> None:
    told = markdown(report(TRICK))
    assert not re.search(r"(?<!\\)<script", told)
    assert not set("\x1b\u202e") & set(told)
    rows = [line for line in told.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4}
    assert "![network](drawn.svg)" in markdown(report(), figures=".svg")
    assert "drawn.svg" not in markdown(report())


@pytest.mark.parametrize("name", [PLAIN, TRICK, 'a"b', "\\"])
def test_openmetrics_is_read_by_the_client_of_prometheus(name: str) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    text = openmetrics(report(name), {"share": "share_of_all"})
    samples = [
        sample
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    ]
    assert len(samples) == sum(not line.startswith("#") for line in text.splitlines())
    assert any(one.name == "forestall_share_of_all_ratio" and one.value == 0.25 for one in samples)
    assert not any("nothing" in one.name or one.name.endswith("far_seconds") for one in samples)


def test_a_fact_without_records_has_no_count_of_them() -> None:
    made = Report("T", "h", (Section("s", "S", facts=(Fact("a", "A", 1.0, "number"),)),))
    assert "forestall_a 1.0" in openmetrics(made)
    assert "figure_records" not in openmetrics(made)
    assert "records" not in as_json(made)["sections"]["s"]["figures"][0]
    assert "record" not in text_of(made)


def test_a_notebook_shows_it(tmp_path: Path) -> None:
    made = Shown(report())
    assert made._repr_html_().startswith('<div class="forestall">')
    assert made._repr_markdown_() == markdown(made.report)
    assert made.text(full=True) == text_of(made.report, full=True)
    assert made.json == as_json(made.report)
    assert made.openmetrics == openmetrics(made.report)
    assert made.save(tmp_path / "a.html").read_text(encoding="utf-8") == page(made.report)


@needs_matplotlib
def test_figures_are_drawn_once_for_page_and_folder(tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    made = report()
    drawn = draw(made, lambda *one: done.append(one), tmp_path)
    assert done == [(1, 1)]
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(figure_files(["drawn"]))
    root = ElementTree.parse(tmp_path / "drawn.svg").getroot()
    assert root.tag.endswith("svg")
    assert page(made, drawn=drawn) == page(made)
    place = write_page(tmp_path / "report.html", page(made, drawn=drawn))
    assert place.read_text(encoding="utf-8").count("<figure>") == 1


def test_without_matplotlib_a_page_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = Tags(page(report())).said
    assert NO_FIGURES in said
    figure = report().sections[0].figures[0]
    only = Report("T", "h", (Section("s", "Only drawn", body=(figure,)),))
    assert "Only drawn" not in page(only)


def test_a_section_with_nothing_to_show_is_left_out() -> None:
    series = Section("measures", "Measures", series=(Fact("a", "A", 1.0, "number"),))
    empty = Section("t", "Empty table", body=(Table.of("t", ("A",), []),))
    made = Report("T", "h", (series, empty))
    assert "Measures" not in page(made)
    assert "Measures" not in text_of(made, full=True)
    assert "Empty table" not in page(made)
    assert as_json(made)["sections"]["measures"]["series"]


def test_a_long_table_says_where_its_rows_are() -> None:
    rows = [(f"row {k}", "1") for k in range(MOST_ROWS + 12)]
    table = Table.of("t", ("Name", "Count"), rows, elsewhere="jobs.csv")
    made = Report("T", "h", (Section("s", "S", body=(table,)),), closing=())
    said = Tags(page(made)).said
    assert "12 rows more are in jobs.csv." in said
    assert f"row {MOST_ROWS - 1}" in said
    assert f"row {MOST_ROWS} " not in said
    whole = Table.of("t", ("Name", "Count"), rows, most=0)
    assert f"row {MOST_ROWS + 11}" in page(Report("T", "h", (Section("s", "S", body=(whole,)),)))


def test_the_best_cell_and_cells_of_figures() -> None:
    rows = [("QoS", Cell("0.900", best=True), "0.800")]
    made = page(Report("T", "h", (Section("s", "S", body=(Table.of("t", "abc", rows),)),)))
    assert '<td class="best">0.900</td>' in made
    assert "<td>0.800</td>" in made
    assert Table.of("t", "abc", rows).texts == (("QoS", "0.900", "0.800"),)
    assert str(Cell("1.0", below="0.9 to 1.1")) == "1.0 (0.9 to 1.1)"


def test_colours_that_are_none_are_refused() -> None:
    with pytest.raises(AssertionError):
        Part("a", 0.5, 'red"><script>')
    with pytest.raises(AssertionError):
        Table.of("t", ("A",), [("a",)], colours=("url(x)",))
    with pytest.raises(ValueError, match="zip"):
        Table.of("t", ("A", "B"), [("a",)])


def test_things_to_do_are_shortened_by_kind() -> None:
    steps = tuple(Step("ab"[k % 2], f"do {k}") for k in range(6))
    group = StepGroup("Sure", steps)
    kept, rest = group.shortened(3, 1)
    assert [one.text for one in kept] == ["do 0", "do 1"]
    assert len(rest) == 4
    assert group.shortened() == (steps, ())


def test_closing_sections() -> None:
    assert closing.left_out({"odd": 0}).body == (
        Prose("Nothing: everything in the logs was used."),
    )
    (table,) = closing.left_out({"larger_than_machine": 1200}).tables
    assert table.rows == (("larger than machine", "1,200"),)
    assert table.records == ({"kind": "larger_than_machine", "count": 1200},)
    assert closing.parameters({}).body == ()
    keys = [one.key for one in closing.closing_of(report())]
    assert keys == ["untold", "read", "made"]
    assert closing.closing_of(report(closing=())) == ()


def test_tables_of_the_terminal() -> None:
    wide = grid([("日本", "1"), ("ab", "22")], ("Name", "n"), right=(1,))
    assert {breadth(line) for line in wide} == {8}
    assert grid([("", "a")], ()) == ["  a"]
    lines = grid([("a b c", "word " * 40)], (), 60, wrap=(1,))
    assert lines[0].startswith("a b c  word")
    assert max(map(len, lines)) <= 60


def test_heads_of_several_lines_stand_on_their_last() -> None:
    lines = grid([("a", "1"), ("b", "20")], ("name", "Lost work\n(h)"), right=(1,))
    assert lines == ["      Lost work", "name        (h)", "a             1", "b            20"]


def test_section_by_section_a_long_table_says_where_the_rest_is() -> None:
    rows = [(f"node {k}", "1") for k in range(MOST_LISTED + 2)]
    table = Table.of("worst", ("node", "failures"), rows, title="The worst", note="A remark.")
    part = Section("nodes", "Nodes", "Some are bad.", body=(table,), notes=("Counted once.",))
    made = Report("Title", "Looked at 5 days.", (part,))
    lines = sections_of(made, short=Short(more="--json")).splitlines()
    assert lines[:5] == ["Looked at 5 days.", "Nodes", "-----", "Some are bad.", ""]
    assert lines[-4:] == ["... and 2 rows more (--json)", "  A remark.", "", "Counted once."]
    few = Report("Title", "", (Section("nodes", "", body=(Table.of("a", ("", ""), rows[:2]),)),))
    assert sections_of(few).splitlines() == ["", "node 0  1", "node 1  1"]
