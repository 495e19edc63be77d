"""What was seen, in neighbouring windows, as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations


def window(begin: int, end: int, service: list[tuple[int, int, bool]] | None) -> Observations:
    log = replace(Failures.build([begin + 1], [0]), nodes=2 if service is None else len(service))
    if service is not None:
        starts, ends, new = (np.array(column) for column in zip(*service, strict=True))
        log = replace(log, service_start=starts, service_end=ends, service_new=new)
    return Observations.of(log, begin=begin, end=end, nodes=log.nodes)


def service(joined: Observations) -> list[tuple[int, int, bool]]:
    log = joined.failures
    assert log.service_start is not None
    assert log.service_end is not None
    assert log.service_new is not None
    columns = (log.service_start, log.service_end, log.service_new)
    return [tuple(row) for row in zip(*(c.tolist() for c in columns), strict=True)]


def test_a_node_serves_from_the_first_window_to_the_last() -> None:
    early = window(0, 100, [(-50, 100, False), (20, 100, True), (0, 60, False), (0, 0, False)])
    late = window(100, 200, [(100, 200, False), (100, 150, False), (0, 0, False), (130, 200, True)])
    assert service(early.then(late)) == [
        (-50, 200, False),
        (20, 150, True),
        (0, 60, False),
        (130, 200, True),
    ]


def test_a_later_window_may_have_more_nodes() -> None:
    early = window(0, 100, [(0, 100, False)])
    late = window(100, 200, [(100, 200, False), (100, 200, False)])
    assert service(early.then(late)) == [(0, 200, False), (100, 200, False)]


def test_what_only_one_window_tells_is_kept_where_it_tells_of_all_nodes() -> None:
    told, untold = window(0, 100, [(0, 100, False), (0, 100, False)]), window(100, 200, None)
    assert service(told.then(untold)) == [(0, 100, False), (0, 100, False)]
    fewer = window(0, 100, [(0, 100, False)])
    assert fewer.then(untold).failures.service_start is None
