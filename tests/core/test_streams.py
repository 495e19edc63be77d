"""Named streams: the same in every process, apart from each other, open at both ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.streams import draw_detectability, stream

ROOT = Path(__file__).resolve().parents[2]


def test_the_same_in_every_process() -> None:
    code = (
        "from forestall.core.streams import stream;"
        "print(stream(7, 'when', 'x').random(3).tobytes().hex())"
    )
    texts = set()
    for salt in ("0", "1", "77"):
        env = os.environ | {"PYTHONHASHSEED": salt, "PYTHONPATH": str(ROOT / "src")}
        run = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        texts.add(run.stdout.strip())
    assert texts == {stream(7, "when", "x").random(3).tobytes().hex()}


def test_the_numbers_do_not_change_between_releases() -> None:
    assert stream(0).integers(0, 1000, 3).tolist() == FIRST
    assert stream(1, "failures", "when").integers(0, 1000, 3).tolist() == SECOND


FIRST = [798, 626, 399]
SECOND = [195, 76, 605]


def test_names_and_seeds_part_streams() -> None:
    names = [(1, "ab", "c"), (1, "a", "bc"), (1, "abc"), (2, "abc"), (1,), (2**70, "abc")]
    draws = {stream(seed, *words).random() for seed, *words in names}
    assert len(draws) == len(names)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1"])
def test_bad_seeds(seed: object) -> None:
    with pytest.raises(ParameterError, match="seed"):
        stream(seed)  # type: ignore[arg-type]


def test_detectability_is_uniform_and_open() -> None:
    count = 20_000
    drawn = draw_detectability(Failures.build(np.arange(count), np.zeros(count)), 3).detectability
    assert drawn.min() > 0
    assert drawn.max() < 1
    assert drawn.mean() == pytest.approx(0.5, abs=0.01)
    assert drawn.std() == pytest.approx(12**-0.5, abs=0.01)


def test_only_the_missing_are_drawn_and_none_shifts() -> None:
    empty = Failures.build([1, 2, 3], [0, 0, 0])
    some = Failures.build([1, 2, 3], [0, 0, 0], detectability=[np.nan, 0.25, np.nan])
    full, part = draw_detectability(empty, 5), draw_detectability(some, 5)
    assert part.detectability[1] == 0.25
    assert part.detectability[[0, 2]].tolist() == full.detectability[[0, 2]].tolist()
    assert len(draw_detectability(Failures.none(), 1)) == 0
