"""What must hold for every run of cycle sharing, whatever the scheduler decides."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.cycle import (
    FAR,
    MILLION,
    Fate,
    GuestDecisionKind,
    GuestEventKind,
    GuestReason,
    StayEnd,
)
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.outcome import CycleOutcome
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle
from sharing.simulation.cycle_cases import (
    SCHEDULERS,
    Case,
    cycle_cases,
    daily_case,
    plain,
    prepared,
    random_case,
)

CASES = st.one_of(
    cycle_cases(), st.integers(0, 10**6).map(random_case), st.integers(0, 10**6).map(daily_case)
)
FEW = settings(max_examples=50)
LEFT = (StayEnd.CONTENTION, StayEnd.THRASHING, StayEnd.AWAY)


def played(case: Case, **options: Any) -> CycleOutcome:
    jobs, hosts, parameters = prepared(case)
    return play_cycle(prepare_guests(jobs, hosts, parameters), hosts, parameters, **options)


def by(table: np.ndarray, name: str) -> dict[int, list[Any]]:
    """Return the rows of a table by a field, in order of their starts."""
    found: dict[int, list[Any]] = defaultdict(list)
    for row in np.sort(table, order="start", kind="stable"):
        found[int(row[name])].append(row)
    return found


def states_between(outcome: CycleOutcome, host: int, start: int, end: int) -> list[int]:
    """Return the states of a host at each second of [start, end), by its runs."""
    first = outcome.states.first
    runs = outcome.states.runs[first[host] : first[host + 1]]
    before = np.searchsorted(runs["start"], start, side="right") - 1
    after = np.searchsorted(runs["start"], end, side="left")
    return runs["state"][before : max(after, before + 1)].tolist()


@FEW
@given(CASES)
def test_a_host_has_one_guest_and_a_guest_one_host(case: Case) -> None:
    stays = played(case).stays
    for name in ("host", "job"):
        for mine in by(stays, name).values():
            assert all(one["end"] <= next_["start"] for one, next_ in pairwise(mine)), case


@FEW
@given(CASES)
def test_guests_are_on_available_hosts_alone(case: Case) -> None:
    outcome = played(case)
    for stay in outcome.stays:
        host, start, end = (int(stay[name]) for name in ("host", "start", "end"))
        assert set(states_between(outcome, host, start, end)) <= {0, 1}, case
        if stay["ended"] in LEFT:  # the stay ends when the host leaves, and for that reason
            assert states_between(outcome, host, end, end + 1) == [int(stay["ended"]) + 1], case
        if stay["ended"] == StayEnd.UNFINISHED:
            assert end == outcome.states.end


@FEW
@given(CASES)
def test_guests_move_as_they_were_let(case: Case) -> None:
    """Moves need checkpoints and Falcon, come when guests are looked at, lose nothing, and are of
    guests whose hosts did not stay as likely as they had to, as far as was foreseen."""
    outcome = played(case, log_events=True)
    p, stays, made = outcome.parameters, outcome.stays, plain(outcome).decisions
    asked = stays[stays["asked"] >= 0]
    moved = stays[stays["ended"] == StayEnd.MOVED]
    assert p.moves or not len(asked)
    assert np.all(moved["asked"] >= 0)
    assert np.all((asked["asked"] - outcome.states.begin) % p.look_every == 0)
    assert np.all((asked["start"] < asked["asked"]) & (asked["asked"] <= asked["end"]))
    assert np.all(moved["end"] == moved["asked"] + p.checkpoint_overhead)
    assert np.all(asked["end"] <= asked["asked"] + p.checkpoint_overhead)
    assert not np.any(asked["ended"] == StayEnd.COMPLETED)
    assert not moved["lost"].any()
    told = [(row[3], row[0]) for row in made if row[1] == GuestDecisionKind.MOVE]
    assert sorted(told) == sorted(asked[["job", "asked"]].tolist())
    if not p.moves:
        return
    log = outcome.log
    looks = log.events["kind"] == GuestEventKind.GUEST_AT_RISK
    last = np.cumsum(log.events["candidates"])
    for end, event in zip(last[looks], log.events[looks], strict=True):
        found = log.estimates[end - event["candidates"] : end]
        (own,) = set(found["host"].tolist()) & {
            int(one["host"]) for one in stays
            if one["job"] == event["key"] and one["start"] < event["time"] <= one["end"]
        }  # fmt: skip
        assert found["chance"][found["host"] == own] < round(MILLION * p.move_below)
        ends = found["jctf"].tolist()
        if event["decisions"]:
            assert min(ends) < found["jctf"][found["host"] == own]


@FEW
@given(CASES)
def test_work_is_conserved(case: Case) -> None:
    outcome = played(case)
    p, need = outcome.parameters, outcome.workload.work
    for job, mine in by(outcome.stays, "job").items():
        saved = 0
        for stay in mine:
            work = int(stay["work"])
            assert 0 <= work <= need[job] - saved
            if stay["ended"] == StayEnd.COMPLETED:
                assert saved + work == stay["saved"] == need[job]
                assert stay["lost"] == 0
            elif stay["ended"] == StayEnd.MOVED:
                assert stay["saved"] == saved + work < need[job]
                assert stay["lost"] == 0 < stay["checkpoints"]
            elif stay["ended"] == StayEnd.UNFINISHED:
                assert saved <= stay["saved"] <= saved + work < need[job]
                assert stay["lost"] == 0
            else:
                assert saved <= stay["saved"] <= saved + work < need[job]
                assert stay["lost"] == saved + work - stay["saved"]
                if p.restart == "scratch":
                    assert stay["saved"] == 0
                elif p.checkpoint_at_end and stay["ended"] != StayEnd.AWAY:
                    assert stay["lost"] == 0 < stay["checkpoints"]
            saved = int(stay["saved"])
        total = sum(int(stay["work"] - stay["lost"]) for stay in mine)
        if mine[-1]["ended"] == StayEnd.COMPLETED:
            assert total == need[job]
        assert all(stay["ended"] in (*LEFT, StayEnd.MOVED) for stay in mine[:-1])
    if p.restart == "scratch":
        assert not outcome.stays["checkpoints"].any()


@FEW
@given(CASES)
def test_no_stay_does_more_than_its_host_could(case: Case) -> None:
    outcome = played(case)
    p, world = outcome.parameters, outcome.states

    def done(host: int, t: int) -> int:
        sample, within = divmod(t - world.begin, world.period)
        whole = world.done[host]
        if within == 0:
            return int(whole[sample])
        step = int(whole[sample + 1] - whole[sample])
        assert step % world.period == 0
        return int(whole[sample]) + step // world.period * within

    pausing = p.restart == "checkpoint" and (p.checkpoint_overhead or p.restart_overhead)
    for stay in outcome.stays:
        host, start, end = (int(stay[name]) for name in ("host", "start", "end"))
        most = done(host, end) - done(host, start)
        assert stay["work"] <= most
        if stay["ended"] == StayEnd.COMPLETED:  # and it ended in the first second that is enough
            assert pausing or done(host, end - 1) - done(host, start) < stay["work"]
        elif not pausing:
            assert stay["work"] == most


@FEW
@given(CASES)
def test_fates_are_what_the_stays_tell(case: Case) -> None:
    outcome = played(case)
    p, jobs = outcome.parameters, outcome.workload.jobs
    stays = by(outcome.stays, "job")
    fastest = float(outcome.hosts.speed.max())
    for job, fate in enumerate(outcome.jobs):
        mine, submit = stays[job], int(jobs.submit[job])
        assert fate["start"] == (mine[0]["start"] if mine else -1)
        assert fate["failures"] == sum(stay["ended"] in LEFT for stay in mine)
        assert fate["lost"] == sum(int(stay["lost"]) for stay in mine)
        assert fate["checkpoints"] == sum(int(stay["checkpoints"]) for stay in mine)
        assert all(stay["start"] >= submit for stay in mine)
        completed = bool(mine) and mine[-1]["ended"] == StayEnd.COMPLETED
        assert (fate["outcome"] == Fate.COMPLETED) == completed
        assert fate["finish"] == (mine[-1]["end"] if completed else -1)
        assert fate["tries"] >= max(1, len(mine))
        if completed:
            assert fate["finish"] <= outcome.states.end
            # Rates are rounded to millionths.
            makespan = int(fate["finish"]) - submit
            assert makespan * round(1e6 * fastest) >= int(jobs.runtime[job]) * MILLION
        if fate["outcome"] == Fate.UNSCHEDULED:
            assert not mine
            assert fate["tries"] >= p.retries + 1
            if p.scheduler != "omniscient":
                assert fate["tries"] == p.retries + 1


@FEW
@given(CASES)
def test_decisions_are_sound(case: Case) -> None:
    outcome = played(case, log_events=True)
    out, p = plain(outcome), outcome.parameters
    tried = np.repeat(outcome.log.events["kind"], outcome.log.events["candidates"])
    left = [one for one, kind in zip(out.estimates, tried, strict=True)
            if kind == GuestEventKind.TRY]  # fmt: skip
    at: dict[int, int] = {}
    for row in out.decisions:
        time, kind, reason, job, host, again, _, many, *figures = row
        if kind == GuestDecisionKind.MOVE:
            continue
        if kind == GuestDecisionKind.END:
            assert states_between(outcome, host, time, time + 1)[0] >= 2
            continue
        looked, left = left[:many], left[many:]
        hosts = [estimate[0] for estimate in looked]
        assert hosts == sorted(set(hosts))
        assert all(states_between(outcome, h, time, time + 1)[0] < 2 for h in hosts)
        if kind == GuestDecisionKind.START:
            assert (host, *figures) in looked
            _sound(p.scheduler, reason, (host, *figures), looked)
        else:
            assert (kind == GuestDecisionKind.WAIT) == (again == time + p.retry)
            assert (reason == GuestReason.DOOMED) == (many > 0)
        assert at.get(job, time) == time  # it was tried when it was said that it would be
        at.pop(job, None)
        if again >= 0:
            at[job] = again
    assert not left
    assert all(time >= outcome.states.end for time in at.values())
    starts = [
        (row[3], row[4], row[0]) for row in out.decisions if row[1] == GuestDecisionKind.START
    ]
    told = outcome.stays[["job", "host", "start"]].tolist()
    assert sorted(starts) == sorted(told)


def _sound(scheduler: str, reason: int, chosen: Any, looked: list[Any]) -> None:
    _, jct, mttf, etl, jctf, rank, chance = chosen
    assert 0 <= chance <= MILLION
    assert scheduler.startswith("falcon") or chance == 0
    if scheduler == "condor":
        assert reason == GuestReason.BEST_RANK
        assert rank == max(row[5] for row in looked)
    elif scheduler == "omniscient":
        assert (reason == GuestReason.TRUE_END) == (jctf < FAR)
        assert jctf == min(row[4] for row in looked)
        assert jctf < FAR or etl == max(row[3] for row in looked)
    else:
        stays = [row for row in looked if row[1] <= row[2]]
        assert (reason == GuestReason.ENDS_FIRST) == (jct <= mttf) == bool(stays)
        if stays:
            assert (jctf, -mttf) == min((row[4], -row[2]) for row in stays)
        else:
            assert (etl, mttf) == max((row[3], row[2]) for row in looked)
        # Failures make nothing quicker; the slides' JCT is by another mean load than their JCTF.
        assert scheduler != "falcon" or all(row[1] <= row[4] for row in looked)


@FEW
@given(CASES)
def test_the_omniscient_from_scratch_never_loses_a_guest(case: Case) -> None:
    asked = {"scheduler": "omniscient", "restart": "scratch"}
    out = played(replace(case, settings=case.settings | asked))
    assert not out.jobs["failures"].any()
    assert np.all(out.stays["ended"] == StayEnd.COMPLETED)
    assert not out.jobs["lost"].any()


@FEW
@given(CASES)
def test_same_inputs_same_bytes(case: Case) -> None:
    jobs, hosts, parameters = prepared(case)
    workload, shared = prepare_guests(jobs, hosts, parameters), Forecasts(hosts, parameters)
    told: list[tuple[int, int]] = []

    def again(**options: Any) -> CycleOutcome:
        return play_cycle(workload, hosts, parameters, log_events=True, forecasts=shared, **options)

    first = played(case)
    second = again(progress=lambda done, all_: told.append((done, all_)))
    third = again()
    for other in (second, third):
        assert first.jobs.tobytes() == other.jobs.tobytes()
        assert first.stays.tobytes() == other.stays.tobytes()
        assert (first.events, first.end) == (other.events, other.end)
    for name in ("events", "decisions", "estimates"):
        assert getattr(second.log, name).tobytes() == getattr(third.log, name).tobytes()
        assert len(getattr(first.log, name)) == 0
    assert len(second.log.events) == first.events
    assert told == sorted(told)
    assert all(done <= many == len(first.jobs) for done, many in told)


@FEW
@given(CASES)
def test_the_last_second_in_which_something_happened(case: Case) -> None:
    outcome = played(case, log_events=True)
    made = outcome.log.events["time"][outcome.log.events["decisions"] > 0].tolist()
    if Fate.UNFINISHED in outcome.jobs["outcome"]:
        assert outcome.end == outcome.states.end
    else:
        assert outcome.end == max([*made, *outcome.stays["end"].tolist()]), case


@FEW
@given(CASES, st.sampled_from([1, 3600, 12_345]))
def test_nothing_depends_on_where_the_clock_begins(case: Case, later: int) -> None:
    """Jobs that come later by as much as the traces begin earlier see the same world."""
    warm = case.settings["warm_up"]
    shift = min(later, warm)
    moved = replace(
        case,
        jobs=[(submit + shift, runtime) for submit, runtime in case.jobs],
        settings={**case.settings, "warm_up": warm - shift},
    )
    first, second = played(case), played(moved)
    assert np.array_equal(first.stays["work"], second.stays["work"])
    assert np.array_equal(first.stays["start"] + shift, second.stays["start"])
    assert np.array_equal(first.stays["end"] + shift, second.stays["end"])
    assert np.array_equal(first.jobs["tries"], second.jobs["tries"])


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_quiet_pool_treats_all_schedulers_alike(scheduler: str) -> None:
    """Without owners the only question is which host is fastest: all find it."""
    case = Case(
        [(k * 50, 300) for k in range(5)], [[0.0] * 60] * 3, speed=[1.0, 3.0, 2.0],
        settings={"scheduler": scheduler},
    )  # fmt: skip
    assert played(case).stays[["job", "host", "start", "end"]].tolist() == [
        (0, 1, 0, 100),
        (1, 2, 50, 200),
        (2, 1, 100, 200),
        (4, 1, 200, 300),
        (3, 0, 150, 450),
    ]
