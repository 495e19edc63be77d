"""The desk is asked once a cycle for all who may see the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from forestall.core.model.live.desk import Viewer
from forestall.live.web.page.feed import BEAT, FORGOTTEN, Feed
from live.web.page.told_desk import ToldDesk

OPS, MORE = Viewer("ops", "operator"), Viewer("more", "operator")
ALICE, BOB = Viewer("alice", "user"), Viewer("bob", "user")


class Counting(ToldDesk):
    """Counts for whom it was asked for all nodes."""

    def __init__(self) -> None:
        super().__init__(10, 10)
        self.nodes_for: Counter[str] = Counter()

    def nodes(self, viewer: Viewer) -> Any:
        self.nodes_for[viewer.name] += 1
        return super().nodes(viewer)


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def feed_of(desk: ToldDesk) -> tuple[Feed, Clock]:
    clock = Clock()
    return Feed(desk, 1.0, clock), clock


def test_many_viewers_ask_once() -> None:
    async def asking() -> None:
        desk = Counting()
        feed, clock = feed_of(desk)
        await asyncio.gather(*(feed.told(one) for one in (OPS, MORE, OPS, ALICE, ALICE, BOB)))
        assert desk.asked == 3
        assert sum(desk.nodes_for.values()) == 3
        clock.now += 2
        await asyncio.gather(*(feed.told(one) for one in (OPS, MORE, ALICE)))
        assert desk.asked == 5
        assert sum(desk.nodes_for.values()) == 3, "no cycle has passed"
        desk.pass_time(30)
        clock.now += 2
        await feed.told(MORE)
        assert sum(desk.nodes_for.values()) == 4

    asyncio.run(asking())


def test_without_news_there_is_a_beat() -> None:
    async def asking() -> None:
        feed, clock = feed_of(ToldDesk(5, 5))
        first = await feed.told(OPS)
        clock.now += 2
        assert await feed.told(OPS) is first
        clock.now += BEAT
        later = await feed.told(OPS)
        assert later is not first
        assert later.versions == first.versions

    asyncio.run(asking())


def test_what_was_known_stays_where_the_desk_cannot_answer() -> None:
    async def asking() -> None:
        desk = ToldDesk(5, 5)
        feed, clock = feed_of(desk)
        first = await feed.told(OPS)
        desk.fails = "the disk is full"
        clock.now += 2
        told = await feed.told(OPS)
        assert told.said == "the disk is full"
        assert told.cluster == first.cluster
        assert told.versions == first.versions
        desk.fails = ""
        clock.now += 2
        assert (await feed.told(OPS)).said == ""

    asyncio.run(asking())


def test_a_deed_is_seen_at_once() -> None:
    async def asking() -> None:
        desk = ToldDesk(5, 5)
        feed, _ = feed_of(desk)
        first = await feed.told(OPS)
        desk.decide(OPS, "p0", True, "")
        assert (await feed.told(OPS)) is first
        assert (await feed.told(OPS, anew=True)).versions != first.versions

    asyncio.run(asking())


def test_users_get_no_proposals_and_no_costs() -> None:
    async def asking() -> None:
        feed, _ = feed_of(ToldDesk(5, 5))
        told = await feed.told(ALICE)
        assert "proposals" not in told.documents
        assert b"costs" not in told.documents["record"].plain

    asyncio.run(asking())


def test_what_nobody_looks_at_is_dropped() -> None:
    async def asking() -> None:
        feed, clock = feed_of(ToldDesk(5, 5))
        for k in range(20):
            await feed.told(Viewer(f"user{k}", "user"))
        clock.now += FORGOTTEN + 1
        await feed.told(OPS)
        assert list(feed._seen) == [""]

    asyncio.run(asking())
