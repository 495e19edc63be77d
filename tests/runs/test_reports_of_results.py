"""Results that are no runs show themselves, too: certificates and replays."""

from __future__ import annotations

from forestall.core.certify.finding import Certificate, Check
from forestall.runs.replay import Replayed


def test_a_certificate_tells_every_check() -> None:
    checks = (Check("nodes", True, "nobody twice"), Check("work", False, "3 s too much"))
    made = Certificate(checks, {}, ("states of hosts",)).report
    assert "1 check failed" in made.text()
    assert "| FAILED | work | 3 s too much |" in made.markdown
    assert made.json["sections"]["checks"]["tables"]["checks"]["rows"][1] == {
        "name": "work", "passed": False, "detail": "3 s too much",
    }  # fmt: skip
    assert "states of hosts" in made._repr_html_()
    fine = Certificate(checks[:1], {}).report
    assert "Every check passed." in fine.text()
    assert "not_checked" not in fine.json["sections"]


def test_a_replay_tells_the_line_that_differs() -> None:
    same, other = Replayed(1234), Replayed(1234, 7, "5,start", None)
    assert same.report.json["headline"] == "1,234 decisions, every byte the same."
    assert same.report.json["sections"]["decisions"]["tables"] == {}
    assert "first in line 7 of decisions.csv" in other.report.text()
    assert "| replayed | (nothing) |" in other.report.markdown
