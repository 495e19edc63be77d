"""Records that are read again are held to the types of their fields."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

from forestall.core.files.documents import json_of
from forestall.core.files.records import record_of
from forestall.core.model.errors import ParameterError, TraceError
from forestall.machines.acting.hosts.lease import Position
from forestall.machines.acting.hosts.records import HostState, RecordStore
from forestall.sharing.agent.guests import registered_guests
from forestall.vaults.acting.images import TOLD, ImageError, ImageTold
from forestall.vaults.adapters.qemu_guest import Guest


class Colour(StrEnum):
    RED = "red"


class Inner(NamedTuple):
    x: float
    y: int = 3


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner
    colour: Colour = Colour.RED
    way: Literal["up", "down"] = "up"
    words: tuple[str, ...] = ()
    each: dict[str, dict[str, float]] | None = None
    more: list[int] = field(default_factory=list)
    flag: bool = False


def test_what_was_written_comes_back() -> None:
    told = {"name": "n", "inner": {"x": 1}, "words": ["a"], "each": {"s": {"1": 2}}, "more": [4]}
    found = record_of(Outer, told)
    assert found == Outer("n", Inner(1.0), words=("a",), each={"s": {"1": 2.0}}, more=[4])
    assert isinstance(found.inner.x, float)
    assert isinstance(found.colour, Colour)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"name": 3}, "name"), ({"name": None}, "name"), ({"inner": []}, "inner"),
        ({"inner": {}}, "inner.x"), ({"inner": {"x": "1"}}, "inner.x"),
        ({"inner": {"x": float("nan")}}, "inner.x"), ({"inner": {"x": 10**400}}, "inner.x"),
        ({"inner": {"x": 1, "y": 1.5}}, "inner.y"), ({"inner": {"x": 1, "y": 2**63}}, "inner.y"),
        ({"inner": {"x": 1, "y": True}}, "inner.y"), ({"inner": {"x": -1}}, "inner.x"),
        ({"colour": "blue"}, "colour"), ({"colour": []}, "colour"), ({"way": "left"}, "way"),
        ({"words": "abc"}, "words"), ({"words": [1]}, "words"), ({"each": {"s": 1}}, "each.s"),
        ({"more": [1.0]}, "more"), ({"flag": 0}, "flag"), ({"other": 1}, "record"),
    ],
)  # fmt: skip
def test_what_no_field_can_hold_is_refused(change: dict[str, Any], place: str) -> None:
    told = {"name": "n", "inner": {"x": 1}, **change}
    with pytest.raises(ParameterError) as raised:
        record_of(Outer, told)
    assert raised.value.name == place
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 250


@pytest.mark.parametrize("told", [None, [], 3, "x"])
def test_what_is_no_record_is_refused(told: Any) -> None:
    with pytest.raises(ParameterError, match="named values"):
        record_of(Outer, told)


SPOILT = ["", "3", "[]", "[" * 5000, '{"node": 3}', '{"node": "a", "state": "well"}',
          '{"node": "a", "since": 1e999}',
          '{"node": "a", "since": ' + "9" * 5000 + "}"]  # fmt: skip


@pytest.mark.parametrize("text", SPOILT)
def test_a_spoilt_record_of_a_host_is_not_believed(tmp_path: Path, text: str) -> None:
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts/a.json").write_text(text)
    assert RecordStore(tmp_path).host("a").state is HostState.SILENT


@pytest.mark.parametrize(
    "change", [{"definition": 3}, {"revision": "two"}, {"phase": "asleep"}, {"size": 1}]
)
def test_a_spoilt_record_of_a_machine_is_one_line(tmp_path: Path, change: dict[str, Any]) -> None:
    definition = {"machine": "m", "text": "<x/>", "size": {"processors": 1, "memory": 2}}
    place = tmp_path / "machines/m/record.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"definition": definition, "phase": "running"}))
    found = RecordStore(tmp_path).machine("m")
    assert found is not None
    assert asdict(found)["definition"]["size"] == {"processors": 1.0, "memory": 2.0}
    place.write_text(json.dumps({"definition": definition, "phase": "running", **change}))
    with pytest.raises(TraceError, match=r"record\.json: is damaged or was not written"):
        RecordStore(tmp_path).readable("m")


@pytest.mark.parametrize("until", ["1e999", "NaN", "9" * 400, '"soon"', "[]"])
def test_a_spoilt_lease_counts_as_held(tmp_path: Path, until: str) -> None:
    position = Position(tmp_path, "system", 30.0)
    (tmp_path / "system.json").write_text(f'{{"holder": "x", "token": 1, "until": {until}}}')
    found = position.held()
    assert found is not None
    assert found.holder == ""


@pytest.mark.parametrize("told", ["{}", "[]", '{"form": 1, "name": 2}', "3"])
def test_a_spoilt_image_is_none(tmp_path: Path, told: str) -> None:
    (tmp_path / TOLD).write_text(told)
    with pytest.raises(ImageError):
        ImageTold.read(tmp_path)


def test_a_guest_registered_with_huge_numbers_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "guests").mkdir()
    for name, told in [("a", '{"pid": 1, "created": ' + "9" * 400 + "}"),
                       ("b", '{"pid": ' + "9" * 40 + ', "created": 1}')]:  # fmt: skip
        (tmp_path / f"guests/{name}.json").write_text(told)
    assert registered_guests(tmp_path) == []


def test_a_guest_of_qemu_is_held_to_its_fields() -> None:
    with pytest.raises(ParameterError, match="memory"):
        Guest.from_json({**json_of('{"name": "a", "kernel": "k"}'), "memory": "much"})
