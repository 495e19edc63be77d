"""Coordinators of levels over hosts in memory: what each does, and what holds whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.machines.acting.hosts.levels import HostsPlan
from forestall.machines.acting.hosts.records import HostRecord, HostState, Phase, RecordStore
from forestall.machines.rules.leaving import Foretold
from forestall.machines.rules.overload import OverloadRule
from forestall.machines.rules.sizes import Size
from machines.acting.hosts.fake_pool import Domain
from machines.acting.hosts.fleets import ALL, FOUR, GIB, Fleet, machine


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while ALL:
        ALL.pop().__exit__()


def what(outcomes: list[object]) -> list[tuple[str, str, str]]:
    return [(one.what, one.machine, one.target) for one in outcomes if one.machine]  # type: ignore[attr-defined]


class TestPrediction:
    def test_all_leave_before_the_early_end_of_the_spread(self, fleet: Fleet) -> None:
        for name in ("m1", "m2"):
            fleet.desk().start(machine(name), "h1")
        at = int(fleet.now) + 1000
        fleet.told.failures["h1"] = Foretold(at, at - 300, at + 500)
        fleet.rounds(count=2)
        assert fleet.pool.running("m1") == ["h1"]
        fleet.pass_time(1000 - 300 - 60 - 30)
        moved = fleet.step()
        assert [one.what for one in moved] == ["moved", "moved"]
        assert "between" in moved[0].why
        assert not fleet.pool.hosts["h1"].domains

    def test_memory_counts(self, tmp_path: Path) -> None:
        sizes = {"h1": Size(4, 8 * GIB), "h2": Size(4, 1 * GIB), "h3": Size(1, 8 * GIB),
                 "h4": Size(2, 3 * GIB)}  # fmt: skip
        fleet = Fleet(tmp_path, sizes=sizes)
        fleet.desk().start(machine("m1", 2, 3), "h1")
        fleet.told.empty.add("h1")
        assert what(fleet.step()) == [("moved", "m1", "h4")]
        fleet.desk().start(machine("m2", 2, 3), "h1")
        fleet.pass_time()
        assert what(fleet.step()) == [("stays", "m2", "")]

    def test_it_is_not_moved_twice_to_one_that_refuses(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1"), "h1")
        fleet.told.empty.add("h1")
        fleet.pool.fault = "broken"
        assert [one.what for one in fleet.step()] == ["failed", "moved"]


class TestLevels:
    def test_a_node_asks_its_cluster_and_that_the_system(self, fleet: Fleet) -> None:
        for name in ("m1", "m2"):
            fleet.desk().start(machine(name), "h2")
        fleet.desk().start(machine("m3"), "h1")
        fleet.desk().start(machine("m4"), "h1")
        fleet.told.empty.add("h1")
        names = ("node:h1", "cluster:a", "system")
        for name in names:
            fleet.coordinator(name)
        first = fleet.step("node:h1")
        assert [(one.what, one.target) for one in first] == [("asked", "cluster:a")] * 2
        second = fleet.step("cluster:a")
        assert [one.what for one in second] == ["stays", "asked", "stays", "asked"]
        assert {one.asked for one in fleet.store.machines().values() if one.node == "h1"} == {
            "system"
        }
        third = fleet.step("system")
        assert [one.what for one in third] == ["moved", "moved"]
        assert {one.target for one in third} <= {"h3", "h4"}

    def test_a_cluster_acts_within_itself(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1"), "h1")
        fleet.coordinator("system")
        fleet.told.empty.add("h1")
        assert what(fleet.step("cluster:a")) == [("moved", "m1", "h2")]
        assert fleet.step("system") == []

    def test_the_one_above_stands_in(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1"), "h1")
        fleet.coordinator("cluster:a")
        fleet.told.empty.add("h1")
        assert fleet.step("system") == []  # the cluster is at work
        fleet.kill("cluster:a")
        fleet.pass_time(11)
        assert [one.what for one in fleet.step("system")] == ["moved"]

    def test_it_finds_its_machines_again(self, fleet: Fleet) -> None:
        """Its cluster's coordinator is killed; machines run on, one moves by hand meanwhile."""
        fleet.desk().start(machine("m1"), "h1")
        fleet.rounds("cluster:a")
        fleet.kill("cluster:a")
        domain = fleet.pool.hosts["h1"].domains.pop("m1")
        fleet.pool.hosts["h2"].domains["m1"] = domain
        (found,) = fleet.step("cluster:a")
        assert (found.what, found.target) == ("elsewhere", "h2")
        assert fleet.store.machines()["m1"].node == "h2"

    def test_two_of_one_position(self, fleet: Fleet) -> None:
        first, position = fleet.coordinator("system"), fleet.coordinators["system"][1]
        del fleet.coordinators["system"]  # it lives, and holds its lock
        with pytest.raises(ForestallError, match="another coordinator is running"):
            fleet.coordinator("system")
        fleet.pass_time(11)  # it hangs
        fleet.coordinator("system").step()
        with pytest.raises(ForestallError, match="has taken over"):
            first.step()
        position.give_up()


class TestRecords:
    def test_a_spoilt_record_is_taken_from_the_host(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1", deadline=2_000_000), "h1")
        path = fleet.folder / "machines" / "m1" / "record.json"
        for text in ("{", '{"definition": 1}', "[]"):
            path.write_text(text)
            fleet.step()
            assert fleet.store.machines()["m1"].node == "h1"
            assert fleet.store.machines()["m1"].definition.deadline == 2_000_000

    def test_it_is_told(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1"), "h1")
        path = fleet.folder / "machines" / "m1" / "record.json"
        path.write_text("{")
        fleet.pool.hosts["h1"].link = False
        fleet.step()
        assert "is damaged or was not written" in fleet.coordinator().troubles()[0]

    def test_a_lost_record_is_taken_from_the_host(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1", 2), "h1")
        fleet.told.empty.add("h1")
        (fleet.folder / "machines" / "m1").rename(fleet.folder / "gone")
        assert what(fleet.step()) == [("moved", "m1", "h2")]

    def test_strangers_take_room_and_are_left_alone(self, fleet: Fleet) -> None:
        stranger = Domain(machine("theirs", 2))
        fleet.pool.hosts["h2"].domains["theirs"] = stranger
        fleet.pool.strangers.add("theirs")
        fleet.desk().start(machine("m1", 1), "h1")
        fleet.told.empty |= {"h1", "h2"}
        assert what(fleet.step()) == [("moved", "m1", "h3")]
        assert fleet.pool.running("theirs") == ["h2"]


class TestLoss:
    def test_goes_on_from_its_checkpoint(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1"), "h1")
        fleet.rounds(count=5)
        fleet.desk().checkpoint("m1")
        fleet.rounds(count=5)
        fleet.pool.die("h1")
        told = fleet.rounds(count=8)
        assert [one.what for one in told] == ["restarted"]
        assert "checkpoint" in told[0].why
        (node,) = fleet.pool.running("m1")
        assert node != "h1"
        assert 5 <= fleet.pool.count("m1") < 10
        assert fleet.store.machines()["m1"].definition.generation == 2

    def test_not_on_a_host_that_is_to_be_left(self, fleet: Fleet) -> None:
        """The coordinator is new, and knows what is foreseen before it starts anything."""
        fleet.desk().start(machine("m1", after_loss="boot"), "h1")
        fleet.told.empty |= {"h2", "h4"}
        fleet.pool.die("h1")
        fleet.pool.boot("h1")
        fleet.told.failures["h1"] = Foretold.sharp(int(fleet.now))
        fleet.step()
        assert fleet.pool.running("m1") == ["h3"]

    def test_without_one_it_is_told_lost(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1"), "h1")
        fleet.desk().start(machine("m2", after_loss="boot"), "h1")
        fleet.pool.die("h1")
        told = fleet.rounds(count=8)
        assert {one.machine: one.what for one in told} == {"m1": "lost", "m2": "restarted"}

    def test_nothing_is_started_twice_while_its_host_may_have_it(self, tmp_path: Path) -> None:
        """The network is cut: nobody can fence the host. A person says that it is dead, later."""
        fleet = Fleet(tmp_path)
        fleet.desk().start(machine("m1", after_loss="boot"), "h1")
        fleet.pool.hosts["h1"].link = False
        fleet.pool.fence = lambda name: "no answer"  # type: ignore[method-assign]
        fleet.rounds(count=50)
        assert fleet.pool.running("m1") == ["h1"]
        assert "not fenced" in fleet.coordinator().troubles()[0]
        fleet.pool.hosts["h1"].link = True
        fleet.rounds(count=2)
        assert fleet.store.host("h1").state is HostState.UP
        with pytest.raises(ForestallError, match="answers"):
            fleet.desk().declare_dead("h1")
        fleet.pool.die("h1")
        fleet.rounds(count=2)
        assert fleet.pool.running("m1") == []
        fleet.desk().declare_dead("h1")
        fleet.rounds(count=2)
        assert len(fleet.pool.running("m1")) == 1

    def test_a_host_that_was_wrongly_called_dead(self, fleet: Fleet) -> None:
        """It comes back with what it had: the older one is ended, and told."""
        fleet.desk().start(machine("m1", after_loss="boot"), "h1")
        fleet.pool.hosts["h1"].link = False
        fleet.rounds(count=2)
        fleet.desk().declare_dead("h1")
        fleet.rounds(count=2)
        fleet.pool.hosts["h1"].link = True
        fleet.rounds(count=2)
        (node,) = fleet.pool.running("m1")
        assert node != "h1"
        assert "stale" in (fleet.folder / "ledger.jsonl").read_text()

    def test_a_host_that_boots_again_gets_it_back(self, fleet: Fleet) -> None:
        """It answers, and has it not: that is known without fencing."""
        fleet.desk().start(machine("m1", after_loss="boot"), "h1")
        fleet.pool.die("h1")
        fleet.pool.boot("h1")
        assert [one.what for one in fleet.rounds(count=2)] == ["restarted"]
        assert len(fleet.pool.running("m1")) == 1

    def test_a_refused_start_is_barred_before_another_is_chosen(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1", after_loss="boot"), "h1")
        fleet.pool.die("h1")
        begin, refused = fleet.pool.begin, []

        def refuse(definition: object, node: str, image: str = "") -> None:
            if not refused:
                refused.append(node)
                from forestall.machines.acting.hosts.pool import HostCallError

                raise HostCallError(node, "no such file")
            begin(definition, node, image)  # type: ignore[arg-type]

        fleet.pool.begin = refuse  # type: ignore[method-assign]
        fleet.rounds(count=9)
        (node,) = fleet.pool.running("m1")
        assert node not in {"h1", refused[0]}
        assert fleet.pool.hosts[refused[0]].domains["m1"].barred


class TestOverload:
    def test_spreads_after_the_hold_time(self, tmp_path: Path) -> None:
        plan = HostsPlan(FOUR, at_once=1, overload=OverloadRule(0.8, 10))
        fleet = Fleet(tmp_path, plan)
        for name in ("m1", "m2"):
            fleet.desk().start(machine(name), "h1")
        rates = {"m1": 1.0, "m2": 0.9}
        told = []
        for _ in range(20):
            told += fleet.rounds()
            for host in fleet.pool.hosts.values():
                for one in host.domains.values():
                    one.used += rates[one.definition.machine]
        assert [(one.what, one.machine) for one in told] == [("moved", "m2")]
        assert told[0].why == "its node is overloaded"

    def test_not_to_one_that_it_would_overload(self, tmp_path: Path) -> None:
        plan = HostsPlan({"h1": "", "h2": ""}, at_once=1, overload=OverloadRule(0.8, 5))
        fleet = Fleet(tmp_path, plan, {"h1": Size(4, 9 * GIB), "h2": Size(4, 9 * GIB)})
        for number in range(4):
            fleet.desk().start(machine(f"m{number}"), "h1" if number < 2 else "h2")
        told = []
        for _ in range(12):
            told += fleet.rounds()
            for host in fleet.pool.hosts.values():
                for one in host.domains.values():
                    one.used += 1.7
        assert {one.what for one in told} == {"stays"}


class TestCommands:
    def test_wrong_input(self, fleet: Fleet) -> None:
        with pytest.raises(ParameterError, match="one of the fleet: h1, h2, h3, h4"):
            fleet.desk().start(machine("m1"), "h9")
        with pytest.raises(ParameterError, match="there is none yet"):
            fleet.desk().move("m1", "h1")
        fleet.desk().start(machine("m1"), "h1")
        with pytest.raises(ForestallError, match="already runs on h1"):
            fleet.desk().start(machine("m1"), "h2")
        with pytest.raises(ForestallError, match="no room for m2"):
            fleet.desk().start(machine("m2", 2), "h1")
        with pytest.raises(ForestallError, match="no node has room"):
            fleet.desk().start(machine("m2", 9))

    def test_stop_waits_for_a_host_that_does_not_answer(self, fleet: Fleet) -> None:
        fleet.desk().start(machine("m1"), "h1")
        fleet.pool.hosts["h1"].link = False
        assert fleet.desk().stop("m1").phase is Phase.STOPPING
        fleet.pool.hosts["h1"].link = True
        fleet.rounds(count=3)
        assert fleet.store.machines()["m1"].phase is Phase.STOPPED
        assert fleet.pool.running("m1") == []


@pytest.mark.parametrize("name", ["../../x", "", "..", "a/b", "a\0"])
def test_no_name_leads_out_of_the_folder_of_records(name: str, tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "fleet")
    assert store.machine(name) is None
    with pytest.raises(TraceError, match="neither a machine nor a host"), store.locked(name):
        pass
    with pytest.raises(TraceError, match="neither a machine nor a host"):
        store.write_host(HostRecord(name))
    assert not list(tmp_path.iterdir())
