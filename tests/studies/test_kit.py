"""The kit of studies: claims, text, files that are all there or not at all, a study."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure

from forestall.core.model.errors import TraceError, UnwritableError
from forestall.public.reports import Prose, markdown
from studies.kit import files
from studies.kit.claims import (
    CONFIRMED,
    Claim,
    UntestableError,
    claims_table,
    listed,
    say_claims,
)
from studies.kit.means import Chosen, Runs
from studies.kit.study import Results, Session, Study
from studies.kit.text import claims_section, images, listing, report, share, table, whys

ONE = Claim("one", "It rains", "3 of 4 days", "holds", section="2", where="Oslo", why="The sea.")
TWO = Claim("one", "It rains", "none", "does not hold", section="2", where="Cairo", why="The sea.")


# Claims and text ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("good", "verdict"),
    [([True, True], CONFIRMED.holds), ([True, False], CONFIRMED.partly),
     ([False, False], CONFIRMED.fails)],
)  # fmt: skip
def test_verdicts(good: list[bool], verdict: str) -> None:
    assert CONFIRMED.of(good) == verdict


def test_nothing_confirms_nothing() -> None:
    with pytest.raises(UntestableError):
        CONFIRMED.of([])


def test_where_a_claim_stands() -> None:
    assert ONE.place == "2"
    assert Claim("n", "c", "m", "v", where="Oslo").place == "Oslo"
    assert Claim("n", "c", "m", "v", section="2", paper="4 %").place == "2; the paper: 4 %"


def test_claims_as_values() -> None:
    assert listed([ONE], ("where", "verdict"), {"where": "town"}) == [
        {"town": "Oslo", "verdict": "holds"}
    ]
    made = claims_table([ONE, TWO], ("where", "measured"))
    assert made.rows() == [("Oslo", "3 of 4 days"), ("Cairo", "none")]


def test_claims_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    say_claims([ONE, TWO, Claim("x", "It snows", "never", "fails", where="Cairo")])
    assert capsys.readouterr().out.splitlines() == [
        "It rains (2)", "  Oslo: holds; 3 of 4 days", "  Cairo: does not hold; none",
        "It snows (Cairo)", "  fails; never",
    ]  # fmt: skip


def told(**sections: Any) -> str:
    """Sections as Markdown, below the title and the lead."""
    text = markdown(report("T", "Lead.", sections), figures=".png")
    assert text.startswith("# T\n\nLead.\n\n")
    return text.removeprefix("# T\n\nLead.\n\n")


def test_markdown() -> None:
    made = told(S=table(("a", "b"), [("1", "2")], right=(1,)))
    assert made == "## S\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n"
    assert len(table(("a",), [("1",)] * 99).rows) == told(S=table(("a",), [("1",)] * 99)).count("1")
    assert whys([ONE, TWO]) == ("It rains: The sea.",)
    said = told(S=claims_section(("Claim", "Verdict"), [ONE], ("claim",), whys([ONE])))
    assert said == (
        "## S\n\n| Claim | Verdict |\n| --- | --- |\n| It rains | **holds** |\n\nWhy:\n\n"
        "- It rains: The sea.\n"
    )
    assert told(S=claims_section(("Claim", "Verdict"), [ONE], ("claim",))).endswith("**holds** |\n")
    assert listing("- One\n  thing.\n- Two.\n").items == ("One thing.", "Two.")
    drawn: Any = {"a.png": None}
    assert told(S=images(drawn, {})) == "## S\n\n![a.png](a.png)\n"
    assert told(S=images(drawn, {"a.png": "Rain."})) == "## S\n\n![Rain.](a.png)\n\nRain.\n"
    assert markdown(report("T", "Lead.", {}, ["It rains."])) == "# T\n\nLead.\n\n> It rains.\n"
    assert share(0.1234) == "12.3 %"


# Runs --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell(Chosen):
    """A toy cell."""

    town: str
    month: int = 1


def test_runs_are_asked_by_cell() -> None:
    rows = [{"town": t, "month": 1, "seed": s, "rain": r, "hour": h}
            for t, s, r, h in (("Oslo", 2, 3.0, 0), ("Oslo", 1, 1.0, 0), ("Cairo", 1, 0.5, 0),
                               ("Oslo", 1, 9.0, 7), ("Cairo", 3, None, 0))]  # fmt: skip
    runs = Runs(pl.DataFrame(rows), Cell, "hour")
    oslo = Cell("Oslo")
    assert runs.values(oslo, "rain", 0) == {1: 1.0, 2: 3.0}
    assert list(runs.values(oslo, "rain", 0)) == [1, 2]
    assert runs.values(Cell("Cairo"), "rain", 0) == {1: 0.5}
    gain = runs.gain(oslo, Cell("Cairo"), "rain", 0)
    assert (gain.mean, gain.seeds, gain.above) == (0.5, 1, False)
    assert runs.mean(oslo, "rain", 7).mean == 9.0
    assert not runs.has(oslo.at(month=2), 0)
    with pytest.raises(AssertionError, match="not played"):
        runs.rows(oslo.at(month=2), 0)
    with pytest.raises(AssertionError, match="a seed twice"):
        Runs(pl.DataFrame(rows), Cell)


# Files -------------------------------------------------------------------------------------------


def test_files_take_their_places_all_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")
    made = files.write_all(tmp_path, {}, {"a.txt": "after", "b.txt": "new"})
    assert [path.name for path in made] == ["a.txt", "b.txt"]
    assert [path.read_text() for path in made] == ["after", "new"]

    class Broken(Figure):
        def savefig(self, *_given: Any, **_more: Any) -> None:
            raise ValueError("no ink")

    with pytest.raises(ValueError, match="no ink"):
        files.write_all(tmp_path, {"c.png": Broken()}, {"a.txt": "late"})
    assert (tmp_path / "a.txt").read_text() == "after"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(UnwritableError):
        files.write_all(tmp_path / "gone", {}, {"a.txt": "x"})
    (tmp_path / "file").touch()
    with pytest.raises(TraceError, match="cannot be a folder"):
        files.folder_for(tmp_path / "file" / "below")
    with pytest.raises(TraceError, match="--data must name the folder that holds a/b"):
        files.found_in(tmp_path, "a/b")


# A study -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How many numbers are added, from which on."""

    count: int = 3
    seed: int = 1


def read(data: Path | None, plan: Plan, bonus: int = 0) -> int:
    return plan.seed + bonus + (data is not None)


def play(session: Session[Plan, int]) -> int:
    total = 0
    for k in range(session.plan.count):
        total += session.inputs + k
        session.tell(k + 1, session.plan.count)
    return total


def results(total: int) -> Results:
    claim = Claim("sum", "They add up", f"{total}", "holds", section="1")
    return Results(
        claims=(claim,), figures={}, tables={"sums": pl.DataFrame({"total": [total]})},
        sections={"Sums": Prose(f"{total}")},
        facts={"claims": listed([claim], ("name", "measured"))},
        texts={"note.md": "Added.\n"},
    )  # fmt: skip


STUDY = Study("A. Dder: Sums", "Sums", Plan(), read, play, results, quick=Plan(1))


def test_a_study_from_its_parts(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    steps: list[tuple[int, int]] = []
    made = STUDY.reproduce(tmp_path / "out", bonus=10, progress=lambda *at: steps.append(at))
    assert (made.found, steps) == (11 + 12 + 13, [(1, 3), (2, 3), (3, 3)])
    assert {path.name for path in made.files} == {
        "sums.csv",
        "claims.json",
        "note.md",
        "verdict.md",
    }
    assert {path.name for path in made.folder.iterdir()} == {path.name for path in made.files}
    told = json.loads((made.folder / "claims.json").read_text())
    assert told == {"paper": "A. Dder: Sums", "claims": [{"name": "sum", "measured": "36"}]}
    text = (made.folder / "verdict.md").read_text()
    assert text == "# Sums\n\nA. Dder: Sums.\n\n## Sums\n\n36\n\n## Figures\n"
    assert STUDY.reproduce(tmp_path / "two", data=tmp_path, plan=Plan(1)).found == 2


def test_plans() -> None:
    assert STUDY.planned() == Plan()
    assert STUDY.planned(quick=True) == Plan(1)
    assert STUDY.planned(quick=True, seed=7) == Plan(1, 7)
