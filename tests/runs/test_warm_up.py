"""A warm-up compiles in processes of their own, and says what it took."""

from __future__ import annotations

import pytest

import forestall as fs
from forestall.runs import warm_up as warm


def test_parts_are_compiled_and_told() -> None:
    told: list[tuple[int, int]] = []
    done = fs.warm_up(
        ["judging"], workers=1, progress=lambda done, total: told.append((done, total))
    )
    assert told == [(1, 1)]
    assert done.table["name"].to_list() == ["judging"]
    assert done.to_dict()["workers"] == 1
    assert done.folder.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("name", warm.STEPS)
def test_every_part_runs_what_it_says(name: str) -> None:
    warm.STEPS[name]()


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(fs.errors.ParameterError, match="'nothing' is not allowed"):
        fs.warm_up(["nothing"])
