"""Reports: whole, self-contained, escaped, accessible, and truthful for odd runs."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from core.show.pages import unscripted
from forestall.core.model.errors import TraceError
from forestall.core.show import words as say_
from forestall.core.show.as_json import as_json
from forestall.core.show.facts import Fact
from forestall.core.show.openmetrics import openmetrics
from forestall.core.show.page import page as page_of
from forestall.core.show.report import Report, Section
from forestall.core.show.shown import Shown
from forestall.core.show.style import has_matplotlib
from forestall.core.show.text import text_of
from forestall.runs.many import comparison, sweep_report
from forestall.scheduling.report import report as reports
from forestall.scheduling.report import words
from forestall.scheduling.report.report import ToldRun, report
from scheduling.report.synthetic import Made, grid

HOSTILE = "<script>alert('x')</script>\"&"
VOID = {"meta", "img", "br", "link", "input"}
needs_matplotlib = pytest.mark.skipif(not has_matplotlib(), reason="needs the extra plot")


class Page(HTMLParser):
    """Reads a page, refusing tags that do not match, and gathers what tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "img" or (tag == "svg" and ("role", "img") in attrs):
            self.images.append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.words).split())


def written(made: Made, folder: Path, **summary: Any) -> tuple[str, Page]:
    told = ToldRun(made.summary(**summary), made.jobs, made.runs, made.failures)
    text = saved(report(told), folder)
    return text, Page(text)


def saved(report: Report, folder: Path) -> str:
    """The text of a report's page, without its own script."""
    return unscripted(Shown(report).save(folder / "report.html").read_text(encoding="utf-8"))


@needs_matplotlib
def test_the_report_is_whole_and_needs_nothing_else(tmp_path: Path) -> None:
    text, page = written(Made(120, 30), tmp_path)
    assert not re.search(r"https?://|//[a-z]", re.sub(r'(src|href)="data:[^"]*"', "", text))
    assert "http://" not in text
    assert "https://" not in text
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert len(page.images) == 4
    for image in page.images:
        assert len(str(image["aria-label"])) > 20
    loaded = re.findall(r'(?:src|href)="([^"]*)"|url\(([^)]*)\)', text)
    assert loaded
    for one, other in loaded:
        assert (one or other).startswith(("#", "data:image/png;base64,"))
    assert "prefers-color-scheme:dark" in text
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@needs_matplotlib
def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    made = Made(60, 10)
    assert written(made, tmp_path)[0] == written(made, tmp_path)[0]


def test_measures_are_told_in_words_with_units(tmp_path: Path) -> None:
    made = Made(120, 30)
    _, page = written(made, tmp_path, promises_kept=0.9, qos=0.8512, lost_work=3600 * 1234)
    assert "About 9 in 10 of 120 promises were kept (90.0 %)" in page.said
    assert "0.851" in page.said
    assert "1,234 node-hours" in page.said
    assert "larger than machine" in page.said
    assert "fault-aware" in page.said
    assert "128 nodes" in page.said


def test_hostile_text_is_escaped(tmp_path: Path) -> None:
    text, page = written(
        Made(20, 3),
        tmp_path,
        policy=HOSTILE,
        seed=HOSTILE,
        parameters={HOSTILE: HOSTILE, "nodes": 128},
        skipped={HOSTILE: 3},
        versions={HOSTILE: HOSTILE},
    )
    assert "<script" not in text
    assert "script" not in page.tags
    assert HOSTILE in page.said


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Made(40, 0), "No work was lost to failures."),
        (Made(40, 10, promises=False), "This policy makes no promises."),
        (Made(1, 0), "1 job ·"),
        (Made(0, 0), "No job was started."),
    ],
    ids=["no failures", "no promises", "one job", "no jobs"],
)
def test_odd_runs(made: Made, said: str, tmp_path: Path) -> None:
    text, page = written(made, tmp_path)
    assert said in page.said
    assert "nan" not in page.said.split()
    assert "None" not in page.said
    assert text.endswith("</html>\n")


def test_without_matplotlib_the_page_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text, page = written(Made(50, 10), tmp_path)
    assert "forestall[plot]" in page.said
    assert not page.images
    assert "Promises kept" in text
    assert "forestall[plot]" in Page(saved(sweep_report(grid(2)), tmp_path)).said


def test_a_sparse_summary_is_enough(tmp_path: Path) -> None:
    made = Made(10, 2)
    text = saved(report(ToldRun({}, made.jobs, made.runs, made.failures)), tmp_path)
    assert "What was left out" in Page(text).said


def test_nothing_is_written_where_it_cannot_be(tmp_path: Path) -> None:
    made = Made(5, 0)
    with pytest.raises(TraceError):
        written(made, tmp_path / "missing")
    assert not list(tmp_path.iterdir())


@needs_matplotlib
def test_a_chosen_span_is_drawn(tmp_path: Path) -> None:
    made = Made(60, 20)
    texts = [
        saved(report(ToldRun(made.summary(), made.jobs, made.runs, made.failures, span)), tmp_path)
        for span in (None, (10_000, 20_000))
    ]
    assert "in which failures hit the most jobs" in texts[0]
    assert "in which failures hit the most jobs" not in texts[1]


# Several runs ------------------------------------------------------------------------------------


def test_runs_side_by_side(tmp_path: Path) -> None:
    made = Made(60, 10)
    runs = {
        "none": made.summary(qos=0.8, lost_work=7200_000),
        HOSTILE: made.summary(qos=0.9, lost_work=3600_000, parameters={"accuracy": 1.0}),
        "easy": Made(60, 10, promises=False).summary(),
    }
    text = saved(comparison(runs), tmp_path)
    page = Page(text)
    assert "<script" not in text
    assert "http" not in re.sub(r'src="data:[^"]*"|http-equiv', "", text)
    assert len(page.images) == has_matplotlib()
    assert '<td class="best">0.900 ★</td>' in text
    assert "<td>0.800</td>" in text
    assert "accuracy" in page.said


def test_equal_runs_have_no_best(tmp_path: Path) -> None:
    same = Made(30, 5).summary()
    text = saved(comparison({"a": same, "b": same}), tmp_path)
    assert 'class="best"' not in text
    assert "All parameters are the same." in text


def test_sweep_page(tmp_path: Path) -> None:
    figures: dict[str, Any] = {}
    if has_matplotlib():
        from forestall.runs.sweep_figures import sweep_lines

        figures[f"QoS {HOSTILE}"] = sweep_lines(grid(3), "accuracy", "qos", "risk")
    many = pl.concat([grid(11)] * 9)
    text = saved(sweep_report(many, figures), tmp_path)
    page = Page(text)
    assert "<script" not in text
    assert len(page.images) == len(figures)
    assert "1,089 runs" in page.said
    assert "89 rows more" in page.said


# Words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("promised", "kept", "said"),
    [
        (0.9, 0.9, "calibrated"),
        (0.9, 0.7, "too bold"),
        (0.8, 0.97, "cautious"),
        (1.0, 1.0, "calibrated"),
    ],
)
def test_the_verdict_on_promises(promised: float, kept: float, said: str) -> None:
    row = {"low": 0.9, "high": 1.0, "count": 5000, "promised_mean": promised, "kept_share": kept}
    summary = {"calibration": [row], "promises_kept": kept, "brier": 0.1}
    assert said in words.on_promises(summary)


@pytest.mark.parametrize(("kept", "said"), [(1.0, "kept"), (0.0, "broken")])
def test_a_single_promise(kept: float, said: str) -> None:
    row = {"low": 0.9, "high": 1.0, "count": 1, "promised_mean": 0.9, "kept_share": kept}
    summary = {"calibration": [row], "promises_kept": kept}
    told = words.on_promises(summary)
    assert told == f"One promise was made, with probability 90.0 %; it was {said}."


def test_a_few_promises_are_not_condemned_by_chance() -> None:
    row = {"low": 0.9, "high": 1.0, "count": 10, "promised_mean": 0.9, "kept_share": 0.8}
    assert "calibrated" in words.on_promises({"calibration": [row], "promises_kept": 0.8})


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1, "all"), (0, "none"), (0.9, "about 9 in 10"), (0.5, "about 5 in 10"),
        (0.973, "about 97 in 100"), (0.9971, "about 997 in 1,000"),
        (0.99996, "more than 999 in 1,000"), (0.0002, "fewer than 1 in 1,000"),
    ],
)  # fmt: skip
def test_shares_in_words(share: float, said: str) -> None:
    assert say_.in_words(share) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0.0 %"), (1, "100.0 %"), (0.9996, "99.96 %"), (0.99999, "over 99.99 %"),
     (1e-7, "under 0.01 %"), (None, say_.NOTHING), (float("nan"), say_.NOTHING)],
)  # fmt: skip
def test_percentages_never_pretend(share: object, said: str) -> None:
    assert say_.percent(share) == said


def test_work_in_words() -> None:
    assert say_.node_hours(3600) == "1.0 node-hours"
    assert say_.node_hours(0) == "0 node-hours"
    assert say_.node_hours(3600 * 12_345.6) == "12,346 node-hours"
    one = {"utilization": 0.5, "lost_work": 3600, "restarts": 1, "node_seconds": {"useful": 36_000}}
    assert words.on_work(one).endswith("10.0 % of the useful work. One job had to be restarted.")


# In other forms ----------------------------------------------------------------------------------


def test_a_section_stands_in_every_form() -> None:
    made = Made(60, 10)
    found = report(ToldRun(made.summary(), made.jobs, made.runs, made.failures))
    told = json.loads(json.dumps(as_json(found), allow_nan=False))
    assert list(told["sections"]) == [
        "measures", "node_time", "promises", "users", "levels", "gantt", "lost", "times",
    ]  # fmt: skip
    table = told["sections"]["node_time"]["tables"]["node_time"]["rows"]
    assert [row["what"] for row in table][-1] == "total"
    assert sum(row["node_s"] for row in table[:-1]) == pytest.approx(table[-1]["node_s"], rel=0.01)
    assert {one["key"] for one in told["sections"]["measures"]["series"]} >= {
        "utilization", "lost_work", "wait_mean", "response_mean", "checkpoints", "makespan",
    }  # fmt: skip
    full = text_of(found, full=True)
    assert "Where the node time went" in full
    assert "Useful work" in full
    assert "Nodes and queue over time" not in full, "a figure alone is nothing for a terminal"
    assert max(map(len, full.splitlines())) <= 100
    assert "forestall_utilization_ratio" in openmetrics(found)


def test_sections_of_a_report_are_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """One function and one entry: then it stands in text, page and JSON."""

    def own(run: ToldRun) -> Section:
        fact = Fact("longest", "Longest run", 7200, "seconds")
        return Section("own", "A section of our own", "It is there.", (fact,))

    monkeypatch.setattr(reports, "SECTIONS", (*reports.SECTIONS, own))
    made = Made(20, 3)
    found = report(ToldRun(made.summary(), made.jobs, made.runs, made.failures))
    assert as_json(found)["sections"]["own"]["figures"][0]["value"] == 7200
    assert "A section of our own" in text_of(found)
    assert '<h2 id="own">A section of our own</h2>' in page_of(found, drawn={})
    assert "forestall_longest_seconds 7200" in openmetrics(found)
