"""Files against each other and against the summary; findings, and rules that need files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from forestall.app.kit.certify.finding import Finding, Told
from forestall.app.kit.certify.rules import Rule, certificate
from forestall.app.kit.certify.sheet import NONE, Summary
from forestall.app.kit.certify.sums import (
    Said,
    close,
    differences,
    measured,
    passes,
    per,
    total,
    unlike,
    unlike_rows,
)


def test_sums_of_each_owner_and_of_all() -> None:
    owner = np.array([0, 2, 2])
    assert per(owner, 4).tolist() == [1, 0, 2, 0]
    assert per(owner, 4, np.array([5, 1, 1])).tolist() == [5, 0, 2, 0]
    large = np.full(8, 2**62)
    assert total(large) == 8 * 2**62
    assert total(-large) == -8 * 2**62


def test_passes_end_seconds_that_have_other_events() -> None:
    def wrong(time: list[int], passing: list[int], *, each: bool = False) -> list[int]:
        finding = Finding()
        passes(finding, np.array(time), np.array(passing, dtype=np.bool_), each=each)
        return [finding.count, int(re.findall(r"\d+", finding.first + "0")[0])]

    assert wrong([1, 1, 4, 4, 9], [0, 1, 0, 1, 0], each=True) == [0, 0]
    assert wrong([1, 1, 5], [0, 0, 0], each=True) == [0, 0]
    assert wrong([1, 2, 4, 4], [0, 1, 0, 1]) == [1, 3]
    assert wrong([1, 1, 1, 4], [0, 1, 0, 0]) == [1, 3]
    assert wrong([1, 1, 4, 9], [0, 1, 0, 0]) == [0, 0]
    assert wrong([1, 1, 4, 9], [0, 1, 0, 0], each=True) == [1, 4]


def test_columns_that_differ_are_told_as_in_the_files() -> None:
    finding = Finding("sums")
    said, mine = np.array([1500, 7]), np.array([1500, NONE])
    text = "job {2}: {column} is {0} here, {1} there"
    unlike(finding, text, [Said("work", said, mine, 1000)], np.array([8, 9]))
    assert finding.check("") == ("sums", False, "job 9: work is 0.007 here, nothing there")
    assert Told(np.array([1500]), 1000)[0] == "1.5"
    words = Finding("words")
    codes = Said("state", np.array([0]), np.array([1]), words=("on", "off"))
    unlike(words, "{column}: {0}, {1}", [codes])
    assert words.first == "state: on, off"


@pytest.mark.parametrize(
    ("mine", "found"), [([[0, 1], [5, 6]], 0), ([[0, 1], [5, 7]], 2), ([[0, 0], [5, 5]], 2)]
)
def test_rows_of_two_tables(mine: list[list[int]], found: int) -> None:
    finding = Finding("rows")
    said = [np.array([1, 0]), np.array([6, 5])]
    columns = [np.array(one) for one in mine]
    unlike_rows(finding, "job {0}: {1}", said, columns, np.array([70, 80]))
    assert finding.count == found


def test_measures_part_by_part() -> None:
    here = {"a": [1, 2.0, None], "b": {"c": "x"}}
    same = {"a": [1, 2.0 + 1e-13, None], "b": {"c": "x"}}
    assert differences("m", same, here, 1e-12) == []
    lied = {"a": [2, 2.1, 0], "b": {"c": "y"}}
    assert differences("m", lied, here, 1e-12) == [
        "m.a[0] is 2 in summary.json, 1 recomputed",
        "m.a[1] is 2.1 in summary.json, 2.0 recomputed",
        "m.a[2] is 0 in summary.json, None recomputed",
        "m.b.c is y in summary.json, x recomputed",
    ]
    assert len(differences("m", {"a": [1]}, here, 1e-12)) == 1
    assert differences("m", True, 1, 1e-12) == ["m is True in summary.json, 1 recomputed"]
    assert close(1.0, 1.0 + 1e-13, 1e-12)
    assert not close(0.0, 1e-13, 1e-12)
    summary = Summary(Path("summary.json"), {"a": 1, "b": 2})
    assert measured(summary, {"a": 1, "b": 3}, 1e-12) == ["b is 2 in summary.json, 3 recomputed"]


def test_findings_tell_the_first_and_count_the_rest() -> None:
    finding = Finding("name")
    assert finding.check("good") == ("name", True, "good")
    finding.where(np.array([False, True, True]), "row {0}", [1, 2, 3])
    finding.wrong("more {0}", 5)
    assert finding.check("good") == ("name", False, "row 2 (and 2 more)")
    other = Finding()
    other.take(finding)
    assert other.check("").detail == "row 2 (and 2 more)"
    every = Finding()
    every.all(["a", "b"])
    assert every.check("").detail == "a; b"
    several = Finding()
    several.each(["a", "b"])
    assert several.check("").detail == "a (and 1 more)"


def test_rules_without_their_files_are_left_out(tmp_path: Path) -> None:
    def odd(run: int, finding: Finding) -> str:
        if run % 2 == 0:
            finding.wrong("{0} is even", run)
        return "odd"

    rules = (Rule("odd", odd), Rule("logged", odd, ("log.csv",)))
    found = certificate(tmp_path, 4, rules, ["the log"])
    assert [(one.name, one.detail) for one in found.checks] == [("odd", "4 is even")]
    assert str(found) == "FAIL odd: 4 is even\nnot checked: the log"
    (tmp_path / "log.csv").touch()
    assert certificate(tmp_path, 3, rules, ()).passed
    assert len(certificate(tmp_path, 3, rules, ()).checks) == 2
