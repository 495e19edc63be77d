"""What is intended is done once at most, within limits, and never on what a person took."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, LedgerError
from forestall.core.model.live.intents import Action, IntentState, Role
from forestall.live.act.actor import Effect
from forestall.live.act.executor import Executor
from forestall.live.guard.settings import GuardSettings
from forestall.live.ledger.check import check
from forestall.live.ledger.rows import ApprovalRow, IntentRow, StateRow
from forestall.live.ledger.store import LiveLedger
from live.act.act_cases import PERSON, FlakyActor, KilledError, SmallCluster, settings


class Good:
    """Does at once what it is handed."""

    def __init__(self, cluster: SmallCluster) -> None:
        self.cluster = cluster

    def carry_out(self, intent: object) -> None:
        self.cluster.apply(intent)  # type: ignore[arg-type]

    def effect_of(self, intent: object) -> Effect:
        done = any(name == intent.id for name, _ in self.cluster.done)  # type: ignore[attr-defined]
        return Effect.DONE if done else Effect.NOT_DONE


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[LiveLedger]:
    with LiveLedger(f"sqlite:///{tmp_path / 'ledger.db'}") as opened:
        yield opened


def states(ledger: LiveLedger, name: str) -> list[str]:
    return [row.state for row in ledger.read(StateRow, intent=name)]


def test_from_a_proposal_to_its_confirmation(ledger: LiveLedger) -> None:
    cluster = SmallCluster.of(10)
    executor = Executor(ledger, {Role.WARDEN: Good(cluster)}, settings(), cluster.clock)
    one = cluster.intend(Action.DRAIN, "n3")
    executor.propose([one])
    executor.propose([one])
    assert executor.waiting() == [(one, IntentState.PROPOSED)]
    moved = executor.step(cluster.look())
    assert [item.state for item in moved] == ["written", "carried out"]
    assert executor.half_way() == [one]
    assert [item.state for item in executor.step(cluster.look())] == ["confirmed"]
    assert states(ledger, one.id) == ["proposed", "written", "carried out", "confirmed"]
    assert executor.step(cluster.look()) == []
    assert cluster.done == [(one.id, 1000)]
    assert check(ledger).adds_up


def test_a_person_agrees_or_not(ledger: LiveLedger) -> None:
    cluster = SmallCluster.of(10)
    asks = settings(warden=replace(settings().warden, switch="approve"))
    executor = Executor(ledger, {Role.WARDEN: Good(cluster)}, asks, cluster.clock)
    yes, no, back, late = (cluster.intend(Action.DRAIN, f"n{k}") for k in range(4))
    executor.propose([yes, no, back, late])
    assert executor.step(cluster.look()) == []
    executor.approve(yes.id, "bob")
    executor.reject(no.id, "bob", "not now")
    executor.approve(back.id, "bob")
    executor.reject(back.id, "ann")
    for name, who in ((no.id, "bob"), (yes.id, "eve"), ("0" * 16, "bob")):
        with pytest.raises(InputError, match="does not await a decision"):
            executor.approve(name, who)
    executor.step(cluster.look())
    assert cluster.done == [(yes.id, 1000)]
    assert states(ledger, no.id) == ["proposed", "refused"]
    assert states(ledger, back.id) == ["proposed", "approved", "refused"]
    assert [(row.who, row.approved) for row in ledger.read(ApprovalRow)] == [
        ("bob", 1), ("bob", 0), ("bob", 1),
    ]  # fmt: skip
    cluster.now += 600
    with pytest.raises(InputError):
        executor.approve(late.id, "bob")
    executor.step(cluster.look())
    assert states(ledger, late.id)[-1] == "expired"
    assert check(ledger).adds_up


def test_nothing_acts_by_default(ledger: LiveLedger) -> None:
    cluster = SmallCluster.of(10)
    executor = Executor(ledger, {Role.WARDEN: Good(cluster)}, GuardSettings(), cluster.clock)
    one = cluster.intend(Action.DRAIN, "n3")
    executor.propose([one])
    executor.step(cluster.look())
    assert states(ledger, one.id) == ["proposed", "refused"]
    assert cluster.done == []


def test_the_same_proposal_in_every_cycle(ledger: LiveLedger) -> None:
    """What waits, or was refused a moment ago, is not booked again and again."""
    cluster = SmallCluster.of(10)
    off = GuardSettings()
    executor = Executor(ledger, {Role.WARDEN: Good(cluster)}, off, cluster.clock)
    for _ in range(50):
        executor.propose([cluster.intend(Action.DRAIN, "n3")])
        executor.propose([cluster.intend(Action.DRAIN, "n3", 700)])
        executor.step(cluster.look())
        cluster.now += 30
    assert check(ledger).intents == {"refused": 3}, "once in 600 s"
    cluster.nodes["n3"] = cluster.nodes["n3"]._replace(boot=cluster.now)
    assert executor.propose([cluster.intend(Action.DRAIN, "n3")]), "it is in another state"


def test_a_role_without_an_actor(ledger: LiveLedger) -> None:
    cluster = SmallCluster.of(10)
    executor = Executor(ledger, {}, settings(), cluster.clock)
    one = cluster.intend(Action.DRAIN, "n3")
    executor.propose([one])
    [moved] = executor.step(cluster.look())
    assert (moved.state, moved.why) == ("refused", "there is no warden here")


def test_many_at_once_stop_at_the_limit(ledger: LiveLedger) -> None:
    """A network pause makes all nodes look bad: a few are drained, the others refused."""
    cluster = SmallCluster.of(10)
    executor = Executor(ledger, {Role.WARDEN: Good(cluster)}, settings(), cluster.clock)
    executor.propose(cluster.intend(Action.DRAIN, f"n{k}") for k in range(10))
    executor.step(cluster.look())
    assert len(cluster.ours()) == 3
    assert check(ledger).intents == {"refused": 7, "carried out": 3}


def test_nothing_is_sent_that_is_not_booked(ledger: LiveLedger) -> None:
    """The ledger fails as an intent is written: nothing is done, and later it is done once."""
    cluster = SmallCluster.of(10)
    executor = Executor(ledger, {Role.WARDEN: Good(cluster)}, settings(), cluster.clock)
    one = cluster.intend(Action.DRAIN, "n3")
    executor.propose([one])

    def fail(*_: object) -> None:
        raise sa.exc.OperationalError("COMMIT", None, Exception("database or disk is full"))

    sa.event.listen(ledger.database.engine, "commit", fail)
    with pytest.raises(LedgerError, match="disk is full"):
        executor.step(cluster.look())
    assert cluster.done == []
    sa.event.remove(ledger.database.engine, "commit", fail)
    executor.step(cluster.look())
    executor.step(cluster.look())
    assert cluster.done == [(one.id, 1000)]
    assert states(ledger, one.id)[-1] == "confirmed"


class DyingLedger(LiveLedger):
    """Dies before or after its k-th call to `add`, as the process that has it would."""

    def __init__(self, url: str, chance: random.Random) -> None:
        super().__init__(url)
        self._chance = chance

    def add(self, *rows: object) -> None:
        dies = self._chance.random()
        if dies < 0.04:
            raise KilledError
        super().add(*rows)  # type: ignore[arg-type]
        if dies > 0.96:
            raise KilledError


class Story:
    """A seeded story of a cluster: what is decided, what people do, what dies; and what must hold
    after every step of it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.path = folder / f"{seed}.db"
        self.url = f"sqlite:///{self.path}"
        self.cluster = SmallCluster.of(self.chance.choice([4, 10, 20, 20]))
        self.actor = FlakyActor(self.cluster, self.chance)
        self.settings = settings()
        self.persons: set[str] = set()
        self.told: list[str] = []
        self.born()

    def born(self) -> None:
        """A process starts, and knows what the ledger says."""
        self.ledger = DyingLedger(self.url, self.chance)
        actors = {Role.WARDEN: self.actor}
        self.executor = Executor(self.ledger, actors, self.settings, self.cluster.clock)

    def play(self, steps: int) -> None:
        for _ in range(steps):
            before = dict(self.cluster.nodes), len(self.cluster.done)
            try:
                self.happen()
            except KilledError:
                self.told.append(f"{self.cluster.now} killed")
                self.ledger.close()
                self.born()
            self.hold(*before)
        self.ledger.close()

    def happen(self) -> None:
        """One thing happens."""
        cluster, chance = self.cluster, self.chance
        cluster.now += chance.choice([1, 5, 30, 60, 300])
        self.actor.arrive()
        what = chance.choice(["decide"] * 4 + ["step"] * 6 + ["booted"] * 2 + ["person"])
        name = chance.choice(cluster.ours() or list(cluster.nodes))
        if chance.random() < 0.6:
            name = chance.choice(list(cluster.nodes))
        node = cluster.nodes[name]
        self.told.append(f"{cluster.now} {what} {name}")
        if what == "decide":
            action = chance.choice(
                [Action.RESUME, Action.REBOOT] if node.is_ours else [Action.DRAIN]
            )
            one = cluster.intend(action, name, chance.choice([20, 900, 3000]))
            self.executor.propose([one])
        elif what == "step":
            sight = cluster.look()
            cluster.now += chance.choice([0, 0, 2, 50, 70])
            if chance.random() < 0.1:
                self.person(name)  # after the look
            self.executor.step(sight)
        elif what == "person":
            self.person(name)
        elif node.rebooting:
            cluster.nodes[name] = node._replace(rebooting=False, boot=cluster.now)

    def person(self, name: str) -> None:
        """A person drains a node, or returns one that a person drained."""
        if len(self.persons) > 1 or name in self.persons:
            name = self.chance.choice(sorted(self.persons))
            self.persons.remove(name)
            node = self.cluster.nodes[name]
            self.cluster.nodes[name] = node._replace(drained=False, rebooting=False, reason="")
        else:
            late = {one.target for _, one in self.actor.on_its_way}
            if name not in late:  # what is under way already nobody can call back
                self.persons.add(name)
                self.cluster.person_drains(name)

    def hold(self, nodes: dict[str, object], done: int) -> None:
        """What must hold, whatever happened."""
        cluster = self.cluster
        sent, had = self.actor.handed, [name for name, _ in cluster.done]
        assert len(sent) == len(set(sent)), "handed over twice"
        assert len(had) == len(set(had)), "done twice"
        limits = self.settings.warden
        ours = cluster.ours()
        assert len(ours) <= min(limits.nodes, len(cluster.nodes) * limits.percent / 100)
        for name in self.persons:
            assert cluster.nodes[name].reason == PERSON, "a person's drain was touched"
        with closing(sqlite3.connect(self.path)) as reader:
            query = "SELECT intent, at, expires FROM states JOIN intents ON intents.id = intent "
            found = reader.execute(query + "WHERE states.state = 'written'").fetchall()
        written = {name: (at, expires) for name, at, expires in found}
        assert set(sent) <= set(written), "sent, and not booked before"
        times = sorted(at for at, _ in written.values())
        for k in range(limits.per_hour, len(times)):
            assert times[k] - times[k - limits.per_hour] >= 3600, "too many within an hour"
        for name, at in cluster.done[done:]:
            booked, expires = written[name]
            assert booked < expires, "stale"
            assert at <= booked + FlakyActor.LATEST + 300, "later than a request may be"

    def end(self) -> None:
        """Faults stop: everything comes to its end, and the books add up."""
        self.cluster.now += FlakyActor.LATEST
        self.actor.arrive()
        with LiveLedger(self.url) as ledger:
            actors = {Role.WARDEN: Good(self.cluster)}
            executor = Executor(ledger, actors, self.settings, self.cluster.clock)
            for _ in range(4):
                executor.step(self.cluster.look())
                self.cluster.now += 900
            told = check(ledger)
            assert told.adds_up, told.wrong
            assert executor.waiting() == []
            assert executor.half_way() == []
            assert len(list(ledger.read(IntentRow))) == sum(told.intents.values())


def play(seed: int, folder: Path, steps: int) -> Story:
    story = Story(seed, folder)
    try:
        story.play(steps)
        story.end()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}\n" + "\n".join(story.told[-40:])) from error
    return story


@pytest.mark.parametrize("seed", range(12))
def test_stories(tmp_path: Path, seed: int) -> None:
    play(seed, tmp_path, 60)


def test_stories_are_full_of_events(tmp_path: Path) -> None:
    """Else they would prove little."""
    stories = [play(seed, tmp_path, 120) for seed in (100, 101)]
    told = " ".join(line for story in stories for line in story.told)
    assert told.count("killed") > 5
    assert sum(len(story.cluster.done) for story in stories) >= 8


@given(st.integers(1000, 10**9))
@hypothesis_settings(max_examples=12)
def test_more_stories(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    play(seed, tmp_path_factory.mktemp("story"), 30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2008))
def test_long_stories(tmp_path: Path, seed: int) -> None:
    play(seed, tmp_path, 200)
