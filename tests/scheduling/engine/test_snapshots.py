"""Snapshots with one thing in them that points where nothing is: refused before a kernel runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forestall.core.engine import kept
from forestall.core.model.errors import ParameterError
from forestall.scheduling.engine.engine import Engine
from scheduling.engine.streams import World


def snapshot() -> dict[str, Any]:
    world = World(3)
    world.live(12)
    found: dict[str, Any] = json.loads(json.dumps(world.engine.snapshot()))
    return found


PLAIN = snapshot()


def changed(path: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the snapshot with another array at a path."""
    made: dict[str, Any] = json.loads(json.dumps(PLAIN))
    holder = made["state"]
    *above, last = path.split(".")
    for name in above:
        holder = holder[name]
    array = kept._unpacked(holder[last], {})
    holder[last] = kept.packed(change(array))
    return made


def spoilt(field: str | None, value: int, at: int = 0) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        (array if field is None else array[field])[at] = value
        return array

    return change


def test_a_whole_one_is_taken_up() -> None:
    assert Engine.restore(PLAIN).snapshot()["state"].keys() == PLAIN["state"].keys()


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("machine.down", spoilt(None, 10**6)),
        ("machine.running", spoilt(None, 10**6)),
        ("machine.at", spoilt(None, -1)),
        ("machine.rows", lambda array: array[:, :0]),
        ("timeline.edges", spoilt("row", 10**6)),
        ("timeline.spare", spoilt(None, -5)),
        ("timeline.at", spoilt(None, 10**6, 1)),
        ("queue.entries", spoilt("job", 2**40)),
        ("queue.releases", lambda array: array[:1]),
        ("queue.at", spoilt(None, 10**6, 1)),
        ("jobs", spoilt("row", 10**6)),
        ("jobs", spoilt("pool", 3)),
        ("out.held", spoilt(None, 10**6)),
        ("task", spoilt("node", 10**6)),
        ("pools", lambda array: array.astype(np.float64)),
        ("at", lambda array: array[:2]),
    ],
)
def test_what_points_outside_is_refused(path: str, change: Callable[[Any], Any]) -> None:
    with pytest.raises(ParameterError, match=path):
        Engine.restore(changed(path, change))


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain.update(jobs=10**6),
        lambda plain: plain.update(now="soon"),
        lambda plain: plain.update(held=[10**6]),
        lambda plain: plain.update(drained=[[10**6, True]]),
        lambda plain: plain["state"].pop("machine"),
        lambda plain: plain["state"].update(machine=plain["state"]["queue"]),
        lambda plain: plain["state"]["rules"].update(policy="promise"),
        lambda plain: plain["state"]["rules"].update(overhead=2**80),
        lambda plain: plain["state"]["at"].update(shape=[10**12]),
        lambda plain: plain["state"]["at"].update(type="O"),
        lambda plain: plain["state"]["at"].update(bytes="?"),
    ],
)
def test_what_is_no_snapshot_is_refused(change: Callable[[Any], Any]) -> None:
    plain: dict[str, Any] = json.loads(json.dumps(PLAIN))
    change(plain)
    with pytest.raises(ParameterError):
        Engine.restore(plain)
