"""What browsers are told: compact, and the same where nothing is new."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forestall.core.model.live.desk import Viewer
from forestall.live.web.page.documents import (
    BUSY,
    DOWN,
    FREE,
    OUT,
    PageDocument,
    kind_of,
    of_deadlines,
    of_jobs,
    of_nodes,
)
from live.web.page.told_desk import HOSTILE, ToldDesk

OPS = Viewer("ops", "operator")


@pytest.mark.parametrize(
    ("state", "serves", "kind"),
    [
        ("IDLE", True, FREE), ("MIXED", True, BUSY), ("ALLOCATED", True, BUSY),
        ("IDLE+DRAIN", False, OUT), ("MIXED+DRAIN", False, OUT), ("DOWN*", False, DOWN),
        ("IDLE+NOT_RESPONDING", False, DOWN), ("UNKNOWN", False, DOWN), ("MAINT", False, OUT),
    ],
)  # fmt: skip
def test_kinds_of_nodes(state: str, serves: bool, kind: int) -> None:
    node = replace(
        ToldDesk(1, 0).nodes(OPS)[0], state=state, in_service=serves, jobs=(), free_at=None
    )
    assert kind_of(node) == kind


def test_nodes_stand_in_columns() -> None:
    nodes = ToldDesk(200, 0).nodes(OPS)
    told = json.loads(PageDocument.of(of_nodes(nodes)).plain)
    for k, one in enumerate(nodes):
        assert told["names"][k] == one.name
        assert told["states"][told["state"][k]] == one.state
        assert told["partitions"][told["partition"][k]] == ", ".join(one.partitions)
        assert told["predictors"][told["by"][k]] == one.by
        share = told["reliability"][k]
        known = one.reliability is not None
        assert share == (round(10_000 * one.reliability) if known else -1)
        assert int(told["kinds"][k]) == kind_of(one)
        assert told["free_at"].get(str(k)) == one.free_at
        assert tuple(told["jobs"].get(str(k), ())) == one.jobs
        assert told["reasons"].get(str(k), "") == one.reason


def test_ten_thousand_nodes_are_small() -> None:
    desk = ToldDesk(10_000, 5_000)
    assert len(PageDocument.of(of_nodes(desk.nodes(OPS))).packed) < 150_000
    assert len(PageDocument.of(of_jobs(desk.jobs(OPS))).packed) < 150_000


def test_the_same_content_has_the_same_version() -> None:
    first, second = ToldDesk(50, 30), ToldDesk(50, 30)
    told = PageDocument.of(of_jobs(first.jobs(OPS)))
    assert told == PageDocument.of(of_jobs(second.jobs(OPS)))
    assert told.version != PageDocument.of(of_jobs(first.jobs(OPS)[1:])).version


def test_texts_move_no_cursor_and_turn_nothing_around() -> None:
    shown = json.loads(PageDocument.of({"name": "a\x1b[31m\n" + HOSTILE}).plain)["name"]
    assert shown.isprintable()
    assert "\u202e" not in shown
    assert "<script>" in shown


def test_only_open_promises_have_deadlines() -> None:
    promises = ToldDesk(10, 40).promises(OPS)
    told = of_deadlines(promises)["deadlines"]
    assert set(told) == {one.id for one in promises if one.outcome == "open"}
