"""Guests whose checkpoints a vault keeps, in worlds small enough to work out by hand.

Where nothing else is said a checkpoint has 1 GB, is not compressed, takes 10 s on a path of
100 MB/s, and is due after 600 s of work; hosts are ranked by their load, 0, 0.1, 0.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forestall.core.model.cycle import MILLION
from forestall.core.model.errors import ParameterError
from forestall.sharing.simulation.outcome import CycleOutcome
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle
from sharing.simulation.cycle_cases import NAN, Case, prepared

PLAIN = "size=1GB ratio=1 speed=1TB disk=1GB"
HOUR = 60
"""Samples."""


def load(*parts: tuple[float, int]) -> list[float]:
    """Return a load of these values, each for so many minutes, then idle up to 3 hours."""
    row = [value for value, minutes in parts for _ in range(minutes)]
    return row + [0.0] * (3 * HOUR - len(row))


AWAY = load((0.0, 25), (NAN, 155))
"""Idle, and away from 1500 s on."""


def played(
    hosts: list[list[float]],
    vault: str,
    jobs: list[tuple[int, int]] | None = None,
    plain: str = PLAIN,
    **more: Any,
) -> CycleOutcome:
    settings = {
        "scheduler": "condor", "restart": "checkpoint", "checkpoint_interval": 600, "hold": 0,
        "vault": f"{vault} {plain}", **more,
    }  # fmt: skip
    case = Case(jobs or [(0, 1800)], hosts, settings=settings)
    given, traces, parameters = prepared(case)
    return play_cycle(prepare_guests(given, traces, parameters), traces, parameters)


def transfers(outcome: CycleOutcome) -> list[tuple[int, int, int, int, int, list[int]]]:
    """Return (kind, host, start, until, version, stores) of each; kinds 0 save, 1 last, 2
    restore."""
    assert outcome.stored is not None
    rows = zip(outcome.stored.transfers, outcome.stored.places.tolist(), strict=True)
    names = ("kind", "host", "start", "until", "version")
    return [(*(int(row[n]) for n in names), [p for p in at if p >= 0]) for row, at in rows]


def finish(outcome: CycleOutcome) -> list[int]:
    return outcome.jobs["finish"].tolist()


SLOW = [load((0.1, 180)), load((0.2, 180))]
"""A host that does 0.9, and one that does 0.8 of its speed."""


def test_saves_stop_the_work_for_as_long_as_the_path_takes() -> None:
    outcome = played([load()], "layout=server")
    # Due at 600 and, 600 s of work after the first is over, at 1210; the job ends as one is due.
    assert transfers(outcome) == [(0, 0, 600, 610, 1, [1]), (0, 0, 1210, 1220, 2, [1])]
    assert finish(outcome) == [1820]
    assert outcome.jobs["checkpoints"].tolist() == [2]


def test_a_pause_is_added_to_what_storing_takes() -> None:
    outcome = played([load()], "layout=server", checkpoint_overhead=7)
    assert finish(outcome) == [1800 + 2 * 17]


def test_compressing_counts_where_it_is_slower_than_sending() -> None:
    outcome = played([load()], "layout=server", jobs=[(0, 900)])
    assert finish(outcome) == [910]
    slow = played([load()], "layout=server size=1GB ratio=4 speed=50MB", [(0, 900)], plain="")
    assert finish(slow) == [920]  # 2.5 s to send, 20 s to compress


def test_after_its_host_is_away_a_job_goes_on_from_the_server() -> None:
    outcome = played([AWAY, *SLOW], "layout=server")
    # 1,200 s are saved; 280 s are lost. 600 s at 0.9: 540 s of work up to 2110, a save, 67 s more.
    assert transfers(outcome)[2:] == [(2, 1, 1500, 1510, 2, [3]), (0, 1, 2110, 2120, 3, [3])]
    assert finish(outcome) == [2187]
    assert outcome.stays["lost"].tolist() == [280 * MILLION, 0]
    assert outcome.stays["resumed"].tolist() == [0, 1200 * MILLION]


def test_a_remote_server_takes_as_long_as_its_path() -> None:
    outcome = played([AWAY, *SLOW], "layout=remote far=20MB")
    assert transfers(outcome)[:2] == [(0, 0, 600, 650, 1, [3]), (0, 0, 1250, 1300, 2, [3])]
    # 1500 is the third interval: 200 s of it are lost. Restored in 50 s.
    assert transfers(outcome)[2][:4] == (2, 1, 1500, 1550)
    assert outcome.stays["lost"].tolist()[0] == 200 * MILLION


def test_what_lies_on_the_hosts_own_disk_is_lost_with_it() -> None:
    outcome = played([AWAY, *SLOW], "layout=local")
    assert [row[5] for row in transfers(outcome)[:2]] == [[0], [0]]
    # On its own disk a save takes 1 s. Nothing can be had at 1500: 1,498 s of work are gone.
    assert outcome.stays["resumed"].tolist() == [0, 0]
    assert outcome.stays["lost"].tolist() == [298 * MILLION, 1200 * MILLION]
    assert outcome.jobs["lost"].tolist() == [1498 * MILLION]


def test_a_piece_on_the_next_host_is_there_if_that_host_is() -> None:
    code = "layout=code data=1 parity=0 choice=next"
    there = played([AWAY, *SLOW], code)
    assert [row[5] for row in transfers(there)[:2]] == [[1], [1]]
    # Host 1 is the next one to run on: it reads from its own disk, in 1 s.
    assert transfers(there)[2] == (2, 1, 1500, 1501, 2, [1])
    gone = played([AWAY, load((0.1, 20), (NAN, 160)), SLOW[1]], code)
    assert [row[5] for row in transfers(gone)[:2]] == [[1], [2]]
    # The newest version is on host 2, which runs the job now; the older one would be gone.
    assert gone.stays["resumed"].tolist() == [0, 1200 * MILLION]


def test_without_enough_pieces_the_version_before_counts() -> None:
    hosts = [AWAY, load((0.1, 180)), load((0.2, 15), (NAN, 165)), load((0.3, 180))]
    kept = played(hosts, "layout=code data=2 parity=0 choice=next")
    # Both versions were meant for hosts 1 and 2; at 1210 host 2 is away: 1 and 3 get the second.
    assert [row[5] for row in transfers(kept)[:2]] == [[1, 2], [1, 3]]
    assert kept.stays["resumed"].tolist() == [0, 1200 * MILLION]
    late = [AWAY, load((0.1, 180)), load((0.2, 22), (NAN, 158)), load((0.3, 180))]
    behind = played(late, "layout=code data=2 parity=0 choice=next")
    assert [row[5] for row in transfers(behind)[:2]] == [[1, 2], [1, 2]]
    assert behind.stays["resumed"].tolist() == [0, 0]  # host 2 has pieces of both
    enough = played(late, "layout=code data=1 parity=1 choice=next")
    assert enough.stays["resumed"].tolist() == [0, 1200 * MILLION]


def test_a_job_goes_back_to_an_older_version_where_the_newest_is_gone() -> None:
    # Host 1 has the first version, and its owner is back from 1200 s on: it can be read, not
    # written to. Host 2 has the second, and is away as host 0 is lost.
    busy, gone = load((0.1, 20), (0.9, 160)), load((0.2, 22), (NAN, 158))
    hosts, code = [AWAY, busy, gone, load((0.3, 180))], "layout=code data=1 parity=0 choice=next"
    outcome = played(hosts, code)
    assert [row[5] for row in transfers(outcome)[:2]] == [[1], [2]]
    assert outcome.stays["resumed"].tolist() == [0, 600 * MILLION]
    assert outcome.stays["lost"].tolist() == [280 * MILLION, 600 * MILLION]
    assert transfers(outcome)[2] == (2, 3, 1500, 1510, 1, [1])
    one = played(hosts, f"{code} keep=1")
    assert one.stays["resumed"].tolist() == [0, 0]  # only the newest was kept


def test_too_few_hosts_and_a_checkpoint_is_skipped() -> None:
    hosts = [load(), load((0.1, 8), (NAN, 7), (0.1, 165)), SLOW[1]]
    outcome = played(hosts, "layout=code data=2 parity=0 choice=next")
    assert outcome.stored is not None
    assert outcome.stored.skipped == 1  # at 600 host 1 is away; at 1200 it is back
    assert [row[2] for row in transfers(outcome)] == [1200]


def test_guests_that_save_at_once_share_the_server() -> None:
    outcome = played([load(), load((0.0, 180))], "layout=server", jobs=[(0, 900), (0, 900)])
    # The first has the server for itself as it begins; the second finds it there.
    assert [row[3] - row[2] for row in transfers(outcome)] == [10, 20]


def test_the_submitting_machine_has_one_line() -> None:
    outcome = played([load()], "layout=submitter line=5MB far=100MB")
    assert transfers(outcome)[0] == (0, 0, 600, 800, 1, [1])


def test_a_next_version_holds_what_is_new_and_leans_on_the_one_before() -> None:
    outcome = played([load()], "layout=server fresh=0.5 full=2", jobs=[(0, 3000)])
    rows = transfers(outcome)
    assert [row[3] - row[2] for row in rows] == [10, 5, 10, 5]
    assert outcome.stored is not None
    assert outcome.stored.transfers["base"].tolist() == [1, 1, 3, 3]


def test_a_version_is_there_only_with_what_it_leans_on() -> None:
    late = [AWAY, load((0.1, 10), (NAN, 170)), SLOW[1], load((0.3, 180))]
    code = "layout=code data=1 parity=0 choice=next fresh=0.5"
    both = played(late, code, checkpoint_interval=300)
    rows = transfers(both)
    # At 300 host 1 gets the first version whole. At 610 it is away: the second holds everything.
    assert rows[0][5] == [1]
    assert both.stored is not None
    assert both.stored.transfers["base"].tolist()[:2] == [1, 2]


@pytest.mark.parametrize(("grace", "kept"), [(60, 1480), (9, 1200)])
def test_an_owner_leaves_a_guest_some_time_for_its_last_checkpoint(grace: int, kept: int) -> None:
    taken = load((0.0, 25), (0.9, 155))
    outcome = played([taken, *SLOW], f"layout=server grace={grace}")
    assert outcome.stays["saved"].tolist()[0] == kept * MILLION
    assert outcome.stays["end"].tolist()[0] == 1500
    # It is tried again as the last checkpoint is over.
    assert outcome.stays["start"].tolist()[1] == (1510 if kept == 1480 else 1500)


def test_near_hosts_are_chosen_where_all_are_as_sure() -> None:
    hosts = [load(), *[load((0.5, 180)) for _ in range(7)]]
    outcome = played(hosts, "layout=code data=2 parity=1 sites=2 far=10MB")
    assert {tuple(row[5]) for row in transfers(outcome)} == {(1, 2, 3)}
    assert transfers(outcome)[0][3] == 615  # 3 pieces of 0.5 GB


def test_hosts_that_are_up_when_the_compute_host_is_lost_are_chosen() -> None:
    # Each 20 min host 0 is lost for 5; host 1 is away at just these times, host 2 never.
    cycle = [0.0] * 15 + [NAN] * 5
    with_it, other = cycle * 9, load((0.1, 180))
    hosts = [with_it, with_it, other, load((0.2, 180))]
    code = "layout=code data=1 parity=0 size=1MB ratio=1 far=1MB sites=2"
    # Host 1 is near (0.01 s), hosts 2 and 3 are far (1 s).
    outcome = played(hosts, code, [(0, 800)], plain="", warm_up=2 * 3600)
    first = next(row for row in transfers(outcome) if row[0] == 0)
    assert first[5] == [2]


def test_a_pool_that_is_too_small_is_refused() -> None:
    with pytest.raises(ParameterError, match="more than 5 hosts"):
        played([load(), load()], "layout=code data=3 parity=2")


def test_no_vault_without_checkpoints() -> None:
    assert played([load()], "layout=server", restart="scratch").stored is None


def test_the_omniscient_has_no_vault() -> None:
    with pytest.raises(ValueError, match="scheduler should be"):
        played([load()], "layout=server", scheduler="omniscient")


def test_all_of_an_outcome_is_the_same_again() -> None:
    hosts = [AWAY, *SLOW, load((0.3, 180))]
    one, two = (played(hosts, "layout=code data=2 parity=1 fresh=0.3") for _ in range(2))
    assert one.stored is not None
    assert two.stored is not None
    assert np.array_equal(one.stored.transfers, two.stored.transfers)
    assert np.array_equal(one.stored.places, two.stored.places)
    assert np.array_equal(one.stays, two.stays)
