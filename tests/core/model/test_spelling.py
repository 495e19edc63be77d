"""Parameters that texts name are spelled by whoever shows the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from forestall.core.model.spelling import all_named


class Pair(NamedTuple):
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Held:
    pairs: tuple[Pair, ...]
    more: dict[str, str]


def test_texts_are_named_wherever_they_are_held() -> None:
    held = Held((Pair("a", ("see {since}", "b")),), {"{c}": "{min_nodes} or {Other}"})
    told = all_named(held, lambda name: "--" + name.replace("_", "-"))
    assert told.pairs == (Pair("a", ("see --since", "b")),)
    assert told.more == {"{c}": "--min-nodes or {Other}"}


def test_what_names_none_stays_what_it_is() -> None:
    held = Held((Pair("a", ("b",)),), {"c": "d"})
    assert all_named(held) is held
