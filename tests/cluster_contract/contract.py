"""What every implementation of a cluster must do: Slurm's commands, slurmrestd, and the model.

A module subclasses `ClusterContract` and gives a fixture `site`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Protocol

import pytest

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.slurm.cluster.actions import (
    Action,
    ActionResult,
    DrainNode,
    Exclude,
    Hold,
    RebootNode,
    Release,
    Requeue,
    Reserve,
    ResumeNode,
    SignalJob,
    StartNow,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.cluster import LiveCluster
from forestall.slurm.cluster.nouns import ClusterJob
from forestall.slurm.cluster.standing import Standing

SCRIPT = "#!/bin/sh\ntrap : USR1\nwhile sleep 1; do :; done\n"
HOSTILE = ("-x --reservation=all", "a\nb", "$(touch pwned)", "größe ☃", "a=b Comment=forestall:x")

_numbers = itertools.count()


class Site(Protocol):
    """A cluster, and hands on it that are not ours. It has at least three nodes."""

    cluster: LiveCluster

    def now(self) -> int:
        """Return Unix seconds."""

    def until(self, what: str, true: Callable[[], bool]) -> None:
        """Let time pass until something is true."""

    def drain(self, node: str, reason: str) -> None:
        """Drain a node as a person does."""

    def resume(self, node: str) -> None:
        """Resume a node as a person does."""

    def hold(self, job: int) -> None:
        """Hold a job as a person does."""

    def cancel(self, job: int) -> None:
        """Cancel a job."""

    def stop(self) -> None:
        """Stop the controller."""

    def start(self) -> None:
        """Start it again."""


def fresh() -> str:
    """Return an id that nobody had."""
    return f"t{int(time.time()) % 100_000}-{next(_numbers)}"


def job_of(site: Site, number: int) -> ClusterJob:
    return site.cluster.look().jobs[number]


def submitted(site: Site, **more: object) -> int:
    action = Submit(
        fresh(), SCRIPT, 1, 600, since=site.now(), output="/dev/null", **more,  # type: ignore[arg-type]
    )  # fmt: skip
    try:
        return site.cluster.act(action).job
    except WriteError as error:
        if error.fault is WriteFault.UNSUPPORTED:
            pytest.skip(str(error))
        raise


def running(site: Site, **more: object) -> int:
    number = submitted(site, **more)
    site.until("it runs", lambda: job_of(site, number).state == "RUNNING")
    return number


def twice(site: Site, action: Action) -> ActionResult:
    """Carry out an action twice: the second time nothing is done. Returns the first effect.

    Skips where this implementation cannot do it at all.
    """
    try:
        first = site.cluster.act(action)
    except WriteError as error:
        if error.fault is WriteFault.UNSUPPORTED:
            pytest.skip(str(error))
        raise
    assert not first.already
    assert site.cluster.find(action) in (Standing.DONE, Standing.UNDER_WAY)
    again = site.cluster.act(action)
    assert again.already
    assert again.job == first.job
    return first


def fault_of(site: Site, action: Action) -> WriteFault:
    with pytest.raises(WriteError) as raised:
        site.cluster.act(action)
    if raised.value.fault is WriteFault.UNSUPPORTED:
        pytest.skip(str(raised.value))
    assert "\n" not in str(raised.value)
    return raised.value.fault


class ClusterContract:
    """The contract."""

    def test_a_look_shows_all(self, site: Site) -> None:
        number = running(site)
        first = site.cluster.look()
        job = first.jobs[number]
        assert (job.node_count, len(job.nodes), job.limit) == (1, 1, 600)
        assert set(job.nodes) <= set(first.nodes)
        assert job.start is not None
        assert abs(job.start - site.now()) < 60
        assert len(first.nodes) >= 3
        assert first.accounting is None
        assert first.version
        second = site.cluster.look(first)
        assert second.mark >= first.mark
        assert second.began >= first.began
        site.cancel(number)

    def test_what_ended_is_in_the_books(self, site: Site) -> None:
        number = running(site)
        before = site.cluster.look()
        site.cancel(number)

        def ended() -> bool:
            runs = site.cluster.look(before).runs
            return any(run.job == number and run.state.startswith("CANCELLED") for run in runs)

        site.until("the end is in the books", ended)
        assert job_of(site, number).state == "CANCELLED"

    def test_submit(self, site: Site) -> None:
        action = Submit(fresh(), SCRIPT, 2, 90, since=site.now(), words='my "own"\nwords',
                        output="/dev/null")  # fmt: skip
        effect = twice(site, action)
        job = job_of(site, effect.job)
        assert (job.node_count, job.limit) == (2, 120)
        assert job.mark.promise == action.id
        assert job.comment == f"forestall:{action.id} my own words"
        site.cancel(job.id)

    @pytest.mark.parametrize("name", HOSTILE)
    def test_names_are_text(self, site: Site, name: str) -> None:
        number = submitted(site, name=name)
        job = job_of(site, number)
        assert job.name == name
        assert job.reservation == ""
        site.cancel(number)

    def test_a_submission_is_found_after_it_ended(self, site: Site) -> None:
        action = Submit(fresh(), SCRIPT, 1, 90, since=site.now(), output="/dev/null")
        number = site.cluster.act(action).job
        site.until("it runs", lambda: job_of(site, number).state == "RUNNING")
        site.cancel(number)
        site.until("it ended", lambda: job_of(site, number).state == "CANCELLED")
        assert site.cluster.act(action) == ActionResult(action.id, True, number)

    def test_nonsense_is_refused(self, site: Site) -> None:
        for wrong in ({"partition": "nowhere"}, {"reservation": "nobody_made_this"}):
            action = Submit(fresh(), SCRIPT, 1, 60, **wrong)
            assert fault_of(site, action) in (WriteFault.REFUSED, WriteFault.UNKNOWN_ID)

    def test_reservations(self, site: Site) -> None:
        start = site.now() + 86_400
        action = Reserve(fresh(), start, 3600, 2, users=("root",), partition="main")
        twice(site, action)
        (one,) = site.cluster.look().reservations.values()
        assert (one.start, one.end, one.node_count) == (start, start + 3600, 2)
        assert {"FLEX", "REPLACE_DOWN"} <= set(one.flags)
        assert len(one.nodes) == 2
        twice(site, Unreserve(fresh(), action.id))
        assert not site.cluster.look().reservations

    def test_a_reservation_that_would_be_too_small_is_none(self, site: Site) -> None:
        action = Reserve(fresh(), site.now() + 86_400, 3600, 500, users=("root",), partition="main")
        assert fault_of(site, action) is WriteFault.REFUSED
        assert not site.cluster.look().reservations

    def test_a_reservation_moves_off_a_drained_node(self, site: Site) -> None:
        action = Reserve(fresh(), site.now() + 600, 3600, 1, users=("root",), partition="main")
        twice(site, action)
        (one,) = site.cluster.look().reservations.values()
        node = one.nodes[0]
        drained = DrainNode(fresh(), node, "fails soon")
        twice(site, drained)

        def moved() -> bool:
            (now,) = site.cluster.look().reservations.values()
            return len(now.nodes) == 1 and node not in now.nodes

        site.until("it moved", moved)
        twice(site, ResumeNode(fresh(), node, drained.id))
        twice(site, Unreserve(fresh(), action.id))

    def test_requeue(self, site: Site) -> None:
        number = running(site)
        twice(site, Requeue(fresh(), number, 0))
        job = job_of(site, number)
        assert job.restarts == 1
        twice_or_done(site, StartNow(fresh(), number))
        site.until("it runs again", lambda: job_of(site, number).state == "RUNNING")
        site.cancel(number)

    def test_requeue_elsewhere(self, site: Site) -> None:
        """However soon Slurm starts it again, it is not where it was."""
        number = running(site)
        [node] = job_of(site, number).nodes
        twice(site, Requeue(fresh(), number, 0, (node,)))
        job = job_of(site, number)
        assert (job.restarts, job.held, job.mark.hold) == (1, False, "")
        assert node in job.excluded
        twice_or_done(site, StartNow(fresh(), number))
        site.until("it runs again", lambda: job_of(site, number).state == "RUNNING")
        assert node not in job_of(site, number).nodes
        site.cancel(number)

    def test_hold_and_release(self, site: Site) -> None:
        number = submitted(site, begin=site.now() + 300)
        held = Hold(fresh(), number)
        twice(site, held)
        assert job_of(site, number).held
        assert fault_of(site, Hold(fresh(), number)) is WriteFault.NOT_OURS
        assert fault_of(site, Release(fresh(), number, "somebody")) is WriteFault.NOT_OURS
        twice(site, Exclude(fresh(), number, ("n1",)))  # another action does not hide the hold
        twice(site, Release(fresh(), number, held.id))
        assert not job_of(site, number).held
        site.cancel(number)

    def test_a_persons_hold_stays(self, site: Site) -> None:
        number = submitted(site, begin=site.now() + 300)
        site.hold(number)
        assert fault_of(site, Release(fresh(), number, "h1")) is WriteFault.NOT_OURS
        assert fault_of(site, Hold(fresh(), number)) is WriteFault.NOT_OURS
        assert job_of(site, number).held
        site.cancel(number)

    def test_exclude(self, site: Site) -> None:
        number = submitted(site, begin=site.now() + 300, excluded=("n2",))
        twice(site, Exclude(fresh(), number, ("n1",)))
        assert set(job_of(site, number).excluded) == {"n1", "n2"}
        site.cancel(number)

    def test_signal(self, site: Site) -> None:
        number = running(site)
        action = SignalJob(fresh(), number, "USR1")
        twice(site, action)
        assert job_of(site, number).mark.act == action.id
        site.cancel(number)

    def test_a_signal_that_is_refused_leaves_no_mark(self, site: Site) -> None:
        number = submitted(site, begin=site.now() + 300)
        assert fault_of(site, SignalJob(fresh(), number, "USR1")) is WriteFault.REFUSED
        assert not job_of(site, number).mark.act
        site.cancel(number)

    def test_jobs_that_are_not_there(self, site: Site) -> None:
        for action in (Hold(fresh(), 999_999), Requeue(fresh(), 999_999, 0)):
            assert fault_of(site, action) is WriteFault.UNKNOWN_ID

    def test_drain_and_resume(self, site: Site) -> None:
        action = DrainNode(fresh(), "n3", 'fails within 2 h: 31 % [see "why"]')
        twice(site, action)
        node = site.cluster.look().nodes["n3"]
        assert not node.in_service
        assert node.ours == action.id
        assert fault_of(site, DrainNode(fresh(), "n3", "again")) is WriteFault.NOT_OURS
        assert fault_of(site, ResumeNode(fresh(), "n3", "another")) is WriteFault.NOT_OURS
        twice(site, ResumeNode(fresh(), "n3", action.id))
        assert site.cluster.look().nodes["n3"].in_service

    @pytest.mark.parametrize("reason", ["bad fan, RT 4711", "Forestall: no", "forestall later"])
    def test_a_persons_drain_stays(self, site: Site, reason: str) -> None:
        site.drain("n3", reason)
        acts = (
            DrainNode(fresh(), "n3", "risk"), ResumeNode(fresh(), "n3", "d1"),
            RebootNode(fresh(), "n3", "d1", "sick"),
        )  # fmt: skip
        for action in acts[: 2 if self.no_reboot else 3]:
            assert fault_of(site, action) is WriteFault.NOT_OURS
        node = site.cluster.look().nodes["n3"]
        assert (node.reason, node.in_service) == (reason, False)
        site.resume("n3")

    no_reboot = False

    def test_a_healthy_node_is_not_rebooted(self, site: Site) -> None:
        """It stands in service without a reason: that intent is over, and nothing is done."""
        action = RebootNode(fresh(), "n3", "d1", "sick")
        if self.no_reboot:
            assert fault_of(site, action) is WriteFault.UNSUPPORTED
        assert site.cluster.act(action).already

    def test_reboot(self, site: Site) -> None:
        number = running(site)
        (name,) = job_of(site, number).nodes
        drained = DrainNode(fresh(), name, "sick")
        twice(site, drained)
        action = RebootNode(fresh(), name, drained.id, "sick")
        twice(site, action)  # a job is on it: it is asked for, and not yet done
        node = site.cluster.look().nodes[name]
        assert "REBOOT_REQUESTED" in node.flags or "REBOOT_ISSUED" in node.flags
        assert node.ours == action.id
        twice(site, ResumeNode(fresh(), name, action.id))
        site.cancel(number)
        site.until("it is idle", lambda: site.cluster.look().nodes[name].in_service)

    def test_nodes_that_are_not_there(self, site: Site) -> None:
        assert fault_of(site, DrainNode(fresh(), "n999", "risk")) is WriteFault.UNKNOWN_ID

    def test_away_and_back(self, site: Site) -> None:
        """While the controller is away nothing is known, nothing done and nothing invented."""
        before = site.cluster.look()
        action = Submit(fresh(), SCRIPT, 1, 90, since=site.now(), output="/dev/null")
        drain = DrainNode(fresh(), "n3", "risk")
        site.stop()
        try:
            with pytest.raises(LookError) as raised:
                site.cluster.look(before)
            away = (LookFault.UNREACHABLE, LookFault.LATE, LookFault.FAILED)
            assert raised.value.fault in away, raised.value
            for one in (action, drain):
                with pytest.raises(WriteError) as refused:
                    site.cluster.act(one)
                unknown = (WriteFault.UNREACHABLE, WriteFault.UNSUPPORTED)
                assert refused.value.fault in unknown, refused.value
        finally:
            site.start()
        after = site.cluster.look(before)
        assert set(after.nodes) == set(before.nodes)
        assert site.cluster.find(action) is Standing.OPEN
        effect = twice(site, action)
        site.cancel(effect.job)


def twice_or_done(site: Site, action: Action) -> None:
    """As `twice`, where nothing may be left to do."""
    site.cluster.act(action)
    # Slurm shows the old reason until its scheduler has looked at the job again.
    site.until("it is done", lambda: site.cluster.find(action) is Standing.DONE)
