"""What the host agent costs its host: CPU and memory, forecasts included, over a minute or two.

    python benchmarks/agent.py [--seconds 120] [--days 70]

The agent runs as users run it, on a folder with so many days of made-up samples, so that it learns
at its start as it does each hour. Its limits are 1 % of one processor and 60 MB.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import socket
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from forestall.core.processes.usage import TICKS, read_stat
from forestall.logs.metrics.day_files import RECORD, DaySample, encode
from forestall.prediction.availability.status import read_status
from forestall.sharing.agent.loop import AgentSettings

DAY, PERIOD = 86_400, 6
CPU, MEMORY = 0.01, 60e6


def fill(folder: Path, days: int) -> tuple[int, int]:
    """Write past days; returns the bytes of the last, plain and packed."""
    (folder / "samples").mkdir()
    rng = np.random.default_rng(1)
    today = int(time.time()) // DAY * DAY
    plain = packed = b""
    for back in range(days, 0, -1):
        begin = today - back * DAY
        header = AgentSettings(folder).header(socket.gethostname(), b"past".ljust(16), 0)
        parts = [header.encode()]
        busy = np.repeat(rng.random(DAY // 600) < 0.15, 600 // PERIOD)
        load = np.clip(0.03 + 0.9 * busy + 0.02 * rng.standard_normal(len(busy)), 0, 1)
        free = np.clip(0.6 + np.cumsum(rng.standard_normal(len(busy))) / 3000, 0.1, 0.9)
        io = np.exp(rng.normal(8, 3, len(busy)))
        for k in range(DAY // PERIOD):
            state = 2 if load[k] > 0.6 else int(load[k] > 0.2)
            record = DaySample(begin + PERIOD * k, float(begin + PERIOD * k - today + days * DAY),
                            float(load[k]), float(free[k]), float(io[k]), 0.0, state)  # fmt: skip
            parts.append(encode(record, header.seed))
        plain = b"".join(parts)
        packed = gzip.compress(plain, mtime=0)
        name = datetime.fromtimestamp(begin, UTC).strftime("%Y-%m-%d")
        (folder / "samples" / f"{name}.fsd.gz").write_bytes(packed)
    return len(plain), len(packed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--days", type=int, default=70)
    parser.add_argument("--command", nargs="+", default=["-m", "forestall"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, packed = fill(folder, asked.days)
        print(f"a day file: {plain:,} bytes, packed {packed:,}; {RECORD} bytes a sample")
        words = [
            sys.executable,
            *asked.command,
            "agent",
            "--folder",
            name,
            "--listen",
            "0",
            "--beside",
        ]
        agent = subprocess.Popen([*words, "--for", str(asked.seconds)], stdout=subprocess.DEVNULL)
        most, begun, start, last = 0, 0.0, 0.0, (0.0, 0.0)
        while agent.poll() is None:
            stat = read_stat(agent.pid)
            memory = _resident(agent.pid)
            if stat is not None and memory:
                last = (stat.used / TICKS, stat.waited / TICKS)
                most = max(most, memory)
                if not start and (folder / "status.json").exists():
                    start, begun = last[0], time.monotonic()
            time.sleep(0.25)
        passed = time.monotonic() - begun
        told = read_status(folder)
        own, learning = last[0] - start, last[1]
        share = own / passed + learning / 3600
        print(f"start-up: {start:.2f} s of CPU time, once")
        print(
            f"sampling: {own:.2f} s in {passed:.0f} s ({100 * own / passed:.3f} % of one processor)"
        )
        print(f"learning: {learning:.2f} s each hour ({100 * learning / 3600:.3f} %), "
              f"{told['forecast_memory'] / 1e6:.0f} MB while it lasts")  # fmt: skip
        print(f"together: {100 * share:.3f} % of one processor (limit {100 * CPU:.0f} %), "
              f"{100 * share / (os.cpu_count() or 1):.3f} % of the machine")  # fmt: skip
        print(f"memory:   {most / 1e6:.1f} MB (limit {MEMORY / 1e6:.0f} MB)")
        assert not math.isnan(share)
        sys.exit(0 if share < CPU and max(most, told["forecast_memory"]) < MEMORY else 1)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    main()
