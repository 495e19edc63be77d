"""What is measured with real daemons in network namespaces: tests that each give rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from studies.vault.network import Link, Network, network

Row = dict[str, Any]
Tell = Callable[[int, int], None]
MBIT: Final = 1_000_000
MIB: Final = 2**20
NEAR: Final = Link(200 * MBIT, 200 * MBIT)
"""A lab's network."""
CAMPUS: Final = Link(40 * MBIT, 40 * MBIT, 12.0, 0.0002)
"""Another campus, over a shared path."""
LINE: Final = Link(8 * MBIT, 8 * MBIT, 15.0, 0.0005)
"""The line of a submitting machine."""
HOSTS: Final = tuple(f"h{k}" for k in range(6))
"""Shared hosts of one lab; and two in another place."""
AFAR: Final = ("f0", "f1")
PORT: Final = 9140
START: Final = 60.0


def links() -> dict[str, Link]:
    """Return all hosts with their links."""
    near = dict.fromkeys((*HOSTS, "server"), NEAR)
    return {**near, **dict.fromkeys((*AFAR, "remote"), CAMPUS), "submitter": LINE}


@dataclass
class Site:
    """The hosts with their daemons, as they run.

    Attributes
    ----------
    net : the network; folder : of all files; daemons : by host
    """

    net: Network
    folder: Path
    daemons: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def url(self, host: str) -> str:
        """Return the URL of a host's daemon."""
        return f"forestall://{self.net.address(host)}:{PORT}/study"

    def serve(self, host: str) -> None:
        """Start the daemon of a host, and wait for it."""
        self.start(host)
        self.ready(host)

    def start(self, host: str) -> None:
        """Start the daemon of a host."""
        words = [sys.executable, "-m", "forestall", "storage", "serve", str(self.folder / host)]
        words += ["--host", self.net.address(host), "--port", str(PORT), "--json"]
        daemon = subprocess.Popen(
            self.net.inside(host, words), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.daemons[host] = daemon

    def ready(self, host: str) -> None:
        """Wait for the daemon of a host, and write down its token."""
        daemon = self.daemons[host]
        assert daemon.stdout is not None
        text = ""
        for line in daemon.stdout:  # JSON in several lines
            text += line
            if line.rstrip() == "}":
                break
        told = json.loads(text)
        if told["token"]:
            with self.tokens.open("a") as file:
                file.write(f"{self.net.address(host)}:{PORT} {told['token']}\n")
            self.tokens.chmod(0o600)

    @property
    def tokens(self) -> Path:
        """The file of the tokens."""
        return self.folder / "tokens"

    def end(self, host: str) -> None:
        """End the daemon of a host at once."""
        daemon = self.daemons.pop(host)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait(10)

    def end_all(self) -> None:
        """End all daemons."""
        for host in list(self.daemons):
            self.end(host)

    def guest(self, host: str, told: Mapping[str, Any]) -> subprocess.Popen[str]:
        """Start a guest on a host."""
        words = [sys.executable, "-m", "studies.vault.guest"]
        named = {**os.environ, "FORESTALL_STORAGE_TOKENS": str(self.tokens)}
        guest = subprocess.Popen(
            self.net.inside(host, words), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=named,
        )  # fmt: skip
        assert guest.stdin is not None
        guest.stdin.write(json.dumps(told) + "\n")
        guest.stdin.flush()
        return guest

    def asked(self, host: str, told: Mapping[str, Any], limit: float = 400.0) -> list[Row]:
        """Return what a guest tells that is let go on to its end."""
        said, error = self.guest(host, told).communicate(timeout=limit)
        rows = [json.loads(line) for line in said.splitlines()]
        if not rows:
            raise RuntimeError(f"the guest on {host} told nothing: {error[-500:]}")
        return rows


@contextmanager
def site() -> Iterator[Site]:
    """Start hosts and daemons, and end them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forestall-vault-")))
        net = stack.enter_context(network(links()))
        made = Site(net, folder)
        stack.callback(made.end_all)
        for act in (made.start, made.ready):
            for host in net.links:
                act(host)
        yield made


# ---------------------------------------------------------------------------------- layouts


def coding(data: int = 3, parity: int = 2, compression: str = "zstd") -> dict[str, Any]:
    """Return how a checkpoint is coded."""
    return {"data": data, "parity": parity, "compression": compression}


ONE: Final = coding(1, 0)
LAYOUTS: Final = ("vault", "server", "remote", "submitter", "local")


def stores(made: Site, layout: str, host: str) -> dict[str, Any]:
    """Return where a guest on a host stores in a layout: the vault on five hosts of its lab other
    than its own."""
    if layout == "vault":
        others = [one for one in HOSTS if one != host][:5]
        return {"stores": [made.url(one) for one in others], "coding": coding()}
    if layout == "local":
        return {"stores": [str(made.folder / f"disk-{host}")], "coding": ONE}
    return {"stores": [made.url(layout)], "coding": ONE}


def order(made: Site, test: str, host: str, layout: str, **more: Any) -> dict[str, Any]:
    """Return what a guest is told."""
    folder = str(made.folder / f"guest-{test}-{layout}-{host}")
    label = f"{test}-{layout}"
    given = stores(made, layout, host)
    return {"do": "store", "folder": folder, "label": label, "seed": 1, **given, **more}


# ------------------------------------------------------------------------------------ tests


@dataclass(frozen=True)
class Load:
    """How much is measured: sizes in MiB; clients at once; size and steps of the programs, and the
    least s of a step; s of work between checkpoints; how long a guest is left on a host, s on
    average; how often programs are run; s after which one is given up."""

    sizes: tuple[int, ...] = (2, 8, 24)
    clients: tuple[int, ...] = (1, 2, 4)
    steps: Mapping[str, tuple[int, int]] = field(
        default_factory=lambda: {"solver": (1024, 220), "search": (30_000, 220)}
    )
    pace: float = 0.1
    interval: float = 3.0
    stay: float = 14.0
    repeats: int = 1
    longest: float = 80.0


LITTLE: Final = Load((1,), (1, 2), {"solver": (128, 40)}, 0.05, 0.5, 3.0, longest=20.0)


def by_size(made: Site, load: Load) -> Iterator[Row]:
    """Storing and recovering against the size of a checkpoint, and the bytes on shared paths."""
    for layout in LAYOUTS:
        sizes = [one * MIB for one in load.sizes if layout != "submitter" or one <= 8]
        before = {host: made.net.carried(host) for host in made.net.links}
        for row in made.asked("h0", order(made, "size", "h0", layout, sizes=sizes)):
            yield {"test": "size", "layout": layout, **row}
        afar = (*AFAR, "remote", "submitter")
        across = sum(made.net.carried(one) - before[one] for one in afar)
        yield {"test": "shared", "layout": layout, "bytes": sum(sizes), "carried": across}


def by_clients(made: Site, load: Load) -> Iterator[Row]:
    """Guests on several hosts that save at the same time."""
    for layout in ("vault", "server", "remote"):
        for count in load.clients:
            size = [load.sizes[len(load.sizes) // 2] * MIB]
            guests = [
                made.guest(host, order(made, f"clients{count}-{host}", host, layout, sizes=size))
                for host in HOSTS[:count]
            ]
            for guest in guests:
                said = guest.communicate(timeout=400)[0]
                for line in said.splitlines():
                    row = json.loads(line)
                    yield {"test": "clients", "layout": layout, "clients": count, **row}


def by_parts(made: Site, load: Load) -> Iterator[Row]:
    """What compression, shared chunks, the code, and the choice of near hosts each contribute."""
    near = [made.url(one) for one in HOSTS[1:]]
    mixed = [made.url(one) for one in (*HOSTS[1:4], *AFAR)]
    ways = {
        "all": (near, coding()),
        "no compression": (near, coding(compression="none")),
        "no code: one copy": (near[:1], ONE),
        "no code: three copies": (near[:3], coding(1, 2)),
        "two of five hosts far": (mixed, coding()),
    }
    size = [load.sizes[len(load.sizes) // 2] * MIB]
    for name, (hosts, code) in ways.items():
        given = order(made, "parts", "h0", "vault", sizes=size, versions=2)
        given |= {"stores": hosts, "coding": code, "label": f"parts-{name}"}
        given["folder"] = str(made.folder / f"parts-{list(ways).index(name)}")
        for row in made.asked("h0", given):
            yield {"test": "parts", "layout": name, **row}


def by_failures(made: Site, load: Load) -> Iterator[Row]:
    """Restores with storage hosts gone: of 3 + 2 pieces, and of one copy on one shared host."""
    size = [load.sizes[0] * MIB]
    for layout, down in (("vault", 0), ("vault", 1), ("vault", 2), ("vault", 3), ("copy", 1)):
        given = order(made, f"failures{down}", "h0", "vault", sizes=size, restore=False)
        if layout == "copy":
            given |= {"stores": [made.url("h1")], "coding": ONE}
        given["label"] = f"failures-{layout}-{down}"
        saved = made.asked("h0", given)[-1]
        gone = HOSTS[1 : 1 + down]
        for host in gone:
            made.end(host)
        again = given | {"do": "fetch", "id": saved["id"]}
        yield {"test": "failures", "layout": layout, "down": down, **made.asked("h0", again)[-1]}
        for host in gone:
            made.serve(host)


def by_program(made: Site, load: Load) -> Iterator[Row]:
    """Makespans of the programs, whose guests are ended and go on elsewhere: at the same times
    whatever the layout."""
    for repeat in range(load.repeats):
        for program, (size, steps) in load.steps.items():
            alone = {"program": program, "size": size, "steps": steps}
            for layout in ("none", *LAYOUTS):
                row = evicted(made, load, layout, alone, repeat)
                yield {"test": "program", "layout": layout, "program": program, **row}


def evicted(made: Site, load: Load, layout: str, alone: Mapping[str, Any], repeat: int) -> Row:
    """Run a program to its end while its guest is ended again and again; "none" leaves it alone,
    without checkpoints. Every second time the host's own daemon goes along, and is back the next
    time."""
    rng = np.random.default_rng([7, repeat])
    gone = ""
    begun, count, saves, saving, lost = time.monotonic(), 0, 0, 0.0, 0
    while True:
        host = HOSTS[count % len(HOSTS)]
        kind = "local" if layout == "none" else layout
        given = order(made, f"program{repeat}-{alone['program']}", host, kind)
        given |= {**alone, "do": "work", "interval": load.interval}
        given["pace"] = load.pace
        given["interval"] = 1e9 if layout == "none" else load.interval
        left = load.longest - (time.monotonic() - begun)
        drawn = 2.0 + float(rng.exponential(load.stay))
        stay = 1e6 if layout == "none" else min(drawn, max(left, 0.0))
        guest = made.guest(host, given)
        ended = _left_alone(guest, stay)
        for row in ended:
            saves += row["event"] == "saved"
            lost += row["event"] == "lost"
            saving += row["seconds"] if row["event"] in ("saved", "resumed") else 0.0
        if gone:
            made.start(gone)
            gone = ""
        last = ended[-1] if ended else {}
        seconds, done = time.monotonic() - begun, last.get("event") == "done"
        if done or (seconds >= load.longest and layout != "none"):
            return {"seconds": seconds, "done": done, "evictions": count, "saves": saves,
                    "lost": lost, "storing": saving, "answer": last.get("answer")}  # fmt: skip
        if count % 2:
            made.end(host)
            gone = host
        count += 1


def _left_alone(guest: subprocess.Popen[str], stay: float) -> list[Row]:
    """Return what a guest tells until it is done, or is ended after so many seconds of work."""
    assert guest.stdout is not None
    first = guest.stdout.readline()  # from here on it works, or restores
    try:
        said = guest.communicate(timeout=min(stay, START * 10))[0]
    except subprocess.TimeoutExpired:
        guest.kill()
        said = guest.communicate()[0]
    rows = []
    for line in (first + said).splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue  # the last line of one that was killed
    return rows


TESTS: Final = (by_size, by_clients, by_parts, by_failures, by_program)


def measured(load: Load, tell: Tell) -> list[Row]:
    """Return the rows of all tests."""
    rows: list[Row] = []
    with site() as made:
        for number, test in enumerate(TESTS):
            tell(number, len(TESTS))
            rows += test(made, load)
    tell(len(TESTS), len(TESTS))
    return rows
