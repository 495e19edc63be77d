"""Files against each other and against the summary; findings, and rules that need files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from forestall.core.certify.finding import Finding, Rule, certificate
from forestall.core.certify.folder import Summary
from forestall.core.certify.sheet import Bool, Int, Rows, column, seconds, whole
from forestall.core.certify.sums import (
    answering,
    calibration,
    close,
    differences,
    mean,
    passes,
    per,
    ratio,
    recomputed,
    total,
)


def test_sums_of_each_owner_and_of_all() -> None:
    owner = np.array([0, 2, 2])
    assert per(owner, 4).tolist() == [1, 0, 2, 0]
    assert per(owner, 4, np.array([5, 1, 1])).tolist() == [5, 0, 2, 0]
    large = np.full(8, 2**62)
    assert total(large) == 8 * 2**62
    assert total(-large) == -8 * 2**62


@dataclass(frozen=True)
class Events(Rows):
    FILE: ClassVar = "events.csv"
    time: Int = seconds()
    decisions: Int = whole()
    passing: Bool = column(lambda sheet, _: np.zeros(len(sheet), np.bool_), there=False)


def events(time: list[int], decisions: list[int]) -> Events:
    count = np.arange(len(time))
    passing = np.zeros(len(time), dtype=np.bool_)
    return Events(count + 2, np.array(time), np.array(decisions), passing)


def test_passes_end_seconds_that_have_other_events() -> None:
    def wrong(time: list[int], passing: list[int], *, each: bool = False) -> tuple[int, str]:
        finding = Finding()
        passes(finding, events(time, time), np.array(passing, dtype=np.bool_), each=each)
        return finding.count, finding.first.partition(" (")[2]

    assert wrong([1, 1, 4, 4, 9], [0, 1, 0, 1, 0], each=True) == (0, "")
    assert wrong([1, 1, 5], [0, 0, 0], each=True) == (0, "")
    assert wrong([1, 2, 4, 4], [0, 1, 0, 1]) == (1, "events.csv, line 3)")
    assert wrong([1, 1, 1, 4], [0, 1, 0, 0]) == (1, "events.csv, line 3)")
    assert wrong([1, 1, 4, 9], [0, 1, 0, 0]) == (0, "")
    assert wrong([1, 1, 4, 9], [0, 1, 0, 0], each=True) == (1, "events.csv, line 4)")


def test_decisions_answer_the_events_of_their_second() -> None:
    told, finding = events([1, 4, 9], [2, 0, 1]), Finding()
    owner = answering(finding, told, events([1, 1, 9], [0, 0, 0]))
    assert owner is not None
    assert owner.tolist() == [0, 0, 2]
    assert not finding.count
    answering(finding, told, events([1, 4, 9], [0, 0, 0]))
    assert finding.first == "not at its event's time (events.csv, line 3)"
    few = Finding()
    assert answering(few, told, events([1], [0])) is None
    assert few.first == "events.csv counts 3 decisions, but decisions.csv has 1"


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


def test_measures_are_recomputed() -> None:
    def check(held: dict[str, Any], within: str = "") -> tuple[str, str]:
        run = SimpleNamespace(summary=Summary(Path("summary.json"), held))
        finding = Finding()
        good = recomputed(lambda _: {"a": 1, "b": 2.0}, within)(run, finding)
        return good, finding.first

    assert check({"a": 1, "b": 2.0 + 1e-10}) == ("2 measures", "")
    assert check({"a": 1, "b": 3})[1] == "b is 3 in summary.json, 2.0 recomputed"
    assert check({"b": 2})[1] == "a is nothing in summary.json, 1 recomputed"
    assert check({"m": {"a": 1, "b": 1}}, "m")[1] == "m.b is 1 in summary.json, 2.0 recomputed"
    assert check({"m": 7}, "m")[1] == "summary.json has no measures of m"


def test_shares_and_means() -> None:
    assert (ratio(1, 4), ratio(1, 0)) == (0.25, None)
    assert mean(np.array([True, False])) == 0.5
    assert mean(np.full(3, 2**62)) == 2**62
    assert mean([0.1] * 10) == 0.1
    assert mean([]) is None
    said, kept = np.array([0.05, 0.97, 0.99]), np.array([0.0, 1.0, 0.0])
    rows = calibration(np.array([0, 9, 9]), said, kept, ("count", "said", "kept"))
    assert rows[0] == {"low": 0.0, "high": 0.1, "count": 1, "said": 0.05, "kept": 0.0}
    assert rows[9]["count"] == 2
    assert rows[9]["kept"] == 0.5
    assert rows[5]["said"] is None


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


def test_rules_that_do_not_apply_are_left_out() -> None:
    def odd(run: int, finding: Finding) -> str:
        if run % 2 == 0:
            finding.wrong("{0} is even", run)
        return "odd"

    rules = (Rule("odd", odd), Rule("large", odd, lambda run: run > 5))
    found = certificate(4, rules, ["the log"])
    assert [(one.name, one.detail) for one in found.checks] == [("odd", "4 is even")]
    assert str(found) == "FAIL odd: 4 is even\nnot checked: the log"
    assert certificate(7, rules, ()).passed
    assert len(certificate(7, rules, ()).checks) == 2
