"""What rules propose, on modelled clusters and by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.live.intents import Action
from forestall.live.guard.settings import GuardSettings
from forestall.live.ledger.failures import LedgerFailures
from forestall.live.ledger.rows import IntentRow
from forestall.live.rules.costs import CostBook, costs
from forestall.live.rules.findings import NodeFinding, alarms_of
from forestall.live.rules.rules import ActingRules, rule_of
from forestall.live.rules.settings import RuleSettings
from forestall.live.rules.worth import NodeStakes
from forestall.live.slurm.controller import Controller
from forestall.live.slurm.outlook import STEERED
from forestall.live.slurm.sight import sight_of
from forestall.prediction.watching.foreseen import ListedForecasts
from forestall.slurm.cluster.actions import DrainNode, RebootNode, ResumeNode
from forestall.slurm.cluster.nouns import ClusterJob, ClusterRun
from forestall.slurm.simulation.moves import drained
from forestall.slurm.simulation.settings import WorldSettings
from live.rules.world import CYCLE, GUARD, WARDEN, Oracle, Ruled, SaidHealth

QUIET = WorldSettings(nodes=8, load=0.0, failure=0.0)
FAILING = WorldSettings(
    nodes=16, load=0.7, run=3600.0, widest=4, failure=6 * 3600.0, repair=3600.0, flap=0.0
)
NOW = QUIET.origin


def test_drains_before_foreseen_failures_save_jobs_and_a_falsified_predictor_does_not() -> None:
    """Measured over three worlds of a day: with rules, runs that a failure ends are fewer than 65 %
    of those without; a predictor that names other nodes saves none, and is soon not believed."""
    without = told = false = drains = 0
    for seed in range(3):
        off = Ruled(seed, FAILING, None, Oracle)
        on = Ruled(seed, FAILING, RuleSettings(), Oracle)
        wrong = Ruled(seed, FAILING, RuleSettings(), lambda world: Oracle(world, wrong=True))
        for one in (off, on, wrong):
            one.play(86_400)
        without, told = without + off.ended("NODE_FAIL"), told + on.ended("NODE_FAIL")
        false += wrong.ended("NODE_FAIL")
        drains += len(wrong.deeds(DrainNode))
        assert on.ended("COMPLETED") >= 0.95 * off.ended("COMPLETED")
        assert wrong.rules is not None
        assert wrong.rules.memory.trust("oracle") < 0.4
    assert told < 0.65 * without
    assert false > 0.9 * without
    assert drains <= 6 * 3


def test_a_node_that_eats_jobs_is_caught_after_its_first_failures() -> None:
    """Jobs of different users fail on it within seconds: it is drained when the third has failed,
    rebooted once idle, and eats no more."""
    world = WorldSettings(nodes=8, load=1.2, run=600.0, widest=2, failure=0.0, hole=1)
    one = Ruled(4, world, RuleSettings(eats=3, eats_within=1800))
    one.play(3 * 3600)
    assert one.deeds(DrainNode) == ["n1"]
    assert one.deeds(RebootNode) == ["n1"]
    eaten = one.ended("FAILED")
    at = next(deed.at for deed in one.world.state.deeds if isinstance(deed.action, DrainNode))
    before = [run for run in one.world.state.runs if run.state == "FAILED" and run.end < at - 60]  # type: ignore[operator]
    assert len(before) < 3
    one.play(3600)
    assert one.ended("FAILED") == eaten


def test_jobs_that_fail_everywhere_are_no_fault_of_a_node() -> None:
    one = Ruled(0, QUIET, RuleSettings(eats=2, eats_within=3600))
    assert one.rules is not None
    one.play(60)
    seen = one.cluster.look()
    runs = tuple(
        _run(job, node, user)
        for job, node, user in (
            (1, "n1", "a"), (2, "n1", "a"), (3, "n2", "a"), (4, "n3", "a"), (5, "n4", "b"),
            (6, "n4", "c"),
        )
    )  # fmt: skip
    names = {run.job: _job(run.job, run.user) for run in runs}
    one.rules.memory.look(replace(seen, runs=runs, jobs=names), {}, NOW + 120)
    assert list(one.rules.memory.eaten()) == ["n4"]


def _run(job: int, node: str, user: str) -> ClusterRun:
    return ClusterRun(job, user, "FAILED", NOW, NOW + 60 + job, NOW + 62 + job, (node,), "")


def _job(job: int, user: str) -> ClusterJob:
    return ClusterJob(
        job, user, "train", "", "", "", "PENDING", (), "", NOW, NOW, None, None, 60, 1, (), (), "",
        "", 1, 0, 0, "", "",
    )  # fmt: skip


# ------------------------------------------------------------------------------------- health


def test_an_ill_node_is_drained_rebooted_and_stays_out_while_it_is_ill() -> None:
    health = SaidHealth({"n3": "check_fs_mount: /scratch not mounted", "n4": "OK"})
    one = Ruled(1, QUIET, RuleSettings(rest=0), health=health)
    one.play(300)
    assert one.deeds(DrainNode) == ["n3"]
    assert one.deeds(RebootNode) == ["n3"]
    assert one.world.state.nodes["n4"].in_service
    row = next(iter(one.ledger.read(IntentRow, action="drain")))
    assert row.reason == "health: the site's check: check_fs_mount: /scratch not mounted"


def test_without_reboots_a_node_returns_when_the_check_says_that_it_is_well() -> None:
    health = SaidHealth({"n3": "no fan"})
    one = Ruled(1, QUIET, RuleSettings(reboot=(), rest=600), health=health)
    one.play(3600)
    assert one.deeds(DrainNode) == ["n3"]
    assert one.deeds(ResumeNode) == []
    health.said = None  # nobody knows: it waits
    one.play(1800)
    assert one.deeds(ResumeNode) == []
    health.said = {"n3": "ok"}
    one.play(120)
    assert one.deeds(ResumeNode) == ["n3"]
    assert one.world.state.nodes["n3"].in_service


def test_a_node_that_comes_again_and_again_is_left_to_people() -> None:
    health = SaidHealth()
    one = Ruled(1, QUIET, RuleSettings(reboot=(), rest=0, repeats=2), health=health)
    for _ in range(3):
        for said in ({"n3": "no fan"}, {"n3": "ok"}):
            health.said = said
            one.play(600)
    assert one.deeds(DrainNode) == ["n3", "n3"]
    assert one.deeds(ResumeNode) == ["n3"]
    assert not one.world.state.nodes["n3"].in_service
    assert one.rules is not None
    assert [alarm.rule for alarm in one.rules.alarms] == ["repeat"]
    after = ActingRules(
        RuleSettings(repeats=2), one.ledger
    )  # begun anew, it knows of it by the ledger
    after.memory.read(one.ledger, one.world.state.now)
    assert len(after.memory.drains["n3"]) == 2


def test_an_alarm_on_many_nodes_is_one_alarm_and_drains_nobody() -> None:
    said = {f"n{k}": f"/scratch: error {k}" for k in range(1, 7)}
    one = Ruled(1, QUIET, RuleSettings(group=4), health=SaidHealth(said))
    one.play(600)
    assert one.deeds(DrainNode) == []
    assert one.rules is not None
    [alarm] = one.rules.alarms
    assert alarm.nodes == tuple(said)
    assert alarm.words == "n1: the site's check: /scratch: error 1 (and 5 more nodes)"
    assert set(one.rules.foreseen(one.cluster.look(), NOW + 600)) == set(said)


def test_a_restart_knows_how_right_predictors_were() -> None:
    one = Ruled(3, QUIET, RuleSettings())
    assert one.rules is not None
    one.rules.take_over({"oracle": [4.5, 1.0]})
    one.play(2 * CYCLE)
    again = Ruled(3, QUIET, None)
    rules = ActingRules(RuleSettings(), one.ledger)
    assert rules.memory.trust("oracle") == 1.0
    Controller(
        again.cluster, one.ledger, {}, GUARD, ListedForecasts(), lambda: again.cluster.clock,
        rules=rules,
    )  # fmt: skip
    assert rules.learned() == {"oracle": [4.5, 1.0]}
    assert rules.memory.trust("oracle") == pytest.approx(3.0 / 6.5)


def test_what_a_person_did_is_never_touched() -> None:
    health = SaidHealth({"n1": "ill", "n2": "ill"})
    one = Ruled(1, QUIET, RuleSettings(rest=0), health=health)
    state = one.world.state
    state.node(drained(state.nodes["n1"], "bad fan, RT 4711", "root", state.now))
    state.theirs.add("n1")
    one.play(600)
    health.said = {"n1": "ok", "n2": "ok"}
    one.play(3600)
    assert "n1" not in one.deeds(DrainNode, ResumeNode, RebootNode)
    assert one.world.state.nodes["n1"].reason == "bad fan, RT 4711"


def test_a_drain_by_hand_through_forestall_is_no_rules() -> None:
    assert rule_of("forestall: fan is broken [d1]") == ""
    assert rule_of("forestall: eats: 3 jobs failed [d1], keep it so. Ann") == ""


def test_the_floor_is_kept_whatever_is_found() -> None:
    health = SaidHealth({f"n{k}": f"{'abcdefgh'[k - 1]} is broken" for k in range(1, 9)})
    guard = GuardSettings(floor_percent=70.0, warden=WARDEN)
    one = Ruled(1, QUIET, RuleSettings(), health=health, guard=guard)
    for _ in range(60):
        one.play(60)
        assert sum(node.in_service for node in one.world.state.nodes.values()) >= 6
    assert one.deeds(DrainNode)


# ------------------------------------------------------------------------------------- worth


def test_what_a_drain_is_worth_by_hand() -> None:
    """Two nodes of four work, on a job of two nodes that began 1000 s ago and may last 1000 s more.

    A failure of one of them loses 2 x 1000 node-s, the mean of both. Of an idle node that fails in
    500 s with 0.8, until 1500 s: b = 0.5, saved 0.8 x 0.5 x 2000 = 800, spent 0.5 x (500 + 0.2 x
    1000 + 100) = 400. Of one that works half of the job's ends come before: saved 400, and it costs
    nothing until the mean of these, 500: spent 0.5 x (0 + 200 + 100) = 150.
    """
    stakes = NodeStakes(0.5, 2000.0, {"n1": NOW + 1000, "n2": NOW + 1000}, NOW)
    finding = NodeFinding("risk", "n3", 0.8, NOW + 500, NOW + 1500, "")
    assert stakes.of_drain(finding, 100) == pytest.approx((400.0, 800.0, 0.4, NOW))
    assert stakes.of_drain(finding._replace(node="n1"), 100) == pytest.approx(
        (150.0, 400.0, 0.2, NOW + 500)
    )


def test_stakes_of_a_look() -> None:
    one = Ruled(1, QUIET, None)
    seen = one.cluster.look()
    job = _job(7, "a")._replace(state="RUNNING", start=NOW - 1000, limit=2000, nodes=("n1", "n2"))
    stakes = NodeStakes.of(replace(seen, jobs={7: job}), NOW)
    assert stakes == NodeStakes(0.25, 2000.0, {"n1": NOW + 1000, "n2": NOW + 1000}, NOW)


@given(
    p=st.floats(0, 1), at=st.integers(-100, 10_000), down=st.integers(0, 10_000),
    left=st.integers(-100, 10_000), busy=st.floats(0, 1), loss=st.floats(0, 1e6),
)  # fmt: skip
def test_worth_is_never_negative_and_grows_with_the_probability(
    p: float, at: int, down: int, left: int, busy: float, loss: float
) -> None:
    stakes = NodeStakes(busy, loss, {"n1": NOW + left}, NOW)
    one = NodeFinding("risk", "n1", p, NOW + at, NOW + at + down, "")
    worth, sure = (stakes.of_drain(one._replace(probability=q), 60) for q in (p, 1.0))
    assert worth.spent >= 0
    assert worth.saved >= 0
    assert sure.saved >= worth.saved
    assert sure.spent <= worth.spent


def test_costs_add_up_to_what_was_done() -> None:
    health = SaidHealth({"n3": "no fan"})
    one = Ruled(1, QUIET, RuleSettings(reboot=(), rest=0), health=health)
    one.play(1200)
    [drain] = costs(one.ledger, one.world.state.now)
    assert (drain.role, drain.action, drain.proposed, drain.done) == ("warden", "drain", 1, 1)
    assert drain.spent == 0.0  # nothing ran, so that the node's time was worth nothing
    book = CostBook(one.ledger, LedgerFailures(one.ledger))
    book.told(one.world.state.now)
    health.said = {"n3": "ok"}
    one.play(600)
    both = book.told(one.world.state.now)
    assert both == costs(one.ledger, one.world.state.now)
    assert [(told.action, told.done) for told in both] == [("drain", 1), ("resume", 1)]


# ---------------------------------------------------------------------------------- the rest


def test_promises_keep_away_from_lemons_and_nobody_drains_them() -> None:
    one = Ruled(1, QUIET, None)
    rules = ActingRules(
        RuleSettings(), one.ledger, lemons={"n2": "fails 7 times as often as its kind"}
    )
    seen = one.cluster.look()
    assert list(rules.intents(seen, sight_of(seen, {}), {}, NOW)) == []
    told = rules.foreseen(seen, NOW)["n2"]
    assert told.by == f"{STEERED}lemon"
    assert NOW < told.at <= NOW + 600


def test_odd_metrics_count_where_a_failure_is_probable_enough() -> None:
    one = Ruled(1, replace(QUIET, load=1.0), None)
    one.play(4 * 3600)
    seen, now = one.cluster.look(), one.world.state.now
    idle = next(name for name, node in seen.nodes.items() if node.state == "IDLE")
    odd = {idle: 0.95, "n9": 1.0}
    rules = ActingRules(RuleSettings(rest=60, downtime=60), one.ledger, odd=lambda _, __: odd)
    [intent] = rules.intents(seen, sight_of(seen, {}), {}, now)
    assert (intent.action, intent.target) == (Action.DRAIN, idle)
    assert intent.figures["saved"] > intent.figures["spent"]


def test_findings_of_one_cause_are_one_alarm() -> None:
    found = [
        NodeFinding("health", "n2", 0.5, 0, 1, "a", "x"), NodeFinding("risk", "n1", 0.5, 0, 1, "b"),
        NodeFinding("health", "n1", 0.9, 0, 1, "a", "x"), NodeFinding("risk", "n3", 0.5, 0, 1, "b"),
    ]  # fmt: skip
    assert [alarm.nodes for alarm in alarms_of(found)] == [("n1", "n2"), ("n1",), ("n3",)]


def test_settings_name_rules() -> None:
    with pytest.raises(
        ParameterError, match="drain: 'risc' is not allowed; expected of risk, health"
    ):
        RuleSettings(drain=("risc",))
    assert GUARD.warden is WARDEN
