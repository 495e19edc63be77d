"""For how long a host had been available: by hand, and sample by sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from forestall.prediction.models.semi_markov.states import FAILING
from forestall.sharing.simulation.outcome import RUN, HostRuns
from forestall.sharing.simulation.prepare import prepare_hosts
from sharing.simulation.cycle_cases import Case, cycle_cases, prepared


def runs_of(rows: list[tuple[int, int, int]], first: list[int]) -> HostRuns:
    runs = np.array([(*row, 0) for row in rows], dtype=RUN)
    return HostRuns(runs, np.array(first), np.zeros((len(first) - 1, 1), np.int64), -50, 200, 10)


def test_by_hand() -> None:
    found = runs_of(
        # S1, S2, S1, S3, S2, S5 of one host; S4, then S1 of the other
        [(0, 0, -50), (0, 1, -20), (0, 0, 10), (0, 2, 30), (0, 1, 60), (0, 4, 90),
         (1, 3, -50), (1, 0, 0)],
        [0, 6, 8],
    )  # fmt: skip
    asked = [(0, -50, 0), (0, -21, 29), (0, 25, 75), (0, 60, 0), (0, 89, 29), (1, 0, 0),
             (1, 200, 200)]  # fmt: skip
    host, time, since = np.array(asked).T
    assert found.since_return(host, time).tolist() == since.tolist()


def test_many_hosts_over_years() -> None:
    """Their numbers come in 32 bits, and times the span would not fit into them."""
    hosts, end = 300, 3 * 10**7
    runs = np.array([(host, 0, 0, 0) for host in range(hosts)], dtype=RUN)
    found = HostRuns(runs, np.arange(hosts + 1), np.zeros((hosts, 1), np.int64), 0, end, 600)
    asked = np.arange(hosts, dtype=np.int32)
    assert found.since_return(asked, np.arange(hosts)).tolist() == list(range(hosts))
    longer = replace(found, end=3 * 10**9)
    assert longer.since_return(asked[:2], np.array([2**31, 7])).tolist() == [2**31, 7]


@given(cycle_cases())
@settings(max_examples=40)
def test_sample_by_sample(case: Case) -> None:
    _, hosts, parameters = prepared(case)
    runs = prepare_hosts(hosts, parameters)
    for host in range(len(hosts)):
        mine = runs.runs[runs.first[host] : runs.first[host + 1]]
        times = np.arange(runs.begin, runs.end, hosts.period)
        state = mine["state"][np.searchsorted(mine["start"], times, side="right") - 1]
        back = None
        for time, now in zip(times.tolist(), state.tolist(), strict=True):
            if now >= FAILING[0]:
                back = None
                continue
            back = time if back is None else back
            found = runs.since_return(np.array([host]), np.array([time + hosts.period - 1]))
            assert found.tolist() == [time + hosts.period - 1 - back]
