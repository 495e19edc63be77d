"""Links with a delay and a loss where the kernel has no `tc netem`: frames are handed from one TAP
device to another by this process, `python -m studies.vault.delayed`.

It is told the links by one line of JSON: for each the names of both devices, bit/s both ways, ms,
and the share of frames that is lost."""

from __future__ import annotations

import fcntl
import heapq
import json
import os
import random
import select
import struct
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Final

TUNSETIFF: Final = 0x400454CA
TAP_WITHOUT_HEADER: Final = 0x0002 | 0x1000
LARGEST: Final = 2048
QUEUE: Final = 512 * 1024
"""Bytes that may wait on a link; more are dropped."""


def opened(name: str) -> int:
    """Return a new TAP device of this name in this namespace."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), TAP_WITHOUT_HEADER))
    return device


@dataclass
class Way:
    """One direction of a link: the device that frames leave by; bit/s; s of delay; the share lost;
    when the last frame that was taken has left."""

    out: int
    rate: float
    delay: float
    loss: float
    free: float = 0.0

    def due(self, length: int, now: float) -> float | None:
        """Return when a frame arrives, None where it is lost."""
        self.free = max(self.free, now)
        if (self.free - now) * self.rate / 8 > QUEUE or random.random() < self.loss:
            return None
        self.free += 8 * length / self.rate
        return self.free + self.delay


@dataclass
class Relay:
    """All links, and the frames that are on their way."""

    ways: dict[int, Way] = field(default_factory=dict)
    waiting: list[tuple[float, int, int, bytes]] = field(default_factory=list)
    number: int = 0

    def add(self, told: dict[str, Any]) -> None:
        """Add a link."""
        inner, outer = opened(told["inner"]), opened(told["outer"])
        delay = told["delay"] / 1000
        self.ways[inner] = Way(outer, told["up"], delay, told["loss"])
        self.ways[outer] = Way(inner, told["down"], delay, told["loss"])

    def turn(self) -> None:
        """Take what has come, and hand on what is due."""
        wait = max(self.waiting[0][0] - time.monotonic(), 0.0) if self.waiting else None
        for device in select.select(list(self.ways), [], [], wait)[0]:
            way = self.ways[device]
            for _ in range(64):
                try:
                    frame = os.read(device, LARGEST)
                except OSError:  # nothing more, or the link is down
                    break
                due = way.due(len(frame), time.monotonic())
                if due is not None:
                    self.number += 1
                    heapq.heappush(self.waiting, (due, self.number, way.out, frame))
        now = time.monotonic()
        while self.waiting and self.waiting[0][0] <= now:
            _due, _number, out, frame = heapq.heappop(self.waiting)
            try:
                os.write(out, frame)
            except OSError:
                continue  # the link is down


if __name__ == "__main__":
    relay = Relay()
    random.seed(1)
    for link in json.loads(sys.stdin.readline()):
        relay.add(link)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        relay.turn()
