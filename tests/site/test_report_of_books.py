"""The report: text, page, JSON and OpenMetrics from the same figures; names that play tricks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from books_cases import accounts, outages
from forestall.core.model.cleaning import Cleaning
from forestall.core.show.blocks import Figure, Table, more_of
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.openmetrics import BASE
from forestall.core.show.report import Section
from forestall.core.show.text import cut_rows, grid
from forestall.site import report as reports
from forestall.site.advice.advice import Advice
from forestall.site.advice.section import section as advice_section
from forestall.site.advice.words import RANKED, UNRANKED, first_thing, grouped, in_order, saving
from forestall.site.commands.report import SHORT
from forestall.site.headlines import cards, leads
from forestall.site.report import SiteFindings, openmetrics, report, write_openmetrics
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked

text_of = partial(reports.text_of, short=SHORT)
DAY = 86_400
T0 = 1_700_000_000
HOSTILE = '<script>alert("1")</script>\n\x1b[31m\\ \u202e\udc80 & \'' + "x" * 300
ASKED = Asked(T0, T0 + 10 * DAY, node_hour_cost=0.5)


def small_site(name: str = "train") -> SiteRecords:
    rows: list[dict[str, Any]] = [
        {"submit": T0 + k, "start": T0 + k, "end": T0 + k + 7200, "nodes": 2, "user": "ann",
         "name": name, "state": "OUT_OF_MEMORY" if k % 4 == 0 else "COMPLETED"}
        for k in range(40)
    ]  # fmt: skip
    events = outages(
        [
            {"node": f"n{k % 4}", "begin": T0 + k * DAY, "end": T0 + k * DAY + 3600}
            for k in range(5)
        ],
        (T0, T0 + 10 * DAY),
        ("n0", "n1", "n2", "n3"),
    )
    cleaning = Cleaning().plus(
        "odd", "rows that are odd", "changed", [f"line {k}" for k in range(9)]
    )
    return SiteRecords(
        accounts(rows, until=T0 + 10 * DAY), events, sources=("jobs.txt",), cleaning=cleaning
    )


def own_section(name: str) -> ModuleType:
    """Return a module with a section in which `name` stands wherever a text can."""
    module = ModuleType(f"books_{abs(hash(name))}")

    def draw() -> Any:
        from forestall.core.show.style import new_figure

        figure = new_figure((2, 1), 50)
        figure.subplots().plot([1, 2])
        return figure

    def section(site: SiteRecords, asked: Asked) -> Section:
        table = Table(
            "rows", name, ("Cause", name), ((name, "1"), ("b", "2")),
            ({"cause": name, "runs": 1}, {"cause": "b", "runs": 2}), name, (1,),
        )  # fmt: skip
        figures = (
            Fact("lost", "lost to all", 12.5, "node_hours", 3, name, 10.0, 15.0),
            Fact("share", name, 0.25, "ratio", 4, labels={"cause": name, "9 x": "y"}),
            Fact("share", "again", 0.5, "ratio", 4, labels={"cause": "b", "9 x": "y"}),
            Fact("price", "Price", 20.0, "money", 1),
            Fact("rate", "Rate", 8.64, "per_1000_node_days", 1),
            Fact("nothing", "Nothing", None, "hours", 0, why=name),
            Fact("far", "Far", float("inf"), "days", 1),
        )
        series = (Fact("by_cause", f"Lost: {name}", 1, "count", 1, labels={"cause": name}),)
        return Section(
            "losses", name, name, figures, (table, Figure("p", draw, name, name)), series,
            (name,), (Untold(name, name, name),),
        )  # fmt: skip

    def advice(site: SiteRecords, asked: Asked) -> tuple[Advice, ...]:
        return (Advice("node", name, 5.0, name, name, 1.0, 9.0, {"node": name}),)

    module.section = section  # type: ignore[attr-defined]
    module.advice = advice  # type: ignore[attr-defined]
    return module


def made_with(name: str, site: SiteRecords | None = None) -> SiteFindings:
    module = own_section(name)
    sys.modules[module.__name__] = module
    try:
        return report(site or small_site(name), ASKED, sections={"losses": module.__name__})
    finally:
        del sys.modules[module.__name__]


@pytest.fixture(scope="module")
def plain() -> SiteFindings:
    return made_with("network")


@pytest.fixture(scope="module")
def hostile() -> SiteFindings:
    return made_with(HOSTILE)


GOLDEN = """\
40 jobs by 1 user, 4 nodes; 2023-11-14 22:13 to 2023-11-24 22:13 (10 days).

Most at stake: Have ann ask for more memory for 'train'. Would have saved 36.0 node-hours (18.0 to
36.0), that is 18.00 EUR (9.00 to 18.00).

Lost to all  12.5 node-hours  95 %: 10.0 to 15.0 node-hours; 3 records

What to do
----------
"""


def test_golden_text(plain: SiteFindings) -> None:
    site = small_site()
    module = own_section("network")
    sys.modules[module.__name__] = module
    whole = report(site, ASKED, sections={"losses": module.__name__})
    told = text_of(whole)
    assert told.startswith(GOLDEN)
    assert "Nothing" in told
    for line in (
        "network: network. It takes network.",
        "  9 rows that are odd (changed): line 0, line 1, line 2, ...",
        "jobs.txt",
        "Shortened. All of it: --full, --out report.html, --json.",
    ):
        assert line in told.splitlines()
    assert "Shortened" not in text_of(whole, full=True)
    assert "Cause    network" in told


def test_the_four_ways_show_the_same_figures(plain: SiteFindings) -> None:
    told = json.loads(json.dumps(plain.as_json(), allow_nan=False))
    losses = told["sections"]["losses"]["figures"]
    assert [one["key"] for one in losses] == [
        "lost", "share", "share", "price", "rate", "nothing", "far",
    ]  # fmt: skip
    metrics = dict(
        line.rsplit(" ", 1) for line in openmetrics(plain).splitlines() if not line.startswith("#")
    )
    assert float(metrics["forestall_lost_node_seconds"]) == 12.5 * 3600
    assert float(metrics["forestall_lost_low_node_seconds"]) == 36_000
    assert float(metrics['forestall_share_ratio{cause="network",_9_x="y"}']) == 0.25
    assert float(metrics['forestall_price{currency="EUR"}']) == 20
    assert float(metrics["forestall_rate_per_node_second"]) == pytest.approx(1e-7)
    assert float(metrics["forestall_report_window_seconds"]) == 10 * DAY
    assert not any("nothing" in name or "far_" in name for name in metrics if "records" not in name)
    text, html = text_of(plain), reports.page(plain)
    assert "12.5 node-hours" in text
    assert "12.5 <small>node-hours</small>" in html


def test_the_keys_of_the_json(plain: SiteFindings) -> None:
    told = plain.as_json()
    assert set(told) == {
        "schema", "headline", "window", "asked", "sections", "advice", "untold", "odd", "sources",
        "versions", "options",
    }  # fmt: skip
    assert set(told["window"]) == {"begin", "until", "dated", "begin_text", "until_text", "days"}
    assert set(told["asked"]) == {
        "partition", "min_nodes", "node_hour_cost", "currency", "checkpoint_interval",
        "checkpoint_cost", "restart", "level", "seed", "zone", "learn",
    }  # fmt: skip
    assert list(told["sections"]) == ["advice", "losses"]
    assert set(told["sections"]["losses"]) == {
        "title", "lead", "figures", "series", "tables", "notes",
    }  # fmt: skip
    assert told["sections"]["losses"]["tables"]["rows"] == {
        "title": "network",
        "rows": [{"cause": "network", "runs": 1}, {"cause": "b", "runs": 2}],
        "note": "network",
    }
    assert set(told["advice"][0]) == {
        "key", "text", "saves_node_hours", "saves_low_node_hours", "saves_high_node_hours",
        "because", "assumes", "labels", "saves_money", "currency",
    }  # fmt: skip
    assert told["advice"][0]["saves_money"] == told["advice"][0]["saves_node_hours"] * 0.5
    assert set(told["untold"][0]) == {"section", "what", "why", "remedy"}
    assert told["odd"] == [
        {"kind": "odd", "text": "9 rows that are odd", "action": "changed", "count": 9,
         "examples": ["line 0", "line 1", "line 2", "line 3", "line 4"]}
    ]  # fmt: skip
    assert told["schema"] == 1


class Tags(HTMLParser):
    """Collects tags and what they load."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in {"meta", "img", "br"}:
            self.open.append(tag)
        self.loads += [value or "" for name, value in attrs if name in {"src", "href"}]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_hostile_names_on_the_page(hostile: SiteFindings) -> None:
    html = reports.page(hostile)
    html.encode("utf-8")
    seen = Tags()
    seen.feed(html)
    assert seen.open == []
    assert seen.tags.count("script") == 1
    assert all(one.startswith(("#", "data:image/png;base64,")) for one in seen.loads)
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "default-src 'none'" in html
    assert "prefers-color-scheme:dark" in html
    assert "@media print" in html


def test_hostile_names_in_text(hostile: SiteFindings) -> None:
    for full in (False, True):
        told = text_of(hostile, full=full)
        told.encode("utf-8")
        assert max(map(len, told.splitlines())) <= 100
        assert all(one.isprintable() or one == "\n" for one in told)


def test_hostile_names_in_json(hostile: SiteFindings) -> None:
    assert json.loads(json.dumps(hostile.as_json(), allow_nan=False))


SAMPLE = re.compile(
    r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"'
    r'(?:,[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*")*\})? [-+]?[0-9.]+(?:e[-+]?\d+)?'
)


@pytest.mark.parametrize("name", ["network", HOSTILE, 'a"b', "\\"])
def test_openmetrics_is_well_formed(name: str) -> None:
    text = openmetrics(made_with(name))
    lines = text.splitlines()
    assert lines[-1] == "# EOF"
    assert text.endswith("# EOF\n")
    families: list[str] = []
    seen: set[str] = set()
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            families.append(line.split()[2])
        elif line.startswith("# UNIT "):
            _, _, family, unit = line.split()
            assert family == families[-1]
            assert family.endswith(f"_{unit}")
        elif not line.startswith("# HELP "):
            assert SAMPLE.fullmatch(line), line
            assert re.match(r"\w+", line)[0] == families[-1]  # type: ignore[index]
            key = line.rsplit(" ", 1)[0]
            assert key not in seen
            seen.add(key)
    assert len(families) == len(set(families))
    assert all(family.startswith("forestall_") for family in families)


def test_openmetrics_by_the_client_of_prometheus(
    plain: SiteFindings, hostile: SiteFindings
) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    older = pytest.importorskip("prometheus_client.parser")
    for one in (plain, hostile):
        text = openmetrics(one)
        families = list(parser.text_string_to_metric_families(text))
        assert all(family.type == "gauge" for family in families)
        labels = {name for family in families for one in family.samples for name in one.labels}
        assert not labels & {"quantile", "le"}  # of summaries and histograms
        assert sum(len(family.samples) for family in families) == sum(
            not line.startswith("#") for line in text.splitlines()
        )
        assert {family.name for family in older.text_string_to_metric_families(text)} == {
            family.name for family in families
        }


def test_openmetrics_by_promtool(plain: SiteFindings) -> None:
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(
        [tool, "check", "metrics"], input=openmetrics(plain), text=True, capture_output=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_openmetrics_into_a_file(plain: SiteFindings, tmp_path: Path) -> None:
    place = write_openmetrics(tmp_path / "a.prom", plain)
    assert place.read_text() == openmetrics(plain)
    assert [one.name for one in tmp_path.iterdir()] == ["a.prom"]


def test_the_same_bytes_twice() -> None:
    one, two = made_with("network"), made_with("network")
    assert reports.page(one) == reports.page(two)
    assert text_of(one) == text_of(two)
    assert openmetrics(one) == openmetrics(two)


@pytest.mark.parametrize(
    "site",
    [
        SiteRecords(accounts([], begin=T0, until=T0 + 1)),
        SiteRecords(accounts([{"submit": T0}], begin=T0, until=T0 + 1)),
        SiteRecords(accounts([{"submit": T0, "start": T0, "end": T0, "state": "COMPLETED"}])),
        SiteRecords(events=outages([], (T0, T0 + 1), ("n1",))),
    ],
)
def test_sites_with_next_to_nothing(site: SiteRecords) -> None:
    made = report(site, Asked(T0, T0 + 1), sections={})
    assert "These records suggest no action" in text_of(made)
    assert "<h1>" in reports.page(made)
    assert openmetrics(made).endswith("# EOF\n")
    # It is said once, and not to begin with.
    assert made.sections[-1].key == "advice"
    assert made.untold == ()


def some(key: str, saves: float | None, low: float | None = None) -> Advice:
    high = None if low is None or saves is None else 2 * saves
    return Advice(key, f"do {key}", saves, "because", "it holds", low, high)


def test_advice_is_ranked_by_what_is_at_stake() -> None:
    given = [some("a", None), some("b", 90.0, -5.0), some("c", 2.0), some("d", 5.0, 1.0)]
    ordered = in_order(given)
    assert [one.key for one in ordered] == ["b", "d", "c", "a"]
    assert advice_section(ordered, ASKED).lead == (
        "4 actions; the first would have saved 90.0 node-hours (between a loss of 5.00 and "
        "180), that is 45.00 EUR (between a loss of 2.50 and 90.00). 2 are certain to pay."
    )
    assert advice_section(ordered[:1], ASKED).lead.startswith("1 action; it would have")
    assert advice_section(ordered[1:3], ASKED).lead.endswith(" All are certain to pay.")
    assert advice_section(ordered[:1] * 2, ASKED).lead.endswith(" None is certain to pay.")
    unknown = advice_section(ordered[3:], ASKED).lead
    assert unknown == "1 action; the records do not show what any of them would save."


def test_advice_without_a_saving_stands_apart() -> None:
    given = [*(some("a", float(k)) for k in range(9, 0, -1)), some("b", 0.5), some("c", None)]
    first, second = grouped(given, ASKED)
    assert (first.title, second.title) == (RANKED, UNRANKED)
    kept, rest = first.shortened(None, 4)
    saved = ["9.00", "8.00", "7.00", "6.00", "0.5"]
    assert [one.gain.split()[3] for one in kept] == saved
    assert more_of(rest) == "5 things more like these"
    assert [one.kind for one in second.steps] == ["c"]
    assert [one.gain.split()[3] for one in first.shortened(2, 1)[0]] == ["9.00", "0.5"]
    assert len(first.shortened(None, None)[0]) == 10
    assert grouped([], ASKED) == []


def test_savings_that_may_be_losses_are_called_so() -> None:
    ends = {(-127.0, 2143.0): " (between a loss of 127 and 2,143)",
            (-9.0, -2.0): " (between a loss of 9.00 and a loss of 2.00)",
            (0, 5481.0): " (0 to 5,481)", (None, None): ""}  # fmt: skip
    for (low, high), words in ends.items():
        one = Advice("a", "do", 1025.0, "", "", low, high)
        told = saving(one, Asked(0, DAY))
        assert told == f"Would have saved 1,025 node-hours{words}."


def test_money_has_an_interval_in_money() -> None:
    one = Advice("a", "do", 1000.0, "", "", 100.0, 1200.0)
    assert saving(one, ASKED) == (
        "Would have saved 1,000 node-hours (100 to 1,200), that is 500 EUR (50.00 to 600)."
    )


def test_what_most_is_at_stake_for_comes_first_and_what_is_certain_beside_it() -> None:
    small = Advice("a", "Do this.", 3.0, "", "", 1.0, 4.0)
    large = Advice("b", "Do that.", 900.0, "", "", 0.0, 1000.0)
    told = first_thing((small, large), ASKED)
    assert told.startswith("Most at stake: Do that. Would have saved 900 node-hours")
    assert "Do this." in told.partition("certain to pay:")[2]
    assert "certain" not in first_thing((small, replace(large, saves=2.0)), ASKED)
    assert "certain" not in first_thing((large,), ASKED)
    assert first_thing((replace(large, saves=None),), ASKED) == ""


def test_failures_of_another_machine_are_said_first_and_no_node_is_advised_on() -> None:
    site = small_site("network")
    aside = site.cleaning.plus("other_machine", "failure logs of another machine", "kept", ["f"])
    same, other = made_with("network"), made_with("network", replace(site, cleaning=aside))
    assert any("node" in one.labels for one in same.advice)
    assert not any("node" in one.labels for one in other.advice)
    first = "Two machines: the jobs are of one and the failures of another"
    assert text_of(other).startswith(first)
    assert f'<p class="soft">{first}' in reports.page(other)
    assert other.as_json()["headline"].startswith(first)
    assert not text_of(same).startswith("An example")


def test_headline_figures_rest_on_one_assumption() -> None:
    lower, upper = {"bound": "lower"}, {"bound": "upper"}
    losses = Section("losses", "L", "l.", (
        Fact("lost", "no checkpoints", 9.0, "node_hours", labels=upper),
        Fact("lost", "with", 1.0, "node_hours", labels=lower),
    ))  # fmt: skip
    goodput = Section("goodput", "G", "g.", (
        Fact("goodput", "with", 0.9, "ratio", labels={"bound": "checkpoints"}),
        Fact("goodput", "without", 0.1, "ratio", labels={"bound": "no_checkpoints"}),
    ))  # fmt: skip
    rest = (Section("ettr", "E", "e.", (Fact("ettr", "E", 0.8, "ratio"),)),
            Section("nodes", "N", "n.", (Fact("mttf", "M", 90.0, "days"),)))  # fmt: skip
    made = replace(made_with("network"), sections=(losses, goodput, *rest))
    first, second = reports.shown(made).scenes
    assert first.assumes == "each job writes a checkpoint every 1 h"
    assert [one.value for one in first.facts] == [1.0, 0.9, 0.8, 90.0]
    assert second.assumes == "no job writes checkpoints"
    assert [one.value for one in second.facts] == [9.0, 0.1, 90.0]
    html = reports.page(made)
    assert html.count('<input type="radio"') == 2
    assert "If each job writes a checkpoint every 1 h:" in text_of(made)
    assert reports.shown(replace(made, sections=rest)).scenes == ()


def test_nodes_of_another_machine_are_not_named_at_the_top() -> None:
    fact = Fact("n", "n", 1.0, "number")
    parts = [Section(key, key, f"{key}.", (fact,)) for key in ("losses", "lemons")]
    assert leads(parts, (), ASKED, two=False) == ["losses.", "lemons."]
    assert leads(parts, (), ASKED, two=True) == ["losses."]


def test_all_advice_is_somewhere() -> None:
    made = made_with("network")
    many = tuple(some("a", float(k)) for k in range(30, 0, -1))
    made = replace(made, advice=many)
    short, full, html = text_of(made), text_of(made, full=True), reports.page(made)
    assert "    28 things more like these: --full" in short.splitlines()
    assert "30. do a" in full
    assert "more like these" not in full
    assert html.count("<b>do a</b>") == 30
    assert '<ol class="todo" start="4">' in html


def test_cards_are_results() -> None:
    figures = (
        Fact("made", "promises", 27_457, "count", 27_457),
        Fact("worst", "Worst", 0.012, "ratio", 27_457),
    )
    sections = (
        Section("promises", "P", "p.", figures), Section("starts", "S", "s.", figures[:1]),
        Section("nodes", "N", "n.", (replace(figures[1], value=None, why="none"),)),
    )  # fmt: skip
    assert [one.key for one in cards(sections)] == ["worst", "made"]


def long_table(rows: int, *, ranked: bool = False, total: bool = False) -> Table:
    names = [f"row {k}" for k in range(rows)]
    if total:
        names[-2] = "all"
    cells = tuple((name, "1") for name in names)
    return Table("t", "T", ("Name", "Count"), cells, tuple({} for _ in cells), "A note.", (1,),
                 ranked)  # fmt: skip


def test_which_rows_of_a_table_are_shown() -> None:
    assert cut_rows(long_table(12)) == (long_table(12).rows, ())
    first, last = cut_rows(long_table(20))
    assert [row[0] for row in (*first, *last)] == [
        *(f"row {k}" for k in range(8)), "row 17", "row 18", "row 19",
    ]  # fmt: skip
    assert cut_rows(long_table(20, ranked=True))[1] == ()
    assert cut_rows(long_table(20, ranked=True, total=True))[1][0][0] == "all"
    table = long_table(20)
    section = Section("nodes", "N", "n.", body=(table,))
    report = replace(made_with("network"), sections=(section,), advice=(), untold=())
    short, full = text_of(report).splitlines(), text_of(report, full=True)
    at = next(k for k, line in enumerate(short) if line.startswith("row 7 "))
    assert short[at + 1] == "... 9 rows more (--full)"
    assert short[at + 2].startswith("row 17")
    assert "  A note." in short
    assert "row 12" in full


def test_a_short_report_stays_short() -> None:
    tables = tuple(replace(long_table(12), key=f"t{k}") for k in range(9))
    sections = tuple(
        Section(key, f"About {key}", "What was found.", (
            Fact(f"{key}_one", "One", 0.5, "ratio", 3),
            Fact(f"{key}_two", "Two", 0.5, "ratio", 3),
        ), body=tables)
        for key in ("losses", "goodput", "ettr", "nodes", "lemons", "waits", "promises")
    )  # fmt: skip
    causes = replace(long_table(12), key="causes", title="Causes")
    losses = replace(sections[0], body=(*tables, causes))
    cleaning = Cleaning()
    for k in range(40):
        cleaning = cleaning.plus(f"odd{k}", f"rows odd in way {k}", "changed", range(k + 1))
    many = tuple(some("a", float(k)) for k in range(30, 0, -1))
    report = replace(
        made_with("network"), sections=(losses, *sections[1:]), advice=many, cleaning=cleaning
    )
    short, full = text_of(report).splitlines(), text_of(report, full=True).splitlines()
    assert 90 < len(short) <= 120
    assert "Causes" in short, "what tells most comes first"
    assert len(full) > 900
    assert sum(line.startswith("  40 rows odd in way 39") for line in short) == 1
    assert "  34 kinds more of what was odd: --full" in short


def test_tables_fit_the_width() -> None:
    rows = [("a" * 60, "word " * 40, "12"), ("b", "c", "3,456")]
    lines = grid(rows, ("First", "Second", "Number"), right=(2,))
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["First", "Second", "Number"]
    assert lines[-1].endswith("3,456")
    many = grid([tuple("wide cell" for _ in range(30))], [f"h{k}" for k in range(30)])
    assert max(map(len, many)) <= 100


def test_every_unit_has_a_base() -> None:
    assert BASE["node_hours"] == ("node_seconds", 3600.0)
    assert BASE["ratio"] == ("ratio", 1.0)


@pytest.fixture(autouse=True)
def _clean_modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("books_"):
            del sys.modules[name]


def test_python_and_the_command_line_say_in_their_own_words_where_the_rest_is() -> None:
    made = report(small_site(), ASKED)
    whole = "Shortened. All of it: text(full=True), save(PATH), json."
    assert reports.text_of(made).endswith(f"{whole}\n")
    assert text_of(made).endswith("Shortened. All of it: --full, --out report.html, --json.\n")


@pytest.mark.parametrize(
    ("most", "learn", "times"), [(10, True, 1), (10, False, 0), (100, True, 0)]
)
def test_a_first_report_comes_before_quotes_are_learned(
    most: int, learn: bool, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "MANY_JOBS", most)
    early: list[SiteFindings] = []
    whole = report(small_site(), replace(ASKED, learn=learn), early=early.append)
    assert len(early) == times
    assert reports.LEARNING not in whole.headline
    for first in early:
        assert first.headline == f"{whole.headline} {reports.LEARNING}"
        assert reports.LEARNING in reports.page(first)
        assert [one.key for one in first.sections] == [one.key for one in whole.sections]
        assert first.advice == whole.advice
