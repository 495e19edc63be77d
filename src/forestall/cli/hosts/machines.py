"""`forestall machines`: virtual machines on this host, moved before nodes fail."""

from __future__ import annotations

import functools
import json
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from forestall._lazy import lazily
from forestall.cli import complain
from forestall.cli.registry import command, group_of
from forestall.cli.runs.options import OUTPUT, Json, Quiet
from forestall.cli.screen import say, say_json, say_report
from forestall.model.errors import ForestallError, InputError, MissingExtraError, ParameterError
from forestall.model.settings import Setting
from forestall.model.units import parse_duration

with lazily():
    from forestall.adapters.qemu import guest as qemu_guest
    from forestall.app.hosts.machines import foreseen, machines

if TYPE_CHECKING:
    from forestall.app.hosts.machines.machines import FleetFolder
    from forestall.live.machines.coordinator import MachineOutcome


app = group_of(
    "Start virtual machines with QEMU on the nodes of a fleet, and move them, running, before "
    "nodes fail.",
    "forestall machines start vm1 --kernel vmlinux --initrd initrd.gz --memory 128M",
    "forestall machines foresee a --in 10m",
    "forestall machines watch",
)


FAILED = 1
INTERRUPTED = "interrupted; `forestall machines list` says where each machine runs"


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that SIGTERM and SIGHUP end as Ctrl-C does, so that a move is taken back,
    and that ends with 1 where something did not come off, with 2 where the input is wrong."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            with _signals_as_ctrl_c():
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


@contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """A signal that is ignored, as by nohup, stays so."""
    before = {
        one: signal.signal(one, signal.default_int_handler)
        for one in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(one) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


GUEST = "The machine"
QEMU = "QEMU"
HERE = Path()
Fleet: TypeAlias = Annotated[
    Path, Setting("The fleet's folder; fleet.toml lies in it", shown="DIR")
]
Runtime: TypeAlias = Annotated[
    str | None,
    Setting(
        "How long it has to run (default: as long as there is time)",
        shown="DURATION",
        group=GUEST,
    ),
]
Deadline: TypeAlias = Annotated[
    str | None,
    Setting(
        "By when: a date, or 2h (default: twice the run time, or the fleet's horizon)",
        shown="TIME",
        group=GUEST,
    ),
]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="The machine.")]
Node: TypeAlias = Annotated[
    str, typer.Argument(metavar="NODE", help="The node, as fleet.toml names it.")
]


@command(
    app,
    "start",
    "forestall machines start vm1 --kernel vmlinux --initrd initrd.gz --memory 128M",
    "forestall machines start vm2 --node b --kernel vmlinux --runtime 2h --fleet fleet",
)
@_guarded
def start(
    name: Name,
    kernel: Annotated[Path, Setting("The kernel to boot", group=GUEST)],
    fleet: Fleet = HERE,
    node: Annotated[
        str | None,
        Setting("Where to start it (default: where the strategy chooses)", shown="N"),
    ] = None,
    initrd: Annotated[Path | None, Setting("Its initial file system", group=GUEST)] = None,
    memory: Annotated[str, Setting("Such as 4G", shown="AMOUNT", group=GUEST)] = "128M",
    append: Annotated[
        str, Setting("The kernel's command line", shown="WORDS", group=GUEST)
    ] = "console=ttyS0",
    runtime: Runtime = None,
    deadline: Deadline = None,
    machine: Annotated[str, Setting("Machine type", shown="TYPE", group=QEMU)] = "q35",
    cpu: Annotated[str, Setting("Processor", shown="MODEL", group=QEMU)] = "qemu64",
    accel: Annotated[
        str,
        Setting("tcg (emulated), kvm, or another that QEMU knows", shown="NAME", group=QEMU),
    ] = "tcg",
    more: Annotated[
        str,
        Setting(
            "More of QEMU's command line, such as disks that all nodes reach",
            option="qemu",
            shown="WORDS",
            group=QEMU,
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Start a virtual machine; it runs on when this command has ended."""
    opened = machines.FleetFolder.open(fleet)
    try:
        words = tuple(shlex.split(more))
    except ValueError as error:
        raise ParameterError("--qemu", more, f"words as a shell takes them ({error})") from None
    guest = qemu_guest.Guest(
        name,
        str(kernel.resolve()),
        "" if initrd is None else str(initrd.resolve()),
        qemu_guest.parse_memory(memory, "--memory"),
        opened.file.machine_processors,
        append,
        machine,
        cpu,
        accel,
        words,
    )
    told = opened.start(guest, node, machines.need_of(runtime, deadline, time.time()))
    if as_json:
        say_json(told)
    else:
        console = machines.beside(told["console"], fleet)
        say(f"{name}: runs on {told['node']} ({told['why']}); console: {console}")
    _tell_troubles(opened)


@command(app, "list", "forestall machines list", "forestall machines list --fleet fleet --json")
@_guarded
def listed(fleet: Fleet = HERE, as_json: Json = False) -> None:
    """List the machines of a fleet and its nodes, as they are now."""
    opened = machines.FleetFolder.open(fleet)
    told = opened.listing()
    _tell_troubles(opened)
    if as_json:
        say_json(told)
        return
    say_report(machines.report_of(told, fleet))


@command(app, "migrate", "forestall machines migrate vm1 --to b")
@_guarded
def migrate(
    name: Name,
    to: Annotated[str, Setting("Where to", shown="NODE")],
    fleet: Fleet = HERE,
    as_json: Json = False,
) -> int:
    """Move a running machine to another node; exit code 1 where that did not come off."""
    opened = machines.FleetFolder.open(fleet)
    outcome = opened.migrate(name, to)
    _tell_troubles(opened)
    return _tell([outcome], as_json=as_json)


@command(app, "drain", "forestall machines drain a", "forestall machines drain a --undo")
@_guarded
def drain(
    node: Node,
    fleet: Fleet = HERE,
    undo: Annotated[bool, Setting("Take the node into use again")] = False,
    as_json: Json = False,
) -> int:
    """Move all machines off a node; exit code 1 where one stays.

    Until `drain NODE --undo` nothing comes there that was not asked for by name.
    """
    opened = machines.FleetFolder.open(fleet)
    if undo:
        opened.undrain(node)
        outcomes, told = [], f"{node}: is in use again"
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
    at: Annotated[str | None, Setting("When it is to fail", shown="TIME")] = None,
    within: Annotated[
        str | None, Setting("The same, from now", option="in", shown="DURATION")
    ] = None,
    never: Annotated[bool, Setting("Take back what was foreseen")] = False,
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
    opened = machines.FleetFolder.open(fleet)
    opened.foresee(node, moment)
    _tell_troubles(opened)
    if as_json:
        say_json({"node": node, "foreseen": moment})
    elif moment is None:
        say(f"{node}: no failure is foreseen")
    else:
        say(
            f"{node}: foreseen to fail at {machines.date(moment)}; left {opened.file.lead} s before"
        )


@command(app, "watch", "forestall machines watch", "forestall machines watch --every 2s --for 1h")
@_guarded
def watch(
    fleet: Fleet = HERE,
    every: Annotated[str, Setting("Between two looks", shown="DURATION")] = "1s",
    span: Annotated[
        str | None, Setting("How long (default: until Ctrl-C)", option="for", shown="DURATION")
    ] = None,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, Setting("Print a line of JSON each", option="json", group=OUTPUT)
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
    opened = machines.FleetFolder.open(fleet)
    if not quiet and not as_json:
        say(f"watching over {len(opened.file.nodes)} nodes; Ctrl-C ends it")
    told: list[str] = []
    try:
        for outcomes, troubles in opened.watch(seconds, until):
            for trouble in troubles:
                if trouble not in told:
                    say(trouble, error=True)
            told = troubles
            for one in outcomes:
                if as_json:
                    print(json.dumps(machines.outcome_json(one), allow_nan=False), flush=True)
                elif not quiet:
                    say(f"{datetime.now(UTC):%H:%M:%S} {machines.sentence(one)}")
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped watching; the machines run on") from None


@command(app, "stop", "forestall machines stop vm1")
@_guarded
def stop(name: Name, fleet: Fleet = HERE, as_json: Json = False) -> None:
    """End a machine; its guest is not asked."""
    opened = machines.FleetFolder.open(fleet)
    seen = opened.stop(name)
    _tell_troubles(opened)
    if as_json:
        say_json({"machine": name, "state": seen.state})
    else:
        say(f"{name}: {seen.state}")


def _tell(outcomes: list[MachineOutcome], *, as_json: bool) -> int:
    """Print what came of it; returns the exit code."""
    if as_json:
        say_json([machines.outcome_json(one) for one in outcomes])
    else:
        for one in outcomes:
            say(machines.sentence(one), error=one.what == "failed")
    kept = {one.machine: one.what for one in outcomes}  # the last word about each
    return int(any(what in {"failed", "stays", "lost"} for what in kept.values()))


def _tell_troubles(fleet: FleetFolder) -> None:
    for trouble in fleet.troubles():
        say(trouble, error=True)
