"""What sections share: worked out once, for the right records, and gone with them."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from books_cases import accounts, outages
from forestall.site import shared
from forestall.slurm.records.run_ends import CAUSES, causes_of
from forestall.slurm.records.site_records import SiteRecords

RUNS = [
    {"job": 1, "start": 0, "end": 500, "nodes": 1, "nodelist": "n1", "state": "NODE_FAIL"},
    {"job": 2, "start": 0, "end": 9000, "nodes": 1, "nodelist": "n2", "state": "NODE_FAIL"},
    {"job": 3, "start": 0, "end": 700, "nodes": 1, "nodelist": "n3", "state": "COMPLETED"},
]


def test_once_for_the_same_records() -> None:
    site, other = (SiteRecords(accounting=accounts(RUNS)) for _ in range(2))
    first = shared.how_ended(site)
    assert shared.how_ended(site) is first
    np.testing.assert_array_equal(first.causes, causes_of(accounts(RUNS)))
    assert shared.how_ended(other) is not first


def test_nothing_stays_behind() -> None:
    site = SiteRecords(accounting=accounts(RUNS))
    ends = weakref.ref(shared.how_ended(site).causes)
    del site
    gc.collect()
    assert ends() is None


def test_nodes_taken_down_by_an_operator() -> None:
    events = outages(
        [{"node": "n1", "begin": 500, "end": 900, "nature": "administrative"},
         {"node": "n2", "begin": 9000, "end": 9500, "nature": "fault"}],
        (0, 20_000),
    )  # fmt: skip
    records = accounts(RUNS)
    without = shared.how_ended(SiteRecords(accounting=records))
    found = shared.how_ended(SiteRecords(accounting=records, events=events))
    assert [CAUSES[code] for code in without.causes.tolist()] == [
        "node_failure", "node_failure", "completed",
    ]  # fmt: skip
    assert [CAUSES[code] for code in found.causes.tolist()] == [
        "operator_down", "node_failure", "completed",
    ]  # fmt: skip
