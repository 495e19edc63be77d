"""What the guard is shown, and whose promise a job carries."""

from __future__ import annotations

from forestall.live.slurm.sight import carriers, sight_of
from forestall.slurm.cluster.nouns import ClusterReservation, ClusterSnapshot
from live.slurm.test_reconcile import NOW, job, node

FLAGS = ("FLEX", "PURGE_COMP=00:05:00", "REPLACE_DOWN")


def reservation(name: str, at: str, *users: str) -> ClusterReservation:
    return ClusterReservation(name, NOW - 9, NOW + 900, (at,), 1, "", "", FLAGS, users, ())


def test_all_that_is_shown() -> None:
    mine, forged = job(7, "n1", comment="forestall:p1"), job(8, user="bob", comment="forestall:p1")
    copied = job(9, comment="forestall:p1", start=NOW + 50, priority=0)
    held = [
        reservation("forestall_p1", "n2", "ann"), reservation("forestall_p2", "n3", "eve"),
        reservation("upgrade", "n4", "root"),
    ]  # fmt: skip
    nodes = [node(f"n{k}") for k in range(1, 5)]
    nodes.append(node("n5", flags=("DRAIN",), reason="forestall: risk [d1]"))
    nodes.append(node("n6", state="DOWN", flags=("REBOOT_ISSUED",), reason="fan"))
    seen = ClusterSnapshot(
        {one.id: one for one in (mine, forged, copied)},
        {one.name: one for one in nodes},
        {one.name: one for one in held},
        began=NOW,
    )
    assert carriers(seen, {"p1": "ann"}) == {"p1": mine}
    sight = sight_of(seen, {"p1": "ann", "p2": "bob"})
    assert sight.at == NOW
    assert {name for name, one in sight.nodes.items() if one.promised} == {"n1", "n2", "n3"}
    assert {name for name, one in sight.nodes.items() if one.reserved} == {"n4"}
    assert {name for name, one in sight.nodes.items() if one.busy} == {"n1"}
    assert (sight.nodes["n5"].drained, sight.nodes["n5"].is_ours) == (True, True)
    assert sight.nodes["n6"].rebooting
    assert sight.nodes["n6"].is_a_persons
    assert sight.jobs["7"].standing == f"RUNNING start={NOW - 50} promise=p1 held=0"
    assert sight.jobs["8"].standing == "PENDING start=0 promise= held=0"
    assert sight.jobs["9"].standing == "PENDING start=0 promise= held=1"
    as_made = {name: one.as_made for name, one in sight.reservations.items()}
    assert as_made == {"forestall_p1": True, "forestall_p2": False, "upgrade": False}
