"""A simulated service in this process: a restart on its ledger, and what it tells without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forestall.core.model.errors import LedgerError, ParameterError
from forestall.core.model.live.desk import JobOrder, QuoteQuestion, Viewer
from forestall.core.model.live.intents import Action, Intent, Role
from forestall.core.model.marks import reservation_name
from forestall.live.ledger.check import check
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.rules import ActingRules
from forestall.live.serving.service import SimulatedOptions, simulated_service
from forestall.live.serving.settings import read_live_settings
from forestall.live.slurm.actor import ClusterActor
from forestall.slurm.cluster.actions import Reserve
from live.web.serving import SCRIPT, service_of

ALICE = Viewer("alice", "user")
OLGA = Viewer("olga", "operator")


def test_a_restart_keeps_promises(tmp_path: Path) -> None:
    told: list[str] = []
    first = service_of(tmp_path, told)
    assert first.loop.once()
    offer = first.desk.quote(ALICE, QuoteQuestion(3, 1800)).offers[0]
    made = first.desk.accept(ALICE, offer.id, JobOrder(SCRIPT))
    assert first.loop.once()
    before = first.desk.cluster(ALICE)
    first.stop()

    again = service_of(tmp_path, told)
    try:
        assert told == ["the simulated cluster starts over with the jobs of 1 open promises"]
        assert again.loop.once()
        now = again.desk.promise(ALICE, made.id)
        assert (now.id, now.deadline, now.probability, now.job) == (
            made.id, made.deadline, made.probability, made.job,
        )  # fmt: skip
        assert before.looked is not None
        assert again.desk.cluster(ALICE).now > max(before.looked, made.at)
        same = again.desk.accept(ALICE, offer.id, JobOrder(SCRIPT))
        assert same.job == made.job  # not submitted twice
        for _ in range(400):
            again.loop.once()
            if again.desk.promise(ALICE, made.id).outcome != "open":
                break
            again.desk.cluster(OLGA)
        assert again.desk.promise(ALICE, made.id).outcome in ("kept", "missed")
    finally:
        again.stop()
    with LiveLedger(f"sqlite:///{tmp_path}/ledger.db", writes=False) as ledger:
        assert not check(ledger).wrong


def test_the_start_of_a_job_with_features_is_held_on_such_nodes(tmp_path: Path) -> None:
    """The model's nodes get features here: four of them are fast."""
    one = service_of(tmp_path, [])
    try:
        cluster = one.desk._controller._cluster
        state = cluster._world.state  # type: ignore[attr-defined]
        for name in list(state.nodes)[:4]:
            state.nodes[name] = state.nodes[name]._replace(features=("ib", "fast"))
        assert one.loop.once()
        asked = QuoteQuestion(3, 1800, features="ib&fast")
        assert "with ib&fast: there are 4" in one.desk.quote(ALICE, replace(asked, nodes=5)).said
        offer = one.desk.quote(ALICE, asked).offers[-1]
        assert offer.held
        made = one.desk.accept(ALICE, offer.id, JobOrder(SCRIPT))
        features = {job.features for job in state.jobs.values() if job.id == made.job}
        assert features == {"ib&fast"}
        intent = Intent(
            Action.RESERVE, reservation_name(made.id), made.at, made.at + 60, "", "holds it",
            {"start": float(made.start), "time": 60.0}, promise=made.id,
        )  # fmt: skip
        actor = one.desk._controller.executor._actors[Role.KEEPER]
        assert isinstance(actor, ClusterActor)
        reserve = actor.action_of(intent)
        assert isinstance(reserve, Reserve)
        assert (reserve.features, reserve.users) == ("ib&fast", ("alice",))
        for strange in ("a,b", "[a*2]", "a&", "x" * 300):
            with pytest.raises(ParameterError, match="features"):
                one.desk.quote(ALICE, replace(asked, features=strange))
    finally:
        one.stop()


def test_two_do_not_write_one_ledger(tmp_path: Path) -> None:
    one = service_of(tmp_path, [])
    try:
        with pytest.raises(LedgerError, match="another process writes to it"):
            service_of(tmp_path, [])
    finally:
        one.stop()


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"speed": 0.0}, {"speed": 1e9}, {"seed": -1}])
def test_a_cluster_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        SimulatedOptions(**wrong)  # type: ignore[arg-type]


def test_a_person_has_a_minute_of_their_own_time_to_approve(tmp_path: Path) -> None:
    """Whatever the settings say of rules, and for proposals of the keeper, too."""
    for name, rules in (("usual", ""), ("given", "[rules]\nlife = 5\n")):
        path = tmp_path / f"{name}.toml"
        path.write_text(f'[serve]\nledger = "sqlite:///{tmp_path}/{name}.db"\n{rules}')
        settings = read_live_settings(path)
        one = simulated_service(settings, SimulatedOptions(8, 600.0), lambda _: None)
        try:
            controller = one.desk._controller
            assert controller.settings.life >= 60 * 600
            assert isinstance(controller._rules, ActingRules)
            assert controller._rules.settings.life >= 60 * 600
        finally:
            one.stop()
