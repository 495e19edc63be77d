"""All that a site's records tell: outages, and the remarks on every part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.node_events import ADMINISTRATIVE, FAULT, NATURES, UNCLEAR, NodeEvents
from forestall.slurm.records.site_records import SiteRecords
from slurm.records.accounting_cases import accounts


def outages() -> NodeEvents:
    return NodeEvents(
        np.array([1, 0, 1]),
        np.array([10, 20, 20]),
        np.array([15, NEVER, 30]),
        Coded.of(["DOWN", "IDLE+DRAIN", "DOWN*"]),
        Coded.of(["Not responding", "new disks", ""]),
        Coded.of(["", "root", ""]),
        np.array([0, 1, 2], dtype=np.int8),
        ("n1", "n2"),
        (0, 100),
    )


def test_outages_are_taken_by_nature() -> None:
    events = outages()
    assert NATURES == (FAULT, ADMINISTRATIVE, UNCLEAR)
    assert events.open.tolist() == [False, True, False]
    assert events.of(FAULT, UNCLEAR).reason.texts() == ["Not responding", ""]
    assert len(events.of(ADMINISTRATIVE)) == 1


def test_an_outage_ends_after_it_begins() -> None:
    with pytest.raises(AssertionError, match="before it begins"):
        replace(outages(), end=np.array([5, NEVER, 30]))


def test_remarks_of_all_parts_are_collected() -> None:
    one = Cleaning().plus("a", "rows of one kind", "kept", ["line 1"])
    two = Cleaning().plus("b", "rows of another", "left out", ["line 2", "line 3"])
    site = SiteRecords(
        accounting=replace(accounts([{}]), cleaning=two),
        events=replace(outages(), cleaning=two),
        cleaning=one,
    )
    assert site.cleanings().counts() == {"a": 1, "b": 4}
    assert SiteRecords().cleanings().remarks == ()
