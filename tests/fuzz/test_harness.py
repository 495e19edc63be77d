"""The harness notices what it is there for: a planted command goes wrong in every way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz.every import FORMATS
from fuzz.formats import Format
from fuzz.hostile import Draw
from fuzz.logs import written
from fuzz.mutate import bytes_of_any
from fuzz.play import Server, Stage, stream

WAYS = {
    "traceback": "traceback", "hang": "slow", "memory": "memory",
    "far too much memory": "traceback",
    "escape": "control character", "direction": "direction override", "latin": "not UTF-8",
    "segfault": "killed", "warning": "warning", "code": "exit code",
    "nameless": "nameless refusal", "two lines": "refusal", "half": "left behind",
    "long": "long refusal", "bounds": "index out of bounds in a kernel",
    "litter": "left behind", "changed": "changed", "json": "JSON", "refused": None, "well": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("planted")
    with Server(home, "fuzz.planted:main") as server:
        yield Stage(home, server, seconds=1, compiling=1, memory=400 << 20)


@pytest.mark.parametrize("way", WAYS)
def test_what_goes_wrong_is_found(stage: Stage, way: str) -> None:
    more = " --json" if way == "json" else ""
    planted = Format(
        way.replace(" ", "-"),
        written(("log.csv", ["a,b", "1,2"])),
        ("log.csv",),
        bytes_of_any,
        (f"'{way}' {{file}}{more}",),
    )
    found = stage.play(planted, 1).found
    assert (found and found.what) == WAYS[way], found


def test_a_command_that_only_waits_is_ended(stage: Stage) -> None:
    outcome = stage.server.run(["sleep", "x"], stage.home, 0)
    assert outcome.late
    assert outcome.wall < 30


@pytest.mark.parametrize("name", ["sacct", "scontrol", "cluster", "prometheus", "failures-zst"])
def test_a_seed_makes_the_same_file_again(name: str, tmp_path: Path) -> None:
    format = FORMATS[name]
    format.make(tmp_path)
    data = (tmp_path / format.files[0]).read_bytes()

    def made(seed: int) -> bytes:
        return format.mutator(Draw(stream(seed, "fuzz", name)), data)

    some = [made(seed) for seed in range(20)]
    assert some == [made(seed) for seed in range(20)]
    assert len(set(some)) > 12
