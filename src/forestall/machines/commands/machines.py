"""`forestall machines`: virtual machines on this host, moved before nodes fail."""

from __future__ import annotations

import functools
import json
import shlex
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import complain
from forestall.core.commands.options import OUTPUT, Json, Quiet
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import say, say_json, say_json_text, say_report
from forestall.core.model.errors import (
    ForestallError,
    InputError,
    MissingExtraError,
    ParameterError,
)
from forestall.core.model.settings import Setting
from forestall.core.model.units import parse_duration

with lazily():
    from forestall.machines.fleet import foreseen, hosts_fleet, hosts_report, machines
    from forestall.vaults.adapters import qemu_guest

if TYPE_CHECKING:
    from forestall.machines.acting.coordinator import MachineOutcome
    from forestall.machines.acting.picture import Need
    from forestall.machines.fleet.hosts_fleet import HostsFleet
    from forestall.machines.fleet.machines import FleetFolder


app = group_of(
    "Run virtual machines on a fleet and live-migrate them before nodes fail: with QEMU on "
    "this host, or with libvirt on many.",
    "forestall machines start vm1 --kernel vmlinux --initrd initrd.gz --memory 128M",
    "forestall machines foresee a --in 10m",
    "forestall machines watch",
)


FAILED = 1
INTERRUPTED = "interrupted; `forestall machines list` says where each machine runs"


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that ends with 1 where something did not come off, with 2 where the input is
    wrong."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt as stop:
            raise KeyboardInterrupt(str(stop) or INTERRUPTED) from None
        except (InputError, MissingExtraError, BrokenPipeError):
            raise
        except ForestallError as error:
            return complain(str(error), FAILED)
        except OSError as error:
            where = "" if error.filename is None else f"{error.filename}: "
            return complain(f"{where}{error.strerror or error}")

    return guarded


GUEST = "The machine"
QEMU = "QEMU"
HERE = Path()
Fleet: TypeAlias = Annotated[
    Path, Setting("The fleet's folder, which holds fleet.toml", shown="DIR")
]
Runtime: TypeAlias = Annotated[
    str | None,
    Setting(
        "How long it will run (default: until the deadline)",
        shown="DURATION",
        group=GUEST,
    ),
]
Deadline: TypeAlias = Annotated[
    str | None,
    Setting(
        "Deadline: a date, or a duration such as 2h (default: twice the run time, or the "
        "fleet's horizon)",
        shown="TIME",
        group=GUEST,
    ),
]
Domain: TypeAlias = Annotated[
    Path | None,
    Setting("With hosts: libvirt's XML of the machine, in place of a kernel", group=GUEST),
]
OfMachine: TypeAlias = Annotated[
    int | None,
    Setting(
        "Processors of the machine, with hosts (default: machine_processors of fleet.toml)",
        shown="N",
        group=GUEST,
    ),
]
AfterLoss: TypeAlias = Annotated[
    str,
    Setting(
        "With hosts: what to do when its host is lost: resume from the last checkpoint, boot "
        "anew, or nothing",
        group=GUEST,
    ),
]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Name of the machine.")]
Node: TypeAlias = Annotated[
    str, typer.Argument(metavar="NODE", help="The node, as fleet.toml names it.")
]


def _fleet(folder: Path) -> FleetFolder | HostsFleet:
    """Return the fleet of a folder: of many hosts, or of names on this one."""
    return hosts_fleet.HostsFleet.open(folder) or machines.FleetFolder.open(folder)


def _hosts(folder: Path, what: str) -> HostsFleet:
    """Return a fleet of many hosts. Raises InputError for one of this host."""
    fleet = hosts_fleet.HostsFleet.open(folder)
    if fleet is None:
        raise InputError(f"{what}: needs a fleet of hosts; {folder / 'fleet.toml'} has no [hosts]")
    return fleet


@command(
    app,
    "start",
    "forestall machines start vm1 --kernel vmlinux --initrd initrd.gz --memory 128M",
    "forestall machines start vm2 --node b --kernel vmlinux --runtime 2h --fleet fleet",
    "forestall machines start vm3 --domain vm3.xml --after-loss boot",
    rare="initrd append machine cpu accel more",
)
@_guarded
def start(
    name: Name,
    kernel: Annotated[Path | None, Setting("Kernel to boot", group=GUEST)] = None,
    domain: Domain = None,
    fleet: Fleet = HERE,
    node: Annotated[
        str | None,
        Setting("Node to start it on (default: chosen by the strategy)", shown="N"),
    ] = None,
    initrd: Annotated[Path | None, Setting("Initial file system (initrd)", group=GUEST)] = None,
    memory: Annotated[str, Setting("Memory, such as 4G", shown="AMOUNT", group=GUEST)] = "128M",
    processors: OfMachine = None,
    after_loss: AfterLoss = "checkpoint",
    append: Annotated[
        str, Setting("Command line of the kernel", shown="WORDS", group=GUEST)
    ] = "console=ttyS0",
    runtime: Runtime = None,
    deadline: Deadline = None,
    machine: Annotated[
        str, Setting("Machine type, as QEMU names it", shown="TYPE", group=QEMU)
    ] = "q35",
    cpu: Annotated[
        str, Setting("Processor model, as QEMU names it", shown="MODEL", group=QEMU)
    ] = "qemu64",
    accel: Annotated[
        str,
        Setting(
            "QEMU accelerator: tcg (emulation), kvm, or another that QEMU knows",
            shown="NAME",
            group=QEMU,
        ),
    ] = "tcg",
    more: Annotated[
        str,
        Setting(
            "More options for QEMU, such as disks that all nodes can reach",
            option="qemu",
            shown="WORDS",
            group=QEMU,
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Start a virtual machine; it runs on when this command has ended."""
    opened, need = _fleet(fleet), machines.need_of(runtime, deadline, time.time())
    if kernel is None or domain is not None:
        made = _of_domain(fleet, name, kernel, domain, need, after_loss)
        _started_on_hosts(opened, made, node, as_json=as_json)
        return
    guest = qemu_guest.Guest(
        name, str(kernel.resolve()), "" if initrd is None else str(initrd.resolve()),
        qemu_guest.parse_memory(memory, "--memory"), processors or opened.file.machine_processors,
        append, machine, cpu, accel, _words(more),
    )  # fmt: skip
    if not isinstance(opened, machines.FleetFolder):
        made = opened.define(guest, need, _way(after_loss))
        _started_on_hosts(opened, made, node, as_json=as_json)
    elif processors is not None:
        raise ParameterError("--processors", processors, "none: fleet.toml gives each node's")
    else:
        _started_here(opened, guest, node, need, as_json=as_json)


def _words(more: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(more))
    except ValueError as error:
        raise ParameterError("--qemu", more, f"words as a shell takes them ({error})") from None


def _of_domain(
    fleet: Path, name: str, kernel: Path | None, domain: Path | None, need: Need, after_loss: str
) -> Any:
    """Return the machine of a file with a domain, which stands instead of a kernel."""
    if kernel is not None or domain is None:
        raise InputError(f"start {name}: give --kernel FILE, or with hosts --domain FILE")
    return _hosts(fleet, "--domain").define_domain(domain, name, need, _way(after_loss))


def _way(after_loss: str) -> str:
    if after_loss not in hosts_report.WAYS:
        raise ParameterError("--after-loss", after_loss, f"one of {', '.join(hosts_report.WAYS)}")
    return after_loss


def _started_here(
    opened: FleetFolder, guest: Any, node: str | None, need: Need, *, as_json: bool
) -> None:
    told = opened.start(guest, node, need)
    if as_json:
        say_json(told)
    else:
        console = machines.beside(told["console"], opened.folder)
        say(f"{guest.name}: runs on {told['node']} ({told['why']}); console: {console}")
    _tell_troubles(opened)


def _started_on_hosts(opened: Any, made: Any, node: str | None, *, as_json: bool) -> None:
    outcome = opened.start(made, node)
    if as_json:
        say_json(machines.outcome_json(outcome))
    else:
        say(f"{made.machine}: runs on {outcome.target} ({outcome.why})")
    _tell_troubles(opened)


@command(app, "list", "forestall machines list", "forestall machines list --fleet fleet --json")
@_guarded
def listed(fleet: Fleet = HERE, as_json: Json = False) -> None:
    """List the machines of a fleet and its nodes, as they are now."""
    opened = _fleet(fleet)
    told = opened.listing()
    _tell_troubles(opened)
    if as_json:
        say_json(told)
    elif isinstance(opened, machines.FleetFolder):
        say_report(machines.report_of(told, fleet))
    else:
        say_report(hosts_report.report_of(told))


@command(app, "migrate", "forestall machines migrate vm1 --to b")
@_guarded
def migrate(
    name: Name,
    to: Annotated[str, Setting("The node to move to", shown="NODE")],
    fleet: Fleet = HERE,
    as_json: Json = False,
) -> int:
    """Move a running machine to another node; the exit code is 1 if that failed."""
    opened = _fleet(fleet)
    outcome = opened.migrate(name, to)
    _tell_troubles(opened)
    return _tell([outcome], as_json=as_json)


@command(app, "drain", "forestall machines drain a", "forestall machines drain a --undo")
@_guarded
def drain(
    node: Node,
    fleet: Fleet = HERE,
    undo: Annotated[bool, Setting("Return the node to use")] = False,
    as_json: Json = False,
) -> int:
    """Move all machines off a node; the exit code is 1 if one stays.

    Until `drain NODE --undo`, no machine is placed there unless you name the node.
    """
    opened = _fleet(fleet)
    if undo:
        opened.undrain(node)
        outcomes, told = [], f"{node}: in use again"
    else:
        outcomes, told = opened.drain(node), f"{node}: no machine is on it"
    _tell_troubles(opened)
    if not outcomes and not as_json:
        say(told)
    return _tell(outcomes, as_json=as_json)


@command(
    app,
    "foresee",
    "forestall machines foresee a --in 10m",
    "forestall machines foresee a --at 2026-11-30T12:00",
    "forestall machines foresee a --never",
)
@_guarded
def foresee(
    node: Node,
    fleet: Fleet = HERE,
    at: Annotated[str | None, Setting("When the node is expected to fail", shown="TIME")] = None,
    within: Annotated[
        str | None,
        Setting("How long from now the node is expected to fail", option="in", shown="DURATION"),
    ] = None,
    never: Annotated[bool, Setting("Withdraw the expected failure")] = False,
    as_json: Json = False,
) -> None:
    """Say when a node is expected to fail; `forestall machines watch` acts on it."""
    if (at is not None) + (within is not None) + never != 1:
        raise InputError(f"foresee {node}: give one of --at TIME, --in DURATION and --never")
    moment = None
    if at is not None:
        moment = foreseen.parse_moment(at, "--at")
    elif within is not None:
        moment = machines.from_now(parse_duration(within, "--in"), time.time(), within, "--in")
    opened = _fleet(fleet)
    opened.foresee(node, moment)
    _tell_troubles(opened)
    if as_json:
        say_json({"node": node, "foreseen": moment})
    elif moment is None:
        say(f"{node}: no failure is expected")
    else:
        say(
            f"{node}: expected to fail at {machines.date(moment)}; machines leave it "
            f"{opened.file.lead} s before"
        )


@command(app, "watch", "forestall machines watch", "forestall machines watch --every 2s --for 1h")
@_guarded
def watch(
    fleet: Fleet = HERE,
    every: Annotated[str, Setting("Time between two checks", shown="DURATION")] = "1s",
    span: Annotated[
        str | None,
        Setting("How long to watch (default: until Ctrl-C)", option="for", shown="DURATION"),
    ] = None,
    level: Annotated[
        str,
        Setting("With hosts: the part to coordinate: system, cluster:NAME or node:NAME"),
    ] = "system",
    quiet: Quiet = False,
    as_json: Annotated[
        bool, Setting("Print events as lines of JSON", option="json", group=OUTPUT)
    ] = False,
) -> None:
    """Watch over the fleet: move machines before the failures that are foreseen.

    Ctrl-C (or SIGTERM, SIGHUP) ends the watch; a move under way is taken back, and all machines run
    on. A second watch over the same fleet is refused.
    """
    seconds = parse_duration(every, "--every")
    if not seconds:
        raise ParameterError("--every", every, "a duration above 0")
    until = float("inf") if span is None else time.time() + parse_duration(span, "--for")
    opened = _fleet(fleet)
    if isinstance(opened, machines.FleetFolder):
        if level != "system":
            raise ParameterError("level", level, "system: only a fleet of hosts has others")
        rounds, nodes = opened.watch(seconds, until), len(opened.file.nodes)
    else:
        rounds, nodes = opened.watch(seconds, until, level), opened.nodes_of(level)
    if not quiet and not as_json:
        say(f"watching over {nodes} node{'s' if nodes != 1 else ''}; Ctrl-C ends it")
    told: list[str] = []
    try:
        for outcomes, troubles in rounds:
            for trouble in troubles:
                if trouble not in told:
                    say(trouble, error=True)
            told = troubles
            for one in outcomes:
                if as_json:
                    say_json_text(json.dumps(machines.outcome_json(one), allow_nan=False))
                    sys.stdout.flush()
                elif not quiet:
                    say(f"{datetime.now(UTC):%H:%M:%S} {machines.sentence(one)}")
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped watching; the machines run on") from None


@command(app, "stop", "forestall machines stop vm1")
@_guarded
def stop(name: Name, fleet: Fleet = HERE, as_json: Json = False) -> None:
    """End a machine at once, without asking its guest."""
    opened = _fleet(fleet)
    if isinstance(opened, machines.FleetFolder):
        state: str = opened.stop(name).state
    else:
        state = opened.stop(name).phase
    _tell_troubles(opened)
    if as_json:
        say_json({"machine": name, "state": state})
    else:
        say(f"{name}: {state}" + ("; its host does not answer" if state == "stopping" else ""))


@command(app, "checkpoint", "forestall machines checkpoint vm1")
@_guarded
def checkpoint(name: Name, fleet: Fleet = HERE, as_json: Json = False) -> None:
    """Save the memory of a machine while it runs; with hosts only.

    It goes on from there where its host is lost. `fleet.toml` may ask for this every so often.
    """
    opened = _hosts(fleet, f"checkpoint {name}")
    image = opened.checkpoint(name)
    _tell_troubles(opened)
    if as_json:
        say_json({"machine": name, "checkpoint": image})
    else:
        say(f"{name}: saved as {image}")


@command(app, "dead", "forestall machines dead h1")
@_guarded
def dead(node: Node, fleet: Fleet = HERE, as_json: Json = False) -> None:
    """Declare that a host which does not answer is off; with hosts only.

    Its machines are restarted elsewhere. Make sure that the host is off: if it runs on behind a
    broken link, its machines run twice until it is back.
    """
    opened = _hosts(fleet, f"dead {node}")
    opened.declare_dead(node)
    _tell_troubles(opened)
    if as_json:
        say_json({"node": node, "state": "fenced"})
    else:
        say(f"{node}: counts as switched off; a watch restarts its machines elsewhere")


def _tell(outcomes: list[MachineOutcome], *, as_json: bool) -> int:
    """Print what came of it; returns the exit code."""
    if as_json:
        say_json([machines.outcome_json(one) for one in outcomes])
    else:
        for one in outcomes:
            say(machines.sentence(one), error=one.what == "failed")
    kept = {one.machine: one.what for one in outcomes}  # the last word about each
    return int(any(what in {"failed", "stays", "lost", "busy"} for what in kept.values()))


def _tell_troubles(fleet: FleetFolder | HostsFleet) -> None:
    for trouble in fleet.troubles():
        say(trouble, error=True)
