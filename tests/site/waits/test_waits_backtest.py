"""The back-test of waits: scores as plain formulas have them, beside yardsticks, in words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.job_records import NEVER
from forestall.core.show.report import Report
from forestall.core.show.text import sections_of
from forestall.site.jobs.answers import wait_answers
from forestall.site.jobs.told import waits
from forestall.site.learning.turnaround import learned
from forestall.site.learning.turnaround.answer import WaitLaws
from forestall.site.learning.turnaround.learned import LEVELS
from forestall.site.waits.scores import latest, score_laws, score_times
from forestall.site.waits.section import section, trust
from forestall.site.waits.study import TODAY, WaitAsked, WaitBacktest, study
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.records.start_estimates import StartEstimates
from reference.made_jobs import in_order, rows_of, some_jobs
from slurm.records.accounting_cases import accounts


@pytest.fixture(autouse=True, scope="module")
def _soon() -> Iterator[None]:
    """Forests early and small."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FIRST", 200), ("AFTER", 300), ("DELAY", 20)):
            patch.setattr(learned, name, value)
        patch.setattr(learned, "TREES", replace(learned.TREES, trees=20, rate=0.2))
        yield


@pytest.fixture(scope="module")
def found(_soon: None) -> WaitBacktest:
    records = some_jobs(2400, 5)
    some = np.flatnonzero(records.attempt == 0)[:2000:3]
    estimates = StartEstimates(
        records.submit[some], records.job[some], records.submit[some], records.start[some] + 30
    )
    return study(records, estimates, WaitAsked(workers=1, trees=False))


def test_scores_are_those_of_plain_formulas() -> None:
    rng = np.random.default_rng(1)
    wait = rng.integers(0, 5000, 400)
    when = np.arange(400) * 7000
    laws = WaitLaws.of(np.log1p(np.outer(wait * rng.uniform(0.3, 3, 400), LEVELS)))
    told = score_laws("x", laws, wait, when, 0.95)
    held = [0, 0, 0]
    for k in range(400):
        for place, share in enumerate((0.5, 0.8, 0.9)):
            low = laws.quantile((1 - share) / 2)[k]
            high = laws.quantile((1 + share) / 2 if low > 0 else share)[k]
            held[place] += math.floor(low) <= wait[k] <= math.ceil(high)
    assert told.held == pytest.approx([one / 400 for one in held])
    middle = laws.quantile(0.5)
    times = (1 + middle) / (1 + wait)
    assert told.twice == pytest.approx(((times <= 2) & (times >= 0.5)).mean(), abs=0.003)
    mean = score_times("x", laws.mean_log, wait, when, 0.95)
    assert told.error == mean.error
    exact = score_times("x", np.log1p(wait), wait, when, 0.95)
    assert (exact.error, exact.twice, exact.thrice) == (0, 1, 1)


def test_a_law_that_is_right_is_calibrated() -> None:
    rng = np.random.default_rng(2)
    wait = np.floor(np.exp(rng.normal(6, 1.5, 20_000))).astype(np.int64)
    law = np.quantile(np.log1p(wait), LEVELS)
    told = score_laws("x", WaitLaws.of(np.tile(law, (len(wait), 1))), wait, wait, 0.95)
    assert told.held == pytest.approx((0.5, 0.8, 0.9), abs=0.01)
    share = float((wait <= 60).mean())
    assert told.brier[1] == pytest.approx(share * (1 - share), abs=0.005)


def test_the_latest_waits_are_those_that_are_known() -> None:
    asked = np.arange(0, 3000, 10)
    known = asked + 95
    out = latest(asked, known, asked, np.arange(300), count=100)
    assert (out[:14] == 0).all()
    for k in (60, 200, 299):
        seen = int((known < asked[k]).sum()) // 5 * 5
        past = asked[max(seen - 100, 0) : seen]
        np.testing.assert_allclose(out[k], np.quantile(past, LEVELS))


def test_learned_answers_stand_beside_all_yardsticks(found: WaitBacktest) -> None:
    kinds = {one.kind: one for one in found.scored}
    assert set(kinds) == {"submission", "waiting"}
    names = [one.name for one in kinds["submission"].scores]
    assert names[0] == "learned"
    assert {"one constant", "latest 1,000", "user's last 20", "like jobs", TODAY} <= set(names)
    assert {"Slurm's first estimate", "learned, on the same"} <= set(names)
    ours, constant = kinds["submission"].ours, kinds["submission"].named("one constant")
    assert ours.error < constant.error
    assert kinds["submission"].named("Slurm's first estimate").error < ours.error
    assert {one.kind for one in kinds["submission"].groups} == {"partition", "size"}
    assert {one.kind for one in kinds["waiting"].groups} == {"age"}


def test_the_section_says_how_far_to_trust_them(found: WaitBacktest) -> None:
    made = section(found)
    text = sections_of(Report(title="", headline="", sections=(made,), sources=()))
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "At submission: " in made.lead
    assert "While a job waits: " in made.lead
    json.dumps([dict(row) for table in made.tables for row in table.records])
    one = found.scored[0]
    narrow = replace(one.ours, held=(0.4, 0.6, 0.7))
    told = trust(replace(one, scores=(narrow, *one.scores[1:]), above=0.5, above_error=0.1))
    assert "too narrow, take them for 70" in told
    assert f"worse than {one.best}, by 0.500" in told
    none = study(some_jobs(300, 1), None, WaitAsked(workers=1))
    assert section(none).untold[0].why.startswith("2")


def test_a_job_is_told_what_it_was_to_wait() -> None:
    records = some_jobs(2400, 5)
    ran = np.flatnonzero((records.attempt == 0) & (records.start < records.until))
    then, now = wait_answers(records, int(ran[2000]), 1)
    assert then is not None
    assert now is None
    assert then.jobs > 500
    assert 0 <= then.quantile(0.5) <= then.quantile(0.9)
    assert wait_answers(records, int(ran[50]), 1) == (None, None)
    # The same records up to a moment in which jobs wait: one is told what is left.
    cut = int(records.start[ran[2000]]) - 1
    rows = [row for row in rows_of(2400, 5) if row["submit"] <= cut and "attempt" not in row]
    for row in rows:
        if row["start"] > cut:
            row |= {"start": NEVER, "end": NEVER, "state": "PENDING"}
        elif row["end"] > cut:
            row |= {"end": NEVER, "state": "RUNNING"}
    part = accounts(sorted(rows, key=in_order))
    waiting = np.flatnonzero((part.start == NEVER) & (part.base().among(("PENDING",))))
    assert len(waiting)
    then, now = wait_answers(part, int(waiting[-1]), 1)
    assert then is not None
    assert now is not None
    assert now.quantile(0.9) >= now.quantile(0.5) >= 0
    site = SiteRecords(accounting=part)
    told = waits(site, waiting[-1:])
    assert "At its submission it was to wait " in told.lead
    assert "From now on it was to wait " in told.lead
    assert {one.labels["asked"] for one in told.facts} == {"submission", "now"}
