"""Four libvirt hosts: machines leave before failures, and are found again whatever happens."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from forestall.machines.acting.backend import MoveError
from forestall.machines.acting.hosts.coordinator import LevelCoordinator
from forestall.machines.acting.hosts.pool import HostCallError
from forestall.machines.acting.hosts.records import Phase
from forestall.machines.acting.picture import Need
from forestall.machines.adapters.libvirt.domains import domain_of
from forestall.machines.fleet.foreseen import DRAIN, UNDRAIN, add_foreseen
from forestall.machines.fleet.hosts_fleet import HostsFleet
from forestall.vaults.adapters.qemu_guest import MIB, Guest
from libvirt_hosts.hosts import SSH, Host, Hosts, libvirt_hosts, why_not
from libvirt_hosts.mortal import Mortals
from qemu_machines.guest import APPEND, counted, images, wait_for, wait_for_count

pytestmark = pytest.mark.slow


@dataclass
class Site:
    """Hosts, and the folder of their fleet."""

    hosts: Hosts
    folder: Path
    coordinators: list[LevelCoordinator] = field(default_factory=list)

    @property
    def fleet(self) -> HostsFleet:
        fleet = HostsFleet.open(self.folder)
        assert fleet is not None
        return fleet

    def write(
        self, more: str = "", fence: str = "true", uris: Mapping[str, str] | None = None
    ) -> None:
        lines = ['lead = "5s"', "patience = 5", "lease = 2", "retry = 2"]
        for number, (name, host) in enumerate(self.hosts.hosts.items()):
            lines += [
                f"[hosts.{name}]", f'uri = "{(uris or {}).get(name, host.uri)}"', f'data = "tcp://{host.address}"',
                f"processors = {2 if number == 0 else 4}", 'memory = "1G"',
                f'cluster = "{"a" if number < 2 else "b"}"',
            ]  # fmt: skip
        lines += ["[loss]", "silence = 1", f'fence = ["{fence}", "{{node}}"]', more]
        (self.folder / "fleet.toml").write_text("\n".join(lines) + "\n")

    def start(self, name: str, node: str, after_loss: str = "checkpoint") -> None:
        kernel, initrd = images()
        guest = Guest(name, str(kernel), str(initrd), memory=96 * MIB, append=APPEND)
        fleet = self.fleet
        fleet.start(fleet.define(guest, Need(), after_loss), node)

    def console(self, name: str) -> Path:
        return self.folder / "machines" / name / "console.log"

    def node(self, name: str) -> str:
        (node,) = self.hosts.guests(name)
        return node

    def coordinator(self, level: str = "system", ahead: float = 0.0) -> LevelCoordinator:
        """A coordinator whose clock is some seconds ahead."""
        fleet = replace(self.fleet, clock=lambda: time.time() + ahead)
        made = fleet.coordinator(level)
        self.coordinators.append(made)
        return made

    def goes_on(self, name: str) -> None:
        """The guest counts on, in one place; no number was lost and none came twice."""
        wait_for_count(self.console(name))
        assert len(self.hosts.guests(name)) == 1
        numbers = counted(self.console(name))
        assert numbers == list(range(len(numbers)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if reason := why_not():
        pytest.skip(reason)
    place = tmp_path_factory.mktemp("hosts")
    folder = place / "fleet"
    folder.mkdir()
    with libvirt_hosts(place / "h", 4) as hosts:
        made = Site(hosts, folder)
        made.write()
        for name in ("vm1", "vm2"):
            made.start(name, "h1")
        for name in ("vm1", "vm2"):
            wait_for_count(made.console(name), 3)
        yield made


@pytest.fixture(autouse=True)
def closed(site: Site) -> Iterator[None]:
    yield
    while site.coordinators:
        site.coordinators.pop().close()
    site.write()  # what one test asks for is not the next one's, also where it failed


def told(outcomes: list[object]) -> list[tuple[str, str]]:
    return [(one.what, one.machine) for one in outcomes]  # type: ignore[attr-defined]


def test_overload_spreads(site: Site) -> None:
    """Two guests on a node with two processors are too much for it, one of them is not."""
    pool = site.fleet.pool
    first, began = pool.look(["h1"])["h1"], time.monotonic()
    time.sleep(1)
    second, took = pool.look(["h1"])["h1"], time.monotonic() - began
    used = [(late.cpu - early.cpu) / took
            for early, late in zip(first.machines, second.machines, strict=True)]  # fmt: skip
    site.write(f"[overload]\nlimit = {max(sum(used) / 2 * 0.4, 1e-3):.4f}\nhold = 1")
    coordinator = site.coordinator()
    deadline, moved = time.monotonic() + 60, []
    while not moved and time.monotonic() < deadline:
        moved = [one for one in coordinator.step() if one.what == "moved"]
        time.sleep(0.4)
    assert [one.why for one in moved] == ["its node is overloaded"]
    assert {site.node("vm1"), site.node("vm2")} == {"h1", moved[0].target}
    for name in ("vm1", "vm2"):
        site.goes_on(name)


@pytest.mark.parametrize("way", ["tls", "ssh"])
def test_hosts_are_reached_by(site: Site, way: str) -> None:
    """Looks, moves there and back: whoever asks and the hosts among themselves."""
    if way == "ssh" and not SSH:
        pytest.skip("no real SSH: sshd and ssh-keygen not found (Debian: openssh-server)")
    home, far = site.node("vm1"), site.hosts["h4"]
    other = {"h4": getattr(far, f"{way}_uri"), home: getattr(site.hosts[home], f"{way}_uri")}
    site.write(uris=other)
    pool = site.fleet.pool
    assert len(pool.look(["h4", home])) == 2
    for node in ("h4", home):
        pool.migrate("vm1", node)
        assert site.node("vm1") == node
        site.goes_on("vm1")
    site.hosts.cut("h4")
    assert not pool.look(["h4"])["h4"].answers
    site.hosts.mend("h4")
    wait_for("h4 answers again", lambda: pool.look(["h4"])["h4"].answers, 180)


def test_all_leave_before_the_failure_that_is_foreseen(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cluster a is left: its coordinator asks the system for room, and the host dies empty."""
    at = int(time.time()) + 200
    for node in ("h1", "h2"):
        line = f"{at},{node},{at - 100},{at + 50}\n"
        with (site.folder / "predictions.csv").open("a") as file:
            file.write(line)
    cluster, system = site.coordinator("cluster:a"), site.coordinator()
    assert cluster.step() == []
    assert [one for one in system.step() if one.what == "moved"] == []
    for one in site.coordinators:
        one.close()
    cluster, system = site.coordinator("cluster:a", 95), site.coordinator("system", 95)
    here = [name for name in ("vm1", "vm2") if site.node(name) in {"h1", "h2"}]
    assert sorted(one.machine for one in cluster.step() if one.what == "asked") == here
    outcomes = system.step()
    assert sorted(told(outcomes)) == [("moved", name) for name in here]
    assert all("between" in one.why for one in outcomes)
    for name in ("vm1", "vm2"):
        assert site.node(name) in {"h3", "h4"}
    site.hosts.kill("h1")
    for name in ("vm1", "vm2"):
        site.goes_on(name)
    with capsys.disabled():
        seconds = [one.moved.seconds for one in outcomes if one.moved is not None]
        print(f"\n{len(seconds)} machines left in {', '.join(f'{s:.1f} s' for s in seconds)}")  # noqa: T201
    site.hosts.boot("h1")
    site.hosts.wait_for("h1")
    (site.folder / "predictions.csv").write_text("")


def virsh(host: Host, *words: str) -> str:
    done = subprocess.run(["virsh", "-c", host.uri, *words], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(host: Host, what: str) -> None:
    """Have vm3 write to its disk: a byte, where, and how many of it."""
    disk = "-d /machine/peripheral/virtio-disk0/virtio-backend"
    call = "qemu-monitor-command", "vm3", "--hmp", f'qemu-io {disk} "write -P {what}"'
    assert virsh(host, *call).strip() == ""


def with_a_disk(site: Site, name: str) -> Path:
    """Start a machine on h3 whose disk the hosts do not share; returns the disk's place on any
    host."""
    place, disk = Path("/var/lib/libvirt/disks"), f"{name}.img"
    for host in (site.hosts["h3"], site.hosts["h4"]):
        (host.place / "var" / "disks").mkdir()
        virsh(host, "pool-create-as", "disks", "dir", "--target", str(place))
    (site.hosts["h3"].place / "var" / "disks" / disk).write_bytes(bytes(range(256)) * 4096)
    kernel, initrd = images()
    guest = Guest(name, str(kernel), str(initrd), memory=96 * MIB, append=APPEND)
    console = site.console(name)
    console.parent.mkdir()
    added = (
        f"<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='{place}/"
        f"{disk}'/><target dev='vda' bus='virtio'/></disk></devices>"
    )
    text = domain_of(guest, str(console)).replace("</devices>", added)
    (site.folder / "disk.xml").write_text(text)
    fleet = site.fleet
    fleet.start(fleet.define_domain(site.folder / "disk.xml", name, Need(), "boot"), "h3")
    return Path("var/disks") / disk


def test_a_disk_goes_with_its_machine(site: Site) -> None:
    """What was on it before, and what the machine wrote before it moved and after."""
    disk = with_a_disk(site, "vm3")
    wait_for_count(site.console("vm3"), 3)
    with pytest.raises(MoveError, match="disks = 'copied' copies them"):
        site.fleet.pool.migrate("vm3", "h4")
    with pytest.raises(HostCallError, match="vm3 writes to vda: its memory is not a checkpoint"):
        site.fleet.pool.checkpoint("vm3", "h3", str(site.folder / "image"))
    written(site.hosts["h3"], "0xa5 4096 4096")
    site.write("[migration]\ndisks = 'copied'")
    site.fleet.pool.migrate("vm3", "h4")
    site.goes_on("vm3")
    written(site.hosts["h4"], "0x5a 8192 4096")
    site.fleet.stop("vm3")
    before, after = ((site.hosts[name].place / disk).read_bytes() for name in ("h3", "h4"))
    wanted = bytearray(bytes(range(256)) * 4096)
    wanted[4096:8192] = b"\xa5" * 4096
    assert before == bytes(wanted)
    wanted[8192:12288] = b"\x5a" * 4096
    assert after == bytes(wanted)
    site.write()


def test_a_target_dies_while_memory_is_sent(site: Site) -> None:
    """The link is slow; the machine runs on at its source meanwhile, and goes to another host."""
    site.fleet.stop("vm2")
    assert site.hosts.guests("vm2") == []
    site.write("[migration]\nbandwidth = '16M'")
    fleet, source = site.fleet, site.node("vm1")
    migrate, tried = fleet.pool.migrate, []

    def and_kill(machine: str, node: str, *, expected: str | None = None) -> object:
        tried.append(node)
        if len(tried) == 1:
            threading.Timer(1.0, site.hosts.kill, (node,)).start()
        return migrate(machine, node, expected=expected)

    fleet.pool.migrate = and_kill  # type: ignore[method-assign, assignment]
    add_foreseen(site.folder / "predictions.csv", source, DRAIN)
    site.coordinators.append(coordinator := fleet.coordinator("system"))
    assert told(coordinator.step()) == [("failed", "vm1"), ("moved", "vm1")]
    assert site.node("vm1") == tried[1] != tried[0]
    site.goes_on("vm1")
    add_foreseen(site.folder / "predictions.csv", source, UNDRAIN)
    site.hosts.boot(tried[0])
    site.hosts.wait_for(tried[0])


def test_a_coordinator_is_killed_at_every_write(site: Site) -> None:
    """The cluster's coordinator dies while it moves a machine; the next one finds it there."""
    mortals = Mortals()
    try:
        kill_at_every_write(site, mortals)
    finally:
        mortals.close()


def kill_at_every_write(site: Site, mortals: Mortals) -> None:
    writes, killed = 0, True
    while killed:
        source = site.node("vm1")
        level = "cluster:a" if source in {"h1", "h2"} else "cluster:b"
        add_foreseen(site.folder / "predictions.csv", source, DRAIN)
        killed = mortals.looks(site.folder, level, writes=writes)
        site.goes_on("vm1")
        assert not mortals.looks(site.folder, level)
        assert site.node("vm1") != source
        add_foreseen(site.folder / "predictions.csv", source, UNDRAIN)
        record = site.fleet.store.machines()["vm1"]
        assert (record.phase, record.node) == (Phase.RUNNING, site.node("vm1"))
        writes += 1
    assert writes > 4  # before the move two, after it two, and none
    site.goes_on("vm1")


def test_a_cut_network_starts_nothing_twice(site: Site) -> None:
    """Nobody can say that the host is off: its machine is waited for, and found as it was."""
    site.write(fence="false")
    node = site.node("vm1")
    coordinator = site.coordinator()
    coordinator.step()
    site.hosts.cut(node)
    try:
        late = time.monotonic() + 30
        troubles: list[str] = []
        while not troubles and time.monotonic() < late:
            assert told(coordinator.step()) == []
            troubles = coordinator.troubles()
            time.sleep(0.3)
        assert "not fenced: false ended with 1" in troubles[0]
        assert site.hosts.guests("vm1") == [node]
    finally:
        site.hosts.mend(node)
    wait_for("it is back", lambda: ("recovered", "") in told(coordinator.step()), 40)
    site.goes_on("vm1")
    assert site.node("vm1") == node


def test_a_host_dies_without_warning(site: Site) -> None:
    """What was saved goes on elsewhere, from there."""
    node = site.node("vm1")
    begun = counted(site.console("vm1"))[-1]
    site.fleet.checkpoint("vm1")
    saved = counted(site.console("vm1"))[-1]
    wait_for_count(site.console("vm1"), 10)
    before = counted(site.console("vm1"))
    site.hosts.kill(node)
    coordinator = site.coordinator()
    outcomes: list[object] = []

    def again() -> bool:
        outcomes.extend(coordinator.step())
        return ("restarted", "vm1") in told(outcomes)

    wait_for("it is restarted", again, 40)
    assert site.node("vm1") != node
    wait_for_count(site.console("vm1"))
    after = counted(site.console("vm1"))[len(before) :]
    begin = after[0]
    assert begun <= begin <= saved + 1
    assert after == list(range(begin, begin + len(after)))
    record = site.fleet.store.machines()["vm1"]
    assert (record.node, record.definition.generation) == (site.node("vm1"), 2)
