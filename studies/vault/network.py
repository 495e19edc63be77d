"""Hosts as processes in network namespaces: an address each, a link to one switch, and on each link
a bandwidth (`tc tbf`), a delay and a loss (a process that forwards frames, `delayed`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

NEEDED: Final = ("ip", "tc", "nsenter")
SUBNET: Final = "10.219.7"


@dataclass(frozen=True)
class Link:
    """A link: bit/s up and down, ms one way, share of frames that is lost."""

    up: int
    down: int
    delay: float = 0.0
    loss: float = 0.0

    @property
    def delayed(self) -> bool:
        """Whether frames have to be kept for a while, or dropped."""
        return self.delay > 0 or self.loss > 0


def why_not() -> str:
    """Return why no namespaces can be had here, "" where they can."""
    missing = [one for one in NEEDED if shutil.which(one) is None]
    if missing:
        return f"{', '.join(missing)} not found"
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    name = f"fv{os.getpid()}probe"
    made = _run(["ip", "netns", "add", name], check=False)
    if made.returncode:
        return f"no namespace could be made ({made.stderr.strip()})"
    try:
        shaped = _run(
            ["ip", "-n", name, "link", "add", "a0", "type", "veth", "peer", "name", "b0"],
            check=False,
        )
        if not shaped.returncode:
            tc = ["tc", "-n", name, "qdisc", "add", "dev", "a0", "root", *_tbf(1_000_000)]
            shaped = _run(tc, check=False)
        return f"links cannot be shaped ({shaped.stderr.strip()})" if shaped.returncode else ""
    finally:
        _run(["ip", "netns", "del", name], check=False)


def _run(words: list[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, check=check, capture_output=True, text=True, timeout=30)


@dataclass(frozen=True)
class Network:
    """Hosts by name, each in a namespace of its own.

    Attributes
    ----------
    prefix : of the namespaces' names
    links : of the hosts, in order
    """

    prefix: str
    links: Mapping[str, Link]

    def namespace(self, host: str) -> str:
        """Return the namespace of a host."""
        return f"{self.prefix}{host}"

    def address(self, host: str) -> str:
        """Return the address of a host."""
        return f"{SUBNET}.{10 + list(self.links).index(host)}"

    def inside(self, host: str, words: list[str]) -> list[str]:
        """Return the command that runs another one on a host."""
        return ["nsenter", f"--net=/run/netns/{self.namespace(host)}", *words]

    def carried(self, host: str) -> int:
        """Return the bytes that a host has sent and received."""
        told = _run(["ip", "-n", self.namespace(host), "-s", "-j", "link", "show", "e0"]).stdout
        stats = json.loads(told)[0]["stats64"]
        return int(stats["rx"]["bytes"]) + int(stats["tx"]["bytes"])


def _tbf(rate: int) -> list[str]:
    """Return the words that hold a device to a rate in bit/s."""
    # A burst of 5 ms, at least a few frames.
    return [
        "tbf",
        "rate",
        f"{rate}bit",
        "burst",
        f"{max(rate // 1600, 16_000)}",
        "latency",
        "300ms",
    ]


@contextmanager
def network(links: Mapping[str, Link], prefix: str = "") -> Iterator[Network]:
    """Make hosts with these links to one switch, and remove them at the end."""
    made = Network(prefix or f"fv{os.getpid()}", dict(links))
    hub = made.namespace("hub")
    relay: subprocess.Popen[str] | None = None
    try:
        for name in (hub, *(made.namespace(host) for host in links)):
            _run(["ip", "netns", "add", name])
        _run(["ip", "-n", hub, "link", "add", "br0", "type", "bridge"])
        _run(["ip", "-n", hub, "link", "set", "br0", "up"])
        relay = _relay(made, hub)
        for number, (host, link) in enumerate(links.items()):
            if not link.delayed:
                _wire(made, hub, host, number, link)
            _plug(made, hub, host, f"p{number}")
        yield made
    finally:
        if relay is not None:
            relay.kill()
            relay.wait(10)
        for name in (*(made.namespace(host) for host in links), hub):
            _run(["ip", "netns", "del", name], check=False)


def _relay(made: Network, hub: str) -> subprocess.Popen[str]:
    """Start the process that makes and serves the links with a delay."""
    told = [
        {"inner": f"q{number}", "outer": f"p{number}", **vars(link)}
        for number, link in enumerate(made.links.values())
        if link.delayed
    ]
    words = ["nsenter", f"--net=/run/netns/{hub}", sys.executable, "-m", "studies.vault.delayed"]
    relay = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert relay.stdin is not None
    assert relay.stdout is not None
    relay.stdin.write(json.dumps(told) + "\n")
    relay.stdin.flush()
    if relay.stdout.readline().strip() != "ready":
        raise RuntimeError("the process that delays frames did not start")
    for number, (host, link) in enumerate(made.links.items()):
        if link.delayed:
            _run(["ip", "-n", hub, "link", "set", f"q{number}", "netns", made.namespace(host)])
            _run(["ip", "-n", made.namespace(host), "link", "set", f"q{number}", "name", "e0"])
    return relay


def _wire(made: Network, hub: str, host: str, number: int, link: Link) -> None:
    """Make a link without a delay, and hold both of its ends to their rates."""
    name, port = made.namespace(host), f"p{number}"
    peer = ["type", "veth", "peer", "name", "e0", "netns", name]
    _run(["ip", "-n", hub, "link", "add", port, *peer])
    for where, device, rate in ((name, "e0", link.up), (hub, port, link.down)):
        _run(["tc", "-n", where, "qdisc", "add", "dev", device, "root", *_tbf(rate)])


def _plug(made: Network, hub: str, host: str, port: str) -> None:
    """Plug a host's link into the switch, and give it its address."""
    name = made.namespace(host)
    _run(["ip", "-n", hub, "link", "set", port, "master", "br0", "up"])
    _run(["ip", "-n", name, "addr", "add", f"{made.address(host)}/24", "dev", "e0"])
    for device in ("lo", "e0"):
        _run(["ip", "-n", name, "link", "set", device, "up"])
