"""What is blanked in a message, and locations at their levels."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.ras import RasLog
from forestall.logs.ras import LEVELS, at_level
from forestall.logs.ras.kinds import BLANK, VARIES, masked
from forestall.logs.ras.places import coarsened

TEXTS = {
    "CE sym 30, at 0x042358a0, mask 0x20": "CE sym <*>, at <*>, mask <*>",
    "iar 003a92a0 dear 00efd358": "iar <*> dear <*>",
    "Lustre mount FAILED : bglio736 : point /p/gb1": "Lustre mount FAILED : bglio<*> : point <*>",
    "Error loading /g/a/b//c.rts: bad": "Error loading <*>: bad",
    "socket to 172.16.96.116:33399 closed": "socket to <*> closed",
    "chip FF:F2:9F:16:D5:95:00:0D at R01-M0-N4 here": "chip <*> at <*> here",
    "node R02-M1-N0-C:J12-U11 died": "node <*> died",
    "torus receiver x+ input": "torus receiver x+ input",
    "faded facade of cafe": "faded facade of cafe",
    " 12 ": "<*>",
    "": "",
}


def test_what_varies_is_blanked() -> None:
    assert masked(pl.Series(list(TEXTS))).to_list() == list(TEXTS.values())


def test_rust_and_python_read_the_pattern_alike() -> None:
    for text, kind in TEXTS.items():
        assert re.sub(VARIES, BLANK, text).strip() == kind


WHOLE = {
    "R02-M1-N0-C:J12-U11": ("R02", "R02-M1", "R02-M1-N0", "R02-M1-N0-C:J12", "R02-M1-N0-C:J12-U11"),
    "R02-M1-N4-I:J18-U01-X": ("R02", "R02-M1", "R02-M1-N4", "R02-M1-N4-I:J18",
                              "R02-M1-N4-I:J18-U01"),
    "R1F-M1-N04-J17-C02": ("R1F", "R1F-M1", "R1F-M1-N04", "R1F-M1-N04-J17", "R1F-M1-N04-J17"),
    "Q0H-I1-J05": ("Q0H", "Q0H-I1", "Q0H-I1-J05", "Q0H-I1-J05", "Q0H-I1-J05"),
    "R11-L": ("R11", "R11-L", "R11-L", "R11-L", "R11-L"),
    "R61": ("R61",) * 5,
    "node-12": ("node-12",) * 5,
    "unknown": ("unknown",) * 5,
}  # fmt: skip


@pytest.mark.parametrize("place", WHOLE)
def test_levels(place: str) -> None:
    levels = ("rack", "midplane", "nodecard", "card", "node")
    assert tuple(coarsened(place, level) for level in levels) == WHOLE[place]
    assert coarsened(place, "whole") == place
    assert coarsened(place, "system") == "system"


def log_of(*places: str) -> RasLog:
    count = len(places)
    zeros = np.zeros(count, dtype=np.int64)
    return RasLog(
        np.arange(count),
        np.arange(count, dtype=np.int32),
        zeros.astype(np.int8),
        zeros.astype(np.int32),
        places,
        ("k",),
    )


def test_a_log_at_a_level() -> None:
    log = log_of("R02-M1-N0", "R01-M0-N3", "R01-M0-N1", "unknown")
    racks = at_level(log, "rack")
    assert racks.places == ("R01", "R02", "unknown")
    assert racks.place.tolist() == [1, 0, 0, 2]
    assert at_level(log_of("dn22", "dn7", "77"), "prefix").places == ("77", "dn")
    assert at_level(log_of("b", "a"), "node").place.tolist() == [1, 0]


def test_levels_that_a_log_has_not() -> None:
    for level in ("rack", "card"):
        with pytest.raises(ParameterError, match=r"level: .*'dn22' is not a Blue Gene location"):
            at_level(log_of("dn22"), level)
    with pytest.raises(ParameterError, match="level: 'aisle'"):
        at_level(log_of("dn22"), "aisle")
    assert set(LEVELS) >= {"node", "rack", "system"}
