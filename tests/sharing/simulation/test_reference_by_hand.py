"""Cases small enough to follow by hand, for the reference and for the fast code alike.

Work and rates are in millionths: on a host of speed 1 without load a job of 100 s has 100,000,000
to do. Samples are a minute apart unless told otherwise. NAN, with no hold time, is a host that is
away from that sample on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forestall.core.model.cycle import (
    ESTIMATE,
    FAR,
    FATE,
    STAY,
    Fate,
    GuestDecisionKind,
    GuestEventKind,
    GuestReason,
    StayEnd,
)
from forestall.core.model.errors import ForestallError
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.core.streams import stream
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle
from sharing.simulation import cycle_reference
from sharing.simulation.cycle_cases import NAN, Case, JobRow, plain, prepared
from sharing.simulation.cycle_reference import PlainOutcome

M = 1_000_000
DAY = 86_400
Play = Callable[..., PlainOutcome]
START, WAIT, GIVE_UP, END, MOVE = GuestDecisionKind
ENDED, STATE, TRY = GuestEventKind.GUEST_ENDED, GuestEventKind.HOST_STATE, GuestEventKind.TRY
RISK, SAVED = GuestEventKind.GUEST_AT_RISK, GuestEventKind.GUEST_SAVED
DECISION = [
    "time",
    "kind",
    "reason",
    "job",
    "host",
    "at",
    "tries",
    "candidates",
    "jct",
    "mttf",
    "etl",
    "jctf",
    "rank",
    "chance",
]
FIELDS = {
    "fates": list(FATE.names or ()),
    "stays": list(STAY.names or ()),
    "events": ["time", "kind", "key", "state"],
    "decisions": DECISION,
    "estimates": list(ESTIMATE.names or ()),
}


def slow(jobs: Jobs, hosts: HostTraces, parameters: CycleParameters) -> PlainOutcome:
    return cycle_reference.play(jobs, hosts, parameters)


def fast(jobs: Jobs, hosts: HostTraces, parameters: CycleParameters) -> PlainOutcome:
    workload = prepare_guests(jobs, hosts, parameters)
    return plain(play_cycle(workload, hosts, parameters, log_events=True))


@pytest.fixture(params=[slow, fast], ids=lambda function: function.__name__)
def play(request: pytest.FixtureRequest) -> Play:
    def played(
        jobs: list[JobRow],
        load: list[list[float]],
        memory: list[list[float]] | None = None,
        *,
        period: int = 60,
        speed: list[float] | None = None,
        origin: int | None = None,
        **settings: Any,
    ) -> PlainOutcome:
        settings = {"scheduler": "condor", "rank": "speed", "retry": 60, "hold": 0, **settings}
        case = Case(jobs, load, memory, period, speed or [], origin, settings)
        return request.param(*prepared(case))

    return played


def told(outcome: PlainOutcome, table: str, names: str) -> list[Any]:
    """Return some fields of a table; plain values where it is one field."""
    where = [FIELDS[table].index(name) for name in names.split()]
    found = [tuple(row[k] for k in where) for row in getattr(outcome, table)]
    return [row[0] for row in found] if len(where) == 1 else found


# ------------------------------------------------------------------------------- work


def test_a_job_takes_what_the_owner_leaves(play: Play) -> None:
    # 2 x (1 - 0.25) = 1.5 s of work a second: 66.7 s.
    out = play([(0, 100)], [[0.25] * 5], speed=[2.0])
    assert out.stays == [(0, 0, StayEnd.COMPLETED, 0, 0, 67, 100 * M, 100 * M, 0, -1)]
    assert out.fates == [(0, 67, Fate.COMPLETED, 1, 0, 0, 0)]


def test_the_rate_changes_with_each_sample(play: Play) -> None:
    # 60 s in the first minute, and the other 40 at half the rate.
    assert told(play([(0, 100)], [[0.0, 0.5, 0.5, 0.5]]), "fates", "finish") == [140]
    # Time 0 is 90 s into the traces: sample 1 lasts till 30, sample 2 from then on.
    out = play([(0, 100)], [[1.0, 0.5, 0.0, 0.0]], th2=1.0, warm_up=90)
    assert told(out, "fates", "start finish") == [(0, 30 + 85)]
    assert told(out, "events", "time kind state") == [
        (0, TRY, -1),
        (30, STATE, 0),
        (115, ENDED, -1),
    ]


def test_a_load_outside_of_its_range_counts_as_its_bound(play: Play) -> None:
    out = play([(0, 30)], [[-0.5, 1.5, 0.0, 0.0]], hold=60)
    assert told(out, "fates", "finish") == [30]
    out = play([(60, 30)], [[-0.5, 1.5, 0.0, 0.0]], hold=60)
    assert told(out, "fates", "finish") == [150]


def test_a_spike_slows_the_guest_or_stops_it(play: Play) -> None:
    # A minute above th2 is no longer than the hold time: S2. The guest gets 12 s of work in it.
    row = [0.0, 0.8, 0.0, 0.0]
    out = play([(0, 100)], [row], hold=60)
    assert told(out, "fates", "finish") == [148]
    assert [event for event in out.events if event[1] == STATE] == [(60, 1, 0, 1), (120, 1, 0, 0)]
    assert told(play([(0, 100)], [row], hold=60, spikes="stop"), "fates", "finish") == [160]
    # A load of exactly th2 is no spike.
    row = [0.0, 0.6, 0.6, 0.6]
    assert told(play([(0, 100)], [row], hold=60, spikes="stop"), "fates", "finish") == [160]


def test_a_short_gap_stops_the_guest(play: Play) -> None:
    out = play([(0, 100)], [[0.0, NAN, 0.0, 0.0]], hold=60)
    assert told(out, "fates", "finish") == [160]
    assert told(out, "events", "kind") == [TRY, ENDED]  # S1 all along


def test_job_length_goes_before_the_log(play: Play) -> None:
    out = play([(0, 0), (5, 80)], [[0.0] * 5], job_length=20)
    assert told(out, "fates", "start finish") == [(0, 20), (65, 85)]


def test_jobs_that_cannot_be_simulated_are_left_out(play: Play) -> None:
    out = play([(0, 0), (1, -1), (2, 10), (300, 1), (400, 1)], [[0.0] * 5])
    assert out.fates == [(2, 12, Fate.COMPLETED, 1, 0, 0, 0)]
    with pytest.raises((ForestallError, IndexError)):
        play([(0, 0), (300, 5)], [[0.0] * 5])


# ------------------------------------------------------------------------------- losing a host


def test_contention_ends_a_guest_and_it_starts_again(play: Play) -> None:
    # Above th2 from 60 on; from 120 on for longer than the hold time; again free at 240.
    out = play([(0, 100)], [[0.0, 0.8, 0.8, 0.8, 0.0, 0.0, 0.0]], hold=60, retries=0)
    assert out.stays == [
        (0, 0, StayEnd.CONTENTION, 0, 0, 120, 72 * M, 0, 72 * M, -1),
        (0, 0, StayEnd.COMPLETED, 0, 240, 340, 100 * M, 100 * M, 0, -1),
    ]
    # Tried at 0, and once a minute from 120 on: a job that had a host is never given up.
    assert told(out, "decisions", "time kind reason host at tries candidates") == [
        (0, START, GuestReason.BEST_RANK, 0, -1, 1, 1),
        (120, END, GuestReason.CONTENTION, 0, -1, 0, 0),
        (120, WAIT, GuestReason.NO_HOST, -1, 180, 1, 0),
        (180, WAIT, GuestReason.NO_HOST, -1, 240, 2, 0),
        (240, START, GuestReason.BEST_RANK, 0, -1, 3, 1),
    ]
    assert out.fates == [(0, 340, Fate.COMPLETED, 4, 1, 72 * M, 0)]


def test_a_host_that_goes_away(play: Play) -> None:
    out = play([(0, 100)], [[0.0, NAN, NAN, 0.0, 0.0]], hold=60)
    # The first minute of the gap might have been a late sample.
    assert told(out, "stays", "ended end work lost") == [
        (StayEnd.AWAY, 120, 60 * M, 60 * M),
        (StayEnd.COMPLETED, 280, 100 * M, 0),
    ]


def test_memory_that_is_just_enough(play: Play) -> None:
    out = play([(0, 150)], [[0.0] * 6], [[1.0, 0.1, 0.099, 0.1, NAN, 0.0]], guest_memory=0.1)
    assert told(out, "stays", "ended start end") == [
        (StayEnd.THRASHING, 0, 120),
        (StayEnd.THRASHING, 180, 300),
    ]
    assert told(out, "fates", "outcome failures lost") == [(Fate.UNFINISHED, 2, 240 * M)]


def test_a_guest_that_ends_as_its_host_leaves_has_ended(play: Play) -> None:
    row = [0.0, NAN, NAN, NAN]
    out = play([(0, 60), (0, 5)], [row], retries=9)
    assert told(out, "stays", "job ended end lost") == [(0, StayEnd.COMPLETED, 60, 0)]
    assert out.events[:4] == [
        (0, TRY, 0, -1),
        (0, TRY, 1, -1),
        (60, ENDED, 0, -1),
        (60, STATE, 0, 4),
    ]
    out = play([(0, 61)], [row])
    assert told(out, "stays", "ended end work lost") == [(StayEnd.AWAY, 60, 60 * M, 60 * M)]


# ------------------------------------------------------------------------------- trying


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_job_without_a_host_is_given_up(play: Play, retries: int) -> None:
    out = play([(5, 10)], [[NAN] * 9], retries=retries, retry=7)
    waits = [(5 + 7 * k, WAIT, GuestReason.NO_HOST, 12 + 7 * k, k + 1) for k in range(retries)]
    last = (5 + 7 * retries, GIVE_UP, GuestReason.TRIED_ENOUGH, -1, retries + 1)
    assert told(out, "decisions", "time kind reason at tries") == [*waits, last]
    assert out.fates == [(-1, -1, Fate.UNSCHEDULED, retries + 1, 0, 0, 0)]
    assert out.stays == out.estimates == []


def test_a_job_gets_the_host_that_is_freed_in_the_same_second(play: Play) -> None:
    out = play([(0, 60), (60, 10), (60, 10)], [[0.0] * 6])
    assert told(out, "stays", "job start end") == [(0, 0, 60), (1, 60, 70), (2, 120, 130)]
    assert told(out, "fates", "tries") == [1, 1, 2]


def test_a_job_gets_the_host_that_comes_back_in_the_same_second(play: Play) -> None:
    out = play([(0, 5), (60, 10)], [[NAN, 0.0, 0.0, 0.0]], retries=0)
    assert told(out, "fates", "start outcome") == [(-1, Fate.UNSCHEDULED), (60, Fate.COMPLETED)]


def test_a_job_that_lost_its_host_goes_first(play: Play) -> None:
    # The fast host leaves at 60, when the second job comes: the slow one is for the first.
    hosts = [[0.0, NAN, NAN, NAN, NAN], [0.0] * 5]
    out = play([(0, 150), (60, 10)], hosts, speed=[2.0, 1.0], retries=5)
    assert told(out, "stays", "job host start end") == [
        (0, 0, 0, 60),
        (0, 1, 60, 210),
        (1, 1, 240, 250),
    ]
    assert out.events[1:5] == [
        (60, STATE, 0, 4),
        (60, TRY, 0, -1),
        (60, TRY, 1, -1),
        (120, TRY, 1, -1),
    ]


def test_hosts_have_their_states_when_the_first_job_comes(play: Play) -> None:
    # The changes at 60 and 120 come too early to be told.
    out = play([(120, 10)], [[0.0, 0.3, 0.0, 0.3], [0.0] * 4], speed=[1.0, 2.0])
    assert out.events == [(120, TRY, 0, -1), (125, ENDED, 0, -1)]
    # None comes when there is no job left, and one that waits sees them all.
    out = play([(0, 3), (0, 200)], [[0.0, 0.3, 0.0, 0.3]], retry=1000)
    assert [event[0] for event in out.events] == [0, 0, 3, 60, 120, 180]


# ------------------------------------------------------------------------------- the end


def test_the_end_of_the_traces(play: Play) -> None:
    two = [[0.0, 0.0]]
    out = play([(0, 120)], two)
    assert out.fates == [(0, 120, Fate.COMPLETED, 1, 0, 0, 0)]
    assert out.events[-1] == (120, ENDED, 0, -1)
    out = play([(0, 121), (100, 5)], two)
    assert out.stays == [(0, 0, StayEnd.UNFINISHED, 0, 0, 120, 120 * M, 0, 0, -1)]
    assert out.fates == [
        (0, -1, Fate.UNFINISHED, 1, 0, 0, 0),
        (-1, -1, Fate.UNFINISHED, 1, 0, 0, 0),
    ]
    # A try at the very end is not made.
    assert told(play([(0, 121), (60, 5)], two), "fates", "tries") == [1, 1]
    assert told(play([(0, 121), (59, 5)], two, retries=1), "fates", "tries outcome") == [
        (1, Fate.UNFINISHED), (2, Fate.UNSCHEDULED),
    ]  # fmt: skip


def test_unfinished_stays_are_listed_by_host(play: Play) -> None:
    out = play([(0, 900), (0, 900)], [[0.0] * 3] * 2, speed=[1.0, 2.0])
    assert told(out, "stays", "host job work") == [(0, 1, 180 * M), (1, 0, 360 * M)]


# ------------------------------------------------------------------------------- checkpoints


def test_checkpoints_on_a_quiet_host(play: Play) -> None:
    # Four stretches of 50 s with three pauses of 10 s between; none when the work is done.
    settings = {"restart": "checkpoint", "checkpoint_interval": 50, "checkpoint_overhead": 10}
    out = play([(0, 200)], [[0.0] * 6], **settings)
    assert told(out, "stays", "end checkpoints work saved") == [(230, 3, 200 * M, 200 * M)]
    out = play([(0, 201)], [[0.0] * 6], **settings)
    assert told(out, "fates", "finish checkpoints") == [(241, 4)]


@pytest.mark.parametrize(
    ("settings", "saved", "taken"),
    [
        ({"checkpoint_overhead": 10}, 50, 1),  # done as the host leaves
        ({"checkpoint_overhead": 11}, 0, 0),  # a second too late
        ({"checkpoint_overhead": 0}, 50, 1),
        ({"checkpoint_overhead": 0, "checkpoint_interval": 60}, 60, 1),
        ({"checkpoint_overhead": 0, "checkpoint_interval": 61}, 0, 0),
        ({"checkpoint_overhead": 0, "checkpoint_interval": 20}, 60, 3),
        ({"checkpoint_overhead": 1, "checkpoint_interval": 20}, 40, 2),  # runs till 62, were it not
        ({"checkpoint_overhead": 9, "checkpoint_interval": 1}, 6, 6),
        ({"checkpoint_interval": None}, 0, 0),
    ],
)
@pytest.mark.parametrize("ended", [StayEnd.AWAY, StayEnd.THRASHING])
def test_what_is_saved_when_a_host_leaves_at_60(
    play: Play, settings: dict[str, Any], saved: int, taken: int, ended: StayEnd
) -> None:
    settings = {"restart": "checkpoint", "checkpoint_interval": 50, **settings}
    load, memory = [[0.0] * 4], None
    if ended == StayEnd.AWAY:
        load = [[0.0, NAN, NAN, NAN]]
    else:
        memory = [[1.0, 0.0, 0.0, 0.0]]
    last = play([(0, 500)], load, memory, checkpoint_at_end=False, **settings)
    work = told(last, "stays", "work")[0]
    assert told(last, "stays", "ended end saved lost checkpoints") == [
        (ended, 60, saved * M, work - saved * M, taken)
    ]
    assert told(last, "fates", "lost checkpoints") == [(work - saved * M, taken)]
    # With a checkpoint at the end, S3 and S4 lose nothing.
    out = play([(0, 500)], load, memory, **settings)
    if ended == StayEnd.AWAY:
        assert out == last
    else:
        assert told(out, "stays", "work saved lost checkpoints") == [(work, work, 0, taken + 1)]


def test_progress_within_a_pause_is_none(play: Play) -> None:
    row = [0.0, NAN, NAN, NAN]
    settings = {"restart": "checkpoint", "checkpoint_interval": 25, "checkpoint_overhead": 10}
    # Runs 0 to 25, stands till 35, runs till 60.
    assert told(play([(0, 99)], [row], **settings), "stays", "work saved lost") == [
        (50 * M, 25 * M, 25 * M)
    ]
    # Runs 0 to 25, stands from then on.
    out = play([(0, 99)], [row], **{**settings, "checkpoint_overhead": 60})
    assert told(out, "stays", "work saved lost") == [(25 * M, 0, 25 * M)]


def test_a_checkpoint_saves_the_work_at_its_begin_at_the_present_rate(play: Play) -> None:
    # 60 s at the full rate, then 40 at half of it: 80 s of work when the first checkpoint begins.
    settings = {"restart": "checkpoint", "checkpoint_interval": 100, "checkpoint_overhead": 5}
    out = play([(0, 300)], [[0.0, 0.5, 0.5, NAN, NAN]], **settings)
    assert told(out, "stays", "end work saved lost") == [
        (180, 80 * M + 37_500_000, 80 * M, 37_500_000)
    ]


def test_seconds_without_progress_count_for_the_interval(play: Play) -> None:
    # A gap of a minute, S1 all along: the checkpoint at 100 saves 60 s of work, no more.
    settings = {"restart": "checkpoint", "checkpoint_interval": 100, "hold": 60}
    out = play([(0, 300)], [[0.0, NAN, 0.0, NAN, NAN]], **settings)
    assert told(out, "stays", "end saved work checkpoints") == [(240, 120 * M, 120 * M, 2)]


def test_a_stay_that_goes_on_from_a_checkpoint(play: Play) -> None:
    settings = {
        "restart": "checkpoint", "checkpoint_interval": 50, "checkpoint_overhead": 10,
        "restart_overhead": 20,
    }  # fmt: skip
    # 50 s are saved by 60, when the host leaves. At 120 it is back: 20 s to restart, 50 s of
    # work, a pause of 10 s, and 20 s.
    out = play([(0, 120)], [[0.0, NAN, 0.0, 0.0, 0.0]], **settings)
    assert out.stays == [
        (0, 0, StayEnd.AWAY, 1, 0, 60, 50 * M, 50 * M, 0, -1),
        (0, 0, StayEnd.COMPLETED, 1, 120, 220, 70 * M, 120 * M, 0, -1),
    ]
    assert out.fates == [(0, 220, Fate.COMPLETED, 3, 1, 0, 2)]
    # Nothing was saved: the job begins anew, and has nothing to restart from.
    out = play([(0, 120)], [[0.0, NAN, 0.0, 0.0, 0.0]], **{**settings, "checkpoint_overhead": 11})
    assert told(out, "stays", "start end work saved lost checkpoints") == [
        (0, 60, 50 * M, 0, 50 * M, 0),
        (120, 262, 120 * M, 120 * M, 0, 2),
    ]


def test_a_host_that_leaves_before_the_guest_has_restarted(play: Play) -> None:
    settings = {"restart": "checkpoint", "checkpoint_interval": 30, "restart_overhead": 70}
    out = play([(0, 200)], [[0.0, NAN, 0.0, NAN, 0.0, 0.0, 0.0]], **settings)
    assert told(out, "stays", "start end work saved lost") == [
        (0, 60, 60 * M, 60 * M, 0),
        (120, 180, 0, 60 * M, 0),
        (240, 420, 110 * M, 150 * M, 0),
    ]
    assert told(out, "stays", "ended checkpoints") == [
        (StayEnd.AWAY, 2), (StayEnd.AWAY, 0), (StayEnd.UNFINISHED, 3),
    ]  # fmt: skip


def test_losing_part_of_a_later_stay(play: Play) -> None:
    settings = {"restart": "checkpoint", "checkpoint_interval": 40, "checkpoint_at_end": False}
    out = play([(0, 200)], [[0.0, NAN, 0.0, NAN, 0.0, 0.0, 0.0, 0.0]], **settings)
    assert told(out, "stays", "work saved lost") == [
        (60 * M, 40 * M, 20 * M),
        (60 * M, 80 * M, 20 * M),
        (120 * M, 200 * M, 0),
    ]
    assert told(out, "fates", "finish failures lost checkpoints") == [(360, 2, 40 * M, 4)]


def test_from_scratch_there_are_no_checkpoints(play: Play) -> None:
    settings = {"checkpoint_interval": 10, "checkpoint_overhead": 30, "restart_overhead": 30}
    out = play([(0, 100)], [[0.0, 0.0, 0.0, 0.0]], [[1.0, 0.0, 1.0, 1.0]], **settings)
    assert told(out, "stays", "start end saved lost checkpoints") == [
        (0, 60, 0, 60 * M, 0),
        (120, 220, 100 * M, 0, 0),
    ]


# ------------------------------------------------------------------------------- condor


def test_condor_takes_the_best_rank(play: Play) -> None:
    hosts = [[0.0] * 4, [0.55] * 4, [0.5] * 4]
    out = play([(0, 10)], hosts, speed=[1.0, 4.0, 2.2])
    assert told(out, "estimates", "host rank") == [(0, M), (1, 4 * M), (2, 2_200_000)]
    assert told(out, "decisions", "host rank candidates") == [(1, 4 * M, 3)]
    out = play([(0, 10)], hosts, speed=[1.9, 4.0, 2.2], rank="idle")
    assert told(out, "decisions", "host rank jct mttf etl jctf") == [(0, 1_900_000, 0, 0, 0, 0)]
    out = play([(0, 10)], [[NAN, 0.0, NAN, 0.0], [0.59] * 4], rank="idle", hold=60, warm_up=120)
    assert told(out, "estimates", "rank") == [0, 410_000]  # S1, but nothing is known of the load
    out = play([(0, 10)], [[0.7] * 4, [0.59] * 4], rank="idle", hold=60, spikes="stop")
    assert told(out, "estimates", "rank") == [0, 410_000]


def test_condor_draws_among_equals(play: Play) -> None:
    jobs = [(0, 300)] * 3 + [(60, 10)]
    hosts, speed = [[0.0] * 9] * 4, [1.0, 1.0, 2.0, 1.0]
    for seed in range(8):
        # The first goes to the best host, though a number is drawn; then one of three, of two.
        draws = stream(seed, "cycle", "condor").random(4)
        left = [0, 1, 3]
        second = left.pop(math.floor(draws[1] * 3))
        third = left.pop(math.floor(draws[2] * 2))
        out = play(jobs, hosts, speed=speed, seed=seed)
        assert told(out, "decisions", "host") == [2, second, third, left[0]]
    firsts = {
        told(play(jobs, hosts, speed=speed, seed=s), "decisions", "host")[1] for s in range(8)
    }
    assert firsts == {0, 1, 3}


# ------------------------------------------------------------------------------- omniscient


def omniscient(play: Play, jobs: list[JobRow], hosts: list[list[float]], **settings: Any) -> Any:
    return play(jobs, hosts, scheduler="omniscient", **settings)


def test_the_omniscient_takes_the_true_end(play: Play) -> None:
    hosts, speed = [[0.0, NAN, NAN, NAN], [0.0, 0.0, 0.0, 0.0]], [2.0, 1.0]
    out = omniscient(play, [(0, 120)], hosts, speed=speed)  # ends as the host leaves
    assert told(out, "estimates", "host etl jctf") == [(0, 120, 60), (1, 120, 120)]
    assert told(out, "decisions", "reason host etl jctf") == [(GuestReason.TRUE_END, 0, 120, 60)]
    out = omniscient(play, [(0, 121)], hosts, speed=speed)
    assert told(out, "estimates", "host etl jctf") == [(0, 120, FAR), (1, 121, 121)]
    assert told(out, "decisions", "reason host jctf") == [(GuestReason.TRUE_END, 1, 121)]
    assert told(omniscient(play, [(0, 60)], [hosts[1]] * 2), "decisions", "host") == [0]


def test_the_omniscient_waits_rather_than_fail(play: Play) -> None:
    hosts = [[0.0, NAN, NAN, NAN, 0.0, 0.0], [0.0, 0.0, NAN, NAN, NAN, NAN]]
    out = omniscient(play, [(0, 121)], hosts, speed=[2.0, 1.0], retries=0)
    assert told(out, "decisions", "time kind reason host at tries candidates") == [
        (0, WAIT, GuestReason.DOOMED, -1, 60, 1, 2),
        (60, WAIT, GuestReason.DOOMED, -1, 120, 2, 1),  # neither is a miss
        (120, GIVE_UP, GuestReason.TRIED_ENOUGH, -1, -1, 3, 0),
    ]
    out = omniscient(play, [(0, 121)], hosts, speed=[2.0, 1.0], retries=2)
    assert told(out, "stays", "host start end") == [(0, 240, 301)]


def test_the_omniscient_with_checkpoints_takes_most_work(play: Play) -> None:
    hosts = [[0.0, NAN, NAN, NAN], [0.0, 0.0, NAN, NAN], [0.0, 0.1, NAN, NAN]]
    settings = {"restart": "checkpoint", "checkpoint_interval": 60}
    out = omniscient(play, [(0, 300)], hosts, **settings)
    assert told(out, "decisions", "reason host etl jctf")[0] == (
        GuestReason.TRUE_LONGEST, 1, 120, FAR,
    )  # fmt: skip
    # 120 s each on the first two: the lower one.
    out = omniscient(play, [(0, 300)], hosts, speed=[2.0, 1.0, 1.0], **settings)
    assert told(out, "decisions", "host etl")[0] == (0, 120)
    # A host that gives 0.9 s more is not better by whole seconds.
    out = omniscient(play, [(0, 300)], hosts, speed=[2.0, 1.0075, 1.0], **settings)
    assert told(out, "estimates", "etl")[:3] == [120, 120, 114]
    assert told(out, "decisions", "host")[0] == 0


def test_the_omniscient_knows_of_pauses(play: Play) -> None:
    # The first host, twice as fast, saves 60 s at 30 and needs 30 s for that.
    hosts = [[0.0] * 6, [0.0] * 6]
    settings = {"restart": "checkpoint", "checkpoint_interval": 30, "speed": [2.0, 1.1]}
    out = omniscient(play, [(0, 61)], hosts, **settings, checkpoint_overhead=24)
    assert told(out, "estimates", "jctf") == [55, 80]  # 61 / 1.1 = 55.5, and a pause of 24 s at 30
    out = omniscient(play, [(0, 32)], hosts, **settings, checkpoint_overhead=24)
    assert told(out, "estimates", "jctf") == [16, 30]  # 32 / 1.1 = 29.1: no pause
    # The restart counts, too: 30 s saved, 30 s to restart, and 5 s before the host leaves.
    rows = [[0.0, NAN, 0.0, NAN, 0.0, 0.0, 0.0]]
    settings = {"restart": "checkpoint", "checkpoint_interval": 30, "checkpoint_overhead": 30}
    out = omniscient(play, [(0, 60)], rows, **settings, restart_overhead=30)
    assert told(out, "estimates", "etl jctf") == [(30, FAR), (30, 60)]
    out = omniscient(play, [(0, 60)], rows, **settings, restart_overhead=31)
    assert told(out, "estimates", "etl jctf") == [(30, FAR), (29, FAR), (30, 61)]


# ------------------------------------------------------------------------------- falcon

TEN = 600
"""Samples and steps of ten minutes: 144 a day."""


def falcon(play: Play, jobs: list[JobRow], days: list[list[float]], **settings: Any) -> Any:
    """Play on hosts whose Monday is told, and who are quiet on Tuesday, when the jobs come."""
    rows = [[*day, *[0.0] * (144 - len(day)), *[0.0] * 144] for day in days]
    settings = {"load_memory": 0, "pooling": "none", **settings}
    return play(
        jobs, rows, scheduler="falcon", period=TEN, predict_step=TEN, horizon=3600, warm_up=DAY,
        **settings,
    )  # fmt: skip


SHORT = [0.0, 0.0, NAN, NAN, NAN, NAN, NAN, NAN]
"""Stays two steps: TR is 1, 1, 0, and MTTF 600 (1 + 1/2) = 900 s."""
LONGER = [0.0, 0.0, 0.0, 0.0, NAN, NAN, NAN, NAN]
"""Stays four steps: MTTF 600 (3 + 1/2) = 2100 s."""
QUIET: list[float] = []
"""Stays for ever."""


@pytest.mark.parametrize(
    ("work", "host", "figures"),
    [
        # On the fast host 600 s of work are 300 s, half of it before the first step ends.
        (600, 0, (300, 900, 1800, 300)),
        # Beyond 1200 s of work half of the hosts have failed: 600 + 300 / 600 x 600 s.
        (1500, 0, (750, 900, 1800, 900)),
        # As long as MTTF is not too long, but then it ends 1200 s of work ...
        (1800, 0, (900, 900, 1800, 1200)),
        # ... and what is longer goes to the slow host, which stays.
        (1801, 1, (1801, FAR, FAR, 1801)),
    ],
)
def test_falcon_leaves_the_fast_host_that_will_not_stay(
    play: Play, work: int, host: int, figures: tuple[int, ...]
) -> None:
    out = falcon(play, [(0, work)], [SHORT, QUIET], speed=[2.0, 1.0])
    assert told(out, "decisions", "reason host jct mttf etl jctf") == [
        (GuestReason.ENDS_FIRST, host, *figures)
    ]
    assert len(out.estimates) == 2
    assert told(out, "fates", "finish") == [work / [2, 1][host]]


def test_falcon_takes_failures_into_account_where_none_is_expected(play: Play) -> None:
    # The fast host would end it in 895 s, before MTTF; with failures in 600 + 590 s. The other
    # ends it in 1790 / 1.6 = 1118.75 s.
    out = falcon(play, [(0, 1790)], [SHORT, QUIET], speed=[2.0, 1.6])
    assert told(out, "estimates", "jct mttf jctf") == [(895, 900, 1190), (1119, FAR, 1119)]
    assert told(out, "decisions", "host") == [1]
    out = falcon(play, [(0, 1790)], [SHORT, QUIET], speed=[2.0, 1.5])
    assert told(out, "decisions", "host jctf") == [(0, 1190)]  # 1194 on the other


def test_falcon_takes_the_most_effective_time_where_all_will_leave(play: Play) -> None:
    out = falcon(play, [(0, 5000)], [SHORT, LONGER], speed=[2.0, 1.0])
    assert told(out, "estimates", "jct mttf etl jctf") == [
        (2500, 900, 1800, FAR),
        (5000, 2100, 2100, FAR),
    ]
    assert told(out, "decisions", "reason host") == [(GuestReason.LONGEST_LEFT, 1)]
    out = falcon(play, [(0, 5000)], [SHORT, LONGER], speed=[2.4, 1.0])
    assert told(out, "decisions", "host etl") == [(0, 2160)]
    # Alone, it is the longest.
    out = falcon(play, [(0, 1801)], [SHORT], speed=[2.0])
    assert told(out, "decisions", "reason host") == [(GuestReason.LONGEST_LEFT, 0)]


def test_ties_of_falcon(play: Play) -> None:
    # Both do it in the first step, in which none has failed yet: the one that stays longer.
    out = falcon(play, [(0, 600)], [SHORT, LONGER])
    assert told(out, "estimates", "jctf mttf") == [(600, 900), (600, 2100)]
    assert told(out, "decisions", "host") == [1]
    out = falcon(play, [(0, 600)], [LONGER, SHORT])
    assert told(out, "decisions", "host") == [0]
    out = falcon(play, [(0, 600)], [SHORT, LONGER, LONGER])
    assert told(out, "decisions", "host") == [1]
    # The same effective time, 3150 s: the larger MTTF.
    out = falcon(play, [(0, 9000)], [SHORT, LONGER], speed=[3.5, 1.5])
    assert told(out, "estimates", "etl") == [3150, 3150]
    assert told(out, "decisions", "host") == [1]


def test_falcon_knows_the_usual_load(play: Play) -> None:
    # On Monday the owner took half in the second step; the other steps were free.
    row = [0.0, 0.15, 0.0, 0.0, 0.0, 0.0]
    out = falcon(play, [(0, 1000)], [row])
    # 600 s, then 400 s at 0.85; nothing is lost. At the horizon, 3510 s, it goes on from the first.
    assert told(out, "estimates", "jct mttf etl jctf") == [(1071, FAR, FAR, 1071)]
    out = falcon(play, [(0, 3510 + 700)], [row])
    assert told(out, "estimates", "jct") == [3600 + 600 + 118]


def test_the_present_load_fades(play: Play) -> None:
    # Usually free; 0.2 of it is taken at present. With T = 600 s = a step, the weight of now is
    # 1 - 1/e in the first step, which so gives 600 (1 - 0.2 (1 - 1/e)) = 524.15 s.
    row = [*[0.0] * 144, *[0.2] * 72]
    first = 600 * (1 - 0.2 * (1 - math.exp(-1)))
    out = falcon(play, [(0, 500)], [row], load_memory=600)
    assert told(out, "estimates", "jct jctf") == [(math.ceil(500 / first * 600),) * 2]
    assert told(out, "estimates", "jct") == [573]
    assert told(falcon(play, [(0, 500)], [row]), "estimates", "jct") == [500]


def test_forecasts_are_made_for_the_hour(play: Play) -> None:
    # Away from 1:20 on: at 0:50, in the slot of the hour 0, nothing is known of that; at 1:00
    # the host is foreseen to stay two steps.
    row = [0.0] * 8 + [NAN] * 136
    out = falcon(play, [(3000, 10), (3600, 10), (4200, 10)], [row])
    assert told(out, "estimates", "mttf") == [FAR, 900, 900]
    # Made anew at each half hour the third comes after 1:00 all the same.
    out = falcon(play, [(3000, 10), (3600, 10), (4200, 10)], [row], predict_every=1800)
    assert told(out, "estimates", "mttf") == [
        2700,
        900,
        900,
    ]  # five steps, 0:30 to 1:20, less half of one


def test_only_like_days_count(play: Play) -> None:
    # The job comes on Tuesday or Sunday, and the day before was like it: 1970-01-05 was a Monday.
    jobs = [(0, 600)]
    for day in (4, 9):
        out = falcon(play, jobs, [SHORT], origin=day * DAY)
        assert told(out, "estimates", "mttf") == [900]
    # Saturday knows no weekend: the stays of all that came before, cut off at the end, count. One
    # of two stays in S1 was seen to end, after two steps; the other lasted to midnight.
    out = falcon(play, jobs, [SHORT], origin=8 * DAY)
    # TR is 1, 1, 1/2, 1/2, ...: MTTF over the horizon is 600 (1 + 3/4 + 4 x 1/2) = 2250 s, and
    # half of the hosts are there for as long again, and so on.
    assert told(out, "estimates", "mttf") == [4500]


def test_estimates_are_of_what_is_left(play: Play) -> None:
    # On Tuesday the host is away from 600 to 1200; 600 s are saved by then.
    row = [*[0.0] * 145, NAN]
    settings = {"restart": "checkpoint", "checkpoint_interval": 600, "retry": 600}
    out = falcon(play, [(0, 1000)], [row], **settings)
    assert told(out, "estimates", "jct jctf") == [(1000, 1000), (400, 400)]


def test_a_host_of_which_nothing_is_known_is_taken_to_stay(play: Play) -> None:
    row = [0.1] * 20
    out = play([(0, 100)], [row], scheduler="falcon", load_memory=0)
    assert told(out, "estimates", "jct mttf etl jctf") == [(100, FAR, FAR, 100)]
    # With the present load alone to go by, it is that of now, which fades: T = 60 s is a step.
    out = play([(0, 30)], [row], scheduler="falcon", load_memory=60)
    first = 60 * (1 - 0.1 * (1 - math.exp(-1)))
    assert told(out, "estimates", "jct") == [math.ceil(30 / first * 60)]


def test_falcon_looks_at_free_hosts_alone(play: Play) -> None:
    out = falcon(play, [(0, 900), (300, 900)], [QUIET, QUIET, SHORT], speed=[2.0, 1.0, 2.0])
    assert told(out, "decisions", "host candidates") == [(0, 3), (2, 2)]
    assert told(out, "estimates", "host") == [0, 1, 2, 1, 2]
    assert np.array_equal(told(out, "decisions", "rank"), [0, 0])


def test_falcon_says_with_what_chance_a_guest_will_end_where_it_starts(play: Play) -> None:
    # In 300 s all are there; in 750 s three quarters, as half of a step has seen them leave by
    # 1200 s: TR is linear within steps.
    for work, chance in [(600, M), (1500, 750_000), (1800, M // 2), (2388, 10_000), (2400, 0)]:
        out = falcon(play, [(0, work)], [SHORT], speed=[2.0])
        assert told(out, "estimates", "chance") == [chance], work
        assert told(out, "decisions", "chance") == told(out, "stays", "chance") == [chance]
    # A host of which half are there after the horizon of an hour: a quarter after two.
    out = falcon(play, [(0, 7200), (0, 5000)], [SHORT], origin=8 * DAY)
    assert told(out, "estimates", "jct chance") == [(7200, M // 4)]
    assert told(out, "decisions", "chance")[1:] == [0, 0]  # the other waits in vain


# ------------------------------------------------------------------------------- moves

MOVING = {
    "restart": "checkpoint", "checkpoint_interval": None, "checkpoint_at_end": False,
    "move_below": 0.5, "look_ahead": 1200, "look_every": 600, "predict_every": 600,
}  # fmt: skip


def moving(play: Play, work: int, *, later: int = 2, **settings: Any) -> Any:
    """Play a job on a host of speed 2 that was away from 1:00 to 1:20 on Monday, and is quiet on
    Tuesday, beside one that was quiet on Monday, and is away at first on Tuesday."""
    soon = [*[0.0] * 6, *[NAN] * 2, *[0.0] * 280]
    other = [*[0.0] * 144, *[NAN] * later, *[0.0] * (144 - later)]
    return play(
        [(0, work)], [soon, other], scheduler="falcon", period=TEN, predict_step=TEN,
        horizon=3600, warm_up=DAY, load_memory=0, pooling="none", speed=[2.0, 1.0],
        **{**MOVING, **settings},
    )  # fmt: skip


def test_a_guest_moves_before_its_host_is_expected_to_leave(play: Play) -> None:
    # At 0:40 the fast host is foreseen to stay two steps, and none of 1200 s is survived: of the
    # 4200 s that are left it would do 1800 by expectation, 900 s being its mean life.
    out = moving(play, 9000, checkpoint_overhead=30, restart_overhead=10)
    assert told(out, "events", "time kind key")[2:] == [
        (2400, RISK, 0), (2430, SAVED, 0), (2430, TRY, 0), (2430 + 10 + 4200, ENDED, 0),
    ]  # fmt: skip
    # The move takes 40 s, which count where it goes to; of its own host it is told what the chance
    # to stay as long as is asked is.
    assert out.estimates[1:3] == [(0, 2100, 900, 1800, FAR, 0, 0), (1, 4240, FAR, FAR, 4240, 0, M)]
    assert told(out, "decisions", "kind reason host jctf tries") == [
        (START, GuestReason.LONGEST_LEFT, 0, FAR, 1), (MOVE, GuestReason.AT_RISK, 1, 4240, 0),
        (START, GuestReason.ENDS_FIRST, 1, 4200, 1),
    ]  # fmt: skip
    assert told(out, "stays", "host ended checkpoints start end") == [
        (0, StayEnd.MOVED, 1, 0, 2430), (1, StayEnd.COMPLETED, 0, 2430, 6640),
    ]  # fmt: skip
    assert told(out, "stays", "work saved lost") == [
        (4800 * M, 4800 * M, 0),
        (4200 * M, 9000 * M, 0),
    ]
    assert told(out, "fates", "tries failures checkpoints") == [(2, 0, 1)]


def test_a_guest_whose_host_stays_long_enough_is_left_alone(play: Play) -> None:
    # The same, but 600 s are asked for: at 0:40 all are survived; at 0:50 none, and 1200 s of work
    # would take 600 s more here than there are, by expectation for ever.
    out = moving(play, 9000, look_ahead=600)
    assert told(out, "events", "time kind")[-3:] == [(3000, SAVED), (3000, TRY), (6000, ENDED)]
    # Half are survived in 900 s: that is not less than half.
    assert RISK not in told(moving(play, 4799, look_ahead=900), "events", "kind")


def test_a_guest_stays_where_a_move_ends_it_later(play: Play) -> None:
    # 1200 s are left at 0:40: 600 s on the fast host, all of which stay as long, or 1200 s.
    out = moving(play, 6000)
    assert told(out, "events", "time kind")[-2:] == [(2400, RISK), (3000, ENDED)]
    # 1800 s are left: 1200 s here, failures considered, and 1240 there, were it not so slow.
    out = moving(play, 6600, restart_overhead=40)
    assert MOVE not in told(out, "decisions", "kind")


def test_nowhere_to_go_is_no_move(play: Play) -> None:
    out = moving(play, 9000, later=20)
    assert told(out, "events", "kind").count(RISK) > 0
    assert told(out, "decisions", "kind") == [START]
