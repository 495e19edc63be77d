"""What is found worth telling by comparing a desk with itself."""

from __future__ import annotations

from dataclasses import replace

from forestall.live.messages.settings import MessageSettings
from forestall.live.messages.watch import UNSEEN, DeskWatch
from live.messages.message_cases import CLUSTER, NOW, ToldDesk, promise, proposal

SETTINGS = MessageSettings(unseen=300, at_risk=0.5)


def causes(watch: DeskWatch) -> list[str]:
    return [one.cause for one in watch.look()]


def test_all_well_is_silence() -> None:
    assert DeskWatch(ToldDesk(made=[promise("a")]), SETTINGS).look() == []  # type: ignore[arg-type]


def test_a_cluster_out_of_sight_and_seen_again() -> None:
    desk = ToldDesk()
    watch = DeskWatch(desk, SETTINGS)  # type: ignore[arg-type]
    assert watch.look() == []
    desk.told = replace(CLUSTER, now=NOW + 200, said="squeue: late")
    assert watch.look() == []
    desk.told = replace(CLUSTER, now=NOW + 400, said="squeue: late")
    [first] = watch.look()
    desk.told = replace(CLUSTER, now=NOW + 430, said="squeue: late")
    [second] = watch.look()
    assert first.cause == UNSEEN
    assert first.item == second.item  # the same thing, which is told once
    assert "squeue: late" in first.line
    desk.told = replace(CLUSTER, now=NOW + 460, looked=NOW + 459)
    [again] = watch.look()
    assert again.line.startswith("seen again")
    assert watch.look() == []


def test_missed_promises_by_their_cause_and_not_those_of_long_ago() -> None:
    desk = ToldDesk(made=[promise("old", outcome="missed"), promise("a"), promise("b")])
    watch = DeskWatch(desk, SETTINGS)  # type: ignore[arg-type]
    assert watch.look() == []
    desk.made[1] = promise("a", outcome="missed", cause="node failed", ended=NOW + 9000)
    desk.made[2] = promise("b", outcome="kept", ended=NOW + 60)
    [missed] = watch.look()
    assert missed.cause == "promises missed, node failed"
    assert missed.item == "a"
    assert "job 17 of alice (promise a" in missed.line
    assert watch.look() == []


def test_a_promise_at_risk() -> None:
    desk = ToldDesk(made=[promise("a", likely=0.4), promise("b", likely=0.6),
                          promise("c", probability=0.3, likely=0.35),
                          promise("d", likely=None)])  # fmt: skip
    [one] = DeskWatch(desk, SETTINGS).look()  # type: ignore[arg-type]
    assert one.cause == "promises at risk"
    assert one.item == "a"
    assert "40 % now, 90 % stated" in one.line


def test_proposals_and_failed_actions() -> None:
    desk = ToldDesk(wanted=[
        proposal("p1"), proposal("p2", target="n5"), proposal("p3", state="confirmed"),
        proposal("p4", action="reboot", state="failed", why="refused"),
    ])  # fmt: skip
    assert causes(DeskWatch(desk, SETTINGS)) == [  # type: ignore[arg-type]
        "drain waits for approval", "drain waits for approval", "reboot failed",
    ]  # fmt: skip


def test_a_controller_that_has_not_looked_yet() -> None:
    assert DeskWatch(ToldDesk(replace(CLUSTER, looked=None)), SETTINGS).look() == []  # type: ignore[arg-type]
