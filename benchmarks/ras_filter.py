"""Filtering 4.7 million Blue Gene/L lines (the whole log has as many), beside a plain Python loop.

The lines are real ones (two samples of the labelled log and all failure-suggesting events),
repeated with later times and other digits in their messages, so that texts differ as they do in the
log. The loop splits lines, blanks numbers by one regular expression and applies the filters by
severity, time and space to the first lines; its time is scaled to all of them. Ours runs in a
process of its own on one core, so that its peak memory is its own. Times are those of the processor
where two are compared: other work on the machine does not count.

`python -m benchmarks.ras_filter`
"""

from __future__ import annotations

import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.common import ROOT, data

LINES = 4_700_000
SLICE = 200_000
STEP = timedelta(days=214)
THRESHOLD = 300
STAMP = "%Y-%m-%d-%H.%M.%S.%f"

OURS = """
import json, resource, sys, time
start = time.perf_counter()
from forestall.logs.ras import pipeline, read_ras
log = read_ras(sys.argv[1])
read = time.perf_counter() - start
done = pipeline(log)
whole = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kinds, places = len(log.kinds), len(log.places)
counts = [(s.name, s.before, s.after) for s in done.steps]
spent = time.process_time()
print(json.dumps([read, whole, spent, peak, len(log), kinds, places, counts]))
"""


def samples() -> list[tuple[datetime, str, str, str]]:
    """Return (time, label and place, facility and severity, message) of the real lines."""
    found = []
    for name in ("bgl-ras/BGL_5000.log", "bgl-ras/BGL_2k.log"):
        for line in data(name).read_text(errors="replace").splitlines():
            label, _, _, place, stamp, _, _, facility, severity, *text = line.split(" ", 9)
            moment = datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)
            found.append((moment, f"{label} {place}", f"{facility} {severity}", "".join(text)))
    with lzma.open(data("bluegene-l-fatal/Best.all-fail.xz"), "rt") as file:
        for line in file:
            stamp, place, _, facility, severity, *text = line.rstrip("\n").split(" ", 5)
            moment = datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)
            found.append((moment, f"F {place}", f"{facility} {severity}", "".join(text)))
    return sorted(found)


def make(path: Path) -> int:
    """Write the lines in the labelled form; return how many bytes."""
    real = samples()
    with path.open("w") as file:
        for copy in range(-(-LINES // len(real))):
            turned = str.maketrans("0123456789", "".join(str((k + copy) % 10) for k in range(10)))
            lines = []
            for moment, where, what, text in real[: LINES - copy * len(real)]:
                now = moment + copy * STEP
                label, place = where.split(" ")
                head = f"{label} {int(now.timestamp())} {now:%Y.%m.%d} {place}"
                said = text.translate(turned)
                lines.append(f"{head} {now.strftime(STAMP)} {place} RAS {what} {said}\n")
            file.writelines(lines)
    return path.stat().st_size


def plain(path: Path, count: int) -> int:
    """Return how many records of the first lines are left, in plain Python."""
    number = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}\b|\d+")
    known: dict[tuple[str, str], datetime] = {}
    spread: dict[str, datetime] = {}
    gap, left = timedelta(seconds=THRESHOLD), 0
    with path.open() as file:
        for _, line in zip(range(count), file, strict=False):
            _, _, _, place, stamp, _, _, facility, severity, *text = line.split(" ", 9)
            now = datetime.strptime(stamp, STAMP)
            kind = f"{facility} {number.sub('<*>', ''.join(text))}"
            if severity not in {"FATAL", "FAILURE"}:
                continue
            before, known[place, kind] = known.get((place, kind)), now
            if before is not None and now - before <= gap:
                continue
            before, spread[kind] = spread.get(kind), now
            left += before is None or now - before > gap
    return left


def main() -> None:
    """Print seconds, memory and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bgl.log"
        size = make(path)
        print(f"{LINES:,} lines, {size / 1e6:,.0f} MB")
        one = {"POLARS_MAX_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            [sys.executable, "-c", OURS, str(path)],
            env={**os.environ, **one},
            capture_output=True,
            text=True,
            check=True,
        )
        read, whole, spent, peak, count, kinds, places, counts = json.loads(done.stdout)
        assert count == LINES
        start = time.process_time()
        plain(path, SLICE)
        theirs = (time.process_time() - start) * LINES / SLICE
    for name, before, after in counts:
        print(f"  {name:<10}{before:>12,} -> {after:>10,}")
    print(f"{kinds:,} kinds, {places:,} places")
    print(f"reading {read:.1f} s, with filters {whole:.1f} s, peak memory {peak / 1024:,.0f} MiB")
    print(f"of the processor {spent:.1f} s; plain Python {theirs:.0f} s ({SLICE:,} lines, scaled)")
    print(f"x{theirs / spent:.1f}")


if __name__ == "__main__":
    main()
