"""A book that is told of a site by looks: what it learns, and that it is never told twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forestall.core.model.faults import LookError
from forestall.live.slurm.site_book import SiteBook
from forestall.site.learning.turnaround.book import CompletionBook
from forestall.slurm.cluster.nouns import ClusterJob, ClusterRun, ClusterSnapshot
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.settings import CALM, ROUGH, WorldSettings, rough
from forestall.slurm.simulation.world import SlurmWorld

T0 = 1_800_000_000
JOB = ClusterJob(
    7, "ann", "sim_1", "", "main", "", "PENDING", (), "Priority", T0, T0, None, None, 600, 2, (),
    (), "", "", 100, 0, 0, "", "",
)  # fmt: skip


def look(at: int, *jobs: ClusterJob, runs: tuple[ClusterRun, ...] = ()) -> ClusterSnapshot:
    return ClusterSnapshot({job.id: job for job in jobs}, {}, {}, runs, T0 + at, T0 + at)


def running(start: int, **more: int) -> ClusterJob:
    return JOB._replace(state="RUNNING", start=T0 + start, nodes=("a", "b"), **more)


def ended(start: int, end: int, state: str = "COMPLETED") -> ClusterJob:
    return running(start)._replace(state=state, end=T0 + end)


def test_a_job_is_told_with_slurms_own_times() -> None:
    site = SiteBook()
    site.learn(look(5, JOB))
    assert site.book.open_jobs() == {7: False}
    site.learn(look(60, running(33)))
    assert site.book.open_jobs() == {7: True}
    assert site.book.now == T0 + 33
    site.learn(look(400, ended(33, 333)))
    site.learn(look(430, ended(33, 333)))
    assert (len(site.book), site.ended, site.book.open_jobs()) == (1, 1, {})
    assert site.book.now == T0 + 333


def test_a_job_that_came_and_went_between_two_looks_is_learned_from() -> None:
    site = SiteBook()
    site.learn(look(-60))
    site.learn(look(60, ended(20, 40)))
    assert (len(site.book), site.ended) == (1, 1)


def test_an_end_that_only_accounting_tells() -> None:
    site = SiteBook()
    site.learn(look(5, running(3)))
    run = ClusterRun(7, "ann", "COMPLETED", T0, T0 + 3, T0 + 50, ("a", "b"), "")
    site.learn(look(600, runs=(run,)))
    assert site.ended == 1
    assert site.book.now == T0 + 50


@pytest.mark.parametrize(
    ("state", "start", "ends"),
    [("TIMEOUT", 3, 1), ("FAILED", 3, 1), ("CANCELLED", 50, 0), ("NODE_FAIL", 3, 1)],
)
def test_how_a_job_ended(state: str, start: int, ends: int) -> None:
    """One that was taken back before it ran gets its end for its start, and teaches nothing."""
    site = SiteBook()
    site.learn(look(5, JOB))
    site.learn(look(60, ended(start, 50, state)))
    assert site.book.open_jobs() == {}
    assert site.ended <= ends


def test_a_job_that_goes_back_to_the_queue_waits_again() -> None:
    site = SiteBook()
    site.learn(look(5, running(3)))
    site.learn(look(60, JOB._replace(restarts=1, submit=T0 + 40, reason="BeginTime")))
    assert site.book.open_jobs() == {7: False}
    site.learn(look(200, running(190, restarts=1)))
    assert site.book.open_jobs() == {7: True}
    assert len(site.book) == 1


def test_what_is_held_or_waits_for_another_is_no_job_yet() -> None:
    site = SiteBook()
    site.learn(look(5, JOB._replace(reason="Dependency")))
    assert len(site.book) == 0
    site.learn(look(60, JOB._replace(eligible=T0 + 50)))
    assert len(site.book) == 1
    assert site.book.now == T0 + 50


def test_a_job_that_nobody_shows_is_given_up_after_a_while() -> None:
    site = SiteBook()
    site.learn(look(5, running(3)))
    site.learn(look(60))
    assert site.book.open_jobs() == {7: True}
    site.learn(look(1000))
    assert site.book.open_jobs() == {}
    assert site.ended == 0


def test_a_kept_book_goes_on_and_learns_nothing_twice() -> None:
    first = SiteBook()
    first.learn(look(5, JOB, ended(1, 4)._replace(id=6)))
    second = SiteBook(CompletionBook.from_state(*first.book.state()))
    second.learn(look(60, running(33), ended(1, 4)._replace(id=6)))
    assert second.book.open_jobs() == {7: True}
    assert len(second.book) == 2


@pytest.mark.parametrize("seed", range(6))
def test_any_course_of_a_cluster_is_taken_in(seed: int) -> None:
    """Looks that fail, are stale or doubled, clocks that jump, restarts that give numbers anew; and
    books that follow each other."""
    settings = WorldSettings(nodes=12, load=0.9, run=300.0)
    calm = seed % 2 == 0
    world = SlurmWorld(settings if calm else rough(settings), seed)
    cluster = ModelCluster(world, CALM if calm else ROUGH)
    site, seen = SiteBook(generation=15), None
    books = {id(site.book)}
    for _ in range(400):
        world.advance(world.state.now + 30)
        try:
            seen = cluster.look(seen)
        except LookError:
            continue
        site.learn(replace(seen))
        books.add(id(site.book))
    assert site.ended >= 15
    assert len(books) > 1
    quotes = site.book.ask(world.state.now + 200, nodes=2, limit=600, probabilities=(0.5, 0.9))
    assert quotes[0].deadline <= quotes[1].deadline
