"""Pieces made in place are those that pyeclib makes, which lie on hosts already."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from pyeclib.ec_iface import ECDriver

from forestall.vaults.pieces import coders
from forestall.vaults.pieces.coders import HEAD, KIND, Coder
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pieces.fragments import fragment_of, stored_parts

NOISE = np.random.default_rng(5).bytes(100_003)
CODES = [(3, 2), (2, 1), (4, 4), (10, 6), (20, 12)]


def joined(coder: Coder, pack: bytes) -> list[bytes]:
    return [b"".join(one) for one in coder.pieces(pack)]


@pytest.mark.parametrize(("data", "parity"), CODES)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 12, 61, 4096, 99_999, 100_003])
def test_pieces_are_those_of_the_library(data: int, parity: int, length: int) -> None:
    driver, pack = ECDriver(k=data, m=parity, ec_type=KIND), NOISE[:length]
    assert joined(Coder(driver, data, parity), pack) == driver.encode(pack)


def test_pieces_of_data_are_not_copied() -> None:
    pieces = Code(3, 2).encode(NOISE)
    assert [len(one[0]) for one in pieces] == [HEAD] * 5
    whole = np.frombuffer(NOISE, np.uint8)
    assert all(np.shares_memory(np.frombuffer(one[1], np.uint8), whole) for one in pieces[:2])


@pytest.mark.parametrize("code", [Code(3, 2), Code(4, 0), Code(1, 2)])
def test_any_pieces_that_are_enough_give_the_pack_back(code: Code) -> None:
    name = bytes(32)
    pieces = [
        fragment_of(b"".join(stored_parts(code, place, len(NOISE), name, one)), name, place).piece
        for place, one in enumerate(code.encode(NOISE))
    ]
    for some in combinations(range(code.pieces), code.data):
        assert b"".join(code.decode({k: pieces[k] for k in some}, len(NOISE))) == NOISE


@pytest.mark.parametrize("wrong", ["no ISA-L", "another matrix", "another head"])
def test_where_isal_is_not_what_it_was_the_library_makes_them(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wrong == "no ISA-L":
        monkeypatch.setattr(coders, "_NAMES", ["libno-such-thing.so.2"])
    elif wrong == "another matrix":
        monkeypatch.setattr(coders, "_tables", lambda isal, data, parity: np.zeros(192, np.uint8))
    else:
        monkeypatch.setattr(coders, "_TOLD", 58)
    driver = ECDriver(k=3, m=2, ec_type=KIND)
    coder = Coder(driver, 3, 2)
    assert [len(one) for one in coder.pieces(NOISE)] == [1] * 5
    assert joined(coder, NOISE) == driver.encode(NOISE)
