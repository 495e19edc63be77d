"""A look that cannot be true is none; what is told says what was wrong."""

from __future__ import annotations

import pytest

from forestall.core.model.faults import LookError, LookFault
from forestall.slurm.cluster.looks import LookAnswers, snapshot
from forestall.slurm.cluster.nouns import ClusterNode, ClusterReservation
from forestall.slurm.simulation.moves import fresh, waiting
from forestall.slurm.simulation.state import SlurmState

NODES = [fresh(f"n{k}", 0) for k in range(1, 6)]


def answers(**other: object) -> LookAnswers:
    job = waiting(SlurmState(1000), "u", "x", 1, 60)
    usual = LookAnswers(1000, 1002, 1001, [job], NODES, [], [], None, "26.05.0")
    return usual._replace(**other)


def fault(now: LookAnswers, before: LookAnswers | None = None) -> tuple[LookFault, str]:
    with pytest.raises(LookError) as raised:
        snapshot(now, None if before is None else snapshot(before, None))
    return raised.value.fault, str(raised.value)


def test_a_true_look() -> None:
    first = snapshot(answers(), None)
    later = snapshot(answers(began=1030, at=1030, told_at=1030), first)
    assert (first.mark, later.mark) == (1000, 1030)
    assert list(later.nodes) == ["n1", "n2", "n3", "n4", "n5"]


def test_doubled_ids() -> None:
    twice = answers().jobs[0]
    kind, text = fault(answers(jobs=[twice, twice]))
    assert kind is LookFault.DOUBLED
    assert text == "queue: 1 of 2 come twice; each job stands once"
    assert fault(answers(nodes=[*NODES, NODES[0]]))[0] is LookFault.DOUBLED
    one = ClusterReservation("r", 1, 2, (), 0, "", "", (), (), ())
    assert fault(answers(reservations=[one, one]))[0] is LookFault.DOUBLED


def test_fewer_nodes() -> None:
    none: list[ClusterNode] = []
    assert fault(answers(nodes=none))[0] is LookFault.FEWER_NODES
    kind, text = fault(answers(nodes=NODES[4:]), answers())
    assert kind is LookFault.FEWER_NODES
    assert text == "nodes: 4 of 5 nodes are missing: n1, n2, n3 ..."


def test_a_cluster_that_was_made_smaller_is_looked_at_anew() -> None:
    assert len(snapshot(answers(nodes=NODES[1:]), None).nodes) == 4


def test_clocks() -> None:
    assert fault(answers(at=990))[0] is LookFault.BACKWARDS
    assert fault(answers(began=900, at=901, told_at=901), answers())[0] is LookFault.BACKWARDS
    kind, text = fault(answers(began=1030, at=1031, told_at=995), answers())
    assert kind is LookFault.BACKWARDS
    assert text == "queue: the answer is 6 s older than the one before"
    kind, text = fault(answers(told_at=1100))
    assert kind is LookFault.CLOCKS
    assert text == "clock: Slurm's clock is 98 s ahead of this machine's"


def test_without_accounting_the_mark_stays() -> None:
    away = LookError(LookFault.UNREACHABLE, "accounting", "away")
    first = snapshot(answers(), None)
    later = snapshot(answers(began=1030, at=1030, told_at=1030, runs=None, accounting=away), first)
    assert later.mark == first.mark
    assert later.accounting is away
