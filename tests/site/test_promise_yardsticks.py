"""Yardsticks beside quotes: they are of the same jobs, and tell a good quote from a bad one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.site.promises.section import lead
from forestall.site.promises.section import study as report_study
from forestall.site.promises.study import PromiseStudy, Question, study
from forestall.site.promises.yardsticks import BOOK, OURS, all_alike
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked
from reference.made_jobs import some_jobs


@pytest.fixture(scope="module")
def found() -> PromiseStudy:
    return study(some_jobs(2500, 3), Question(warm_up=300, learn=True))


def test_all_are_of_the_same_jobs(found: PromiseStudy) -> None:
    assert [one.name for one in found.learned.yardsticks][:1] == [OURS]
    assert {one.scores.count for one in found.learned.yardsticks} == {
        found.learned.yardsticks[0].scores.count
    }
    names = {one.name for one in found.learned.yardsticks}
    assert {BOOK, "QBETS", "all turnarounds", "forest alone"} <= names
    assert 0 <= found.learned.share <= 1


def test_the_first_sentences_say_what_quotes_rest_on(found: PromiseStudy) -> None:
    weight = f"weight {100 * found.learned.share:.0f} %"
    ended = f"{found.learned.jobs:,} jobs ({weight}), the rest from like jobs."
    assert lead(found).endswith(f"a quote is learned from {ended}")
    assert 2000 < found.learned.jobs < 2500


def test_a_report_learns_unless_told_not_to() -> None:
    site = SiteRecords(accounting=some_jobs(1400, 3))
    asked = Asked(0, 10**9)
    learned, plain = report_study(site, asked), report_study(site, replace(asked, learn=False))
    assert learned.learned.jobs > 0
    assert plain.learned.jobs == 0
    assert lead(plain).endswith("a quote rests on like jobs.")


def test_knowing_like_jobs_beats_knowing_none(found: PromiseStudy) -> None:
    scores = {one.name: one.scores for one in found.learned.yardsticks}
    assert scores[OURS].logs < scores["all turnarounds"].logs
    assert scores[OURS].logs < scores["QBETS"].logs


def test_without_learning_there_are_none() -> None:
    plain = study(some_jobs(1200, 3), Question(warm_up=300))
    assert plain.learned.yardsticks == ()
    assert "similar jobs only" not in {one.name for one in plain.answers[0].others}


def test_all_alike_knows_only_what_had_ended() -> None:
    submit = np.arange(1000) * 10
    finish = submit + np.where(np.arange(1000) < 500, 100, 5000)
    told = all_alike(submit, finish, np.ones(1000, np.bool_))
    assert (told[:10] == 3600).all()
    assert told[400, 9] == 100
    assert told[700, 9] == 100
