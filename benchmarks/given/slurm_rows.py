"""Text of ``sacct --parsable2`` with as many rows as wanted, like that of a busy site.

Users submit in bursts and arrays; sizes, limits, waits and runs are skewed; names are partly
unique; some runs are requeued, never started, run into their limit, or lose a node. With `dirty`
about one line in 500 is what real files hold: rows broken by a separator or a newline in a name,
steps, repeated rows and headers, ends before starts, text that is no UTF-8, NUL bytes.

`python -m benchmarks.given.slurm_rows PATH ROWS [dirty]`
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.slurm.commands import FIELDS

BEGIN = 1_700_000_000
YEAR = 365 * 86_400
PIECE = 200_000
NODES = 1500
USERS = 900
PARTITIONS = ("cpu", "cpu", "cpu", "long", "gpu", "gpu", "debug", "cpu,long", "bigmem")
LIMITS = (30, 60, 120, 240, 480, 720, 1440, 1440, 2880, 4320, 10080)
NAMES = ("train", "eval", "relax", "md", "bash", "jupyter", "sweep", "post", "vasp", "interactive")
STATES = ("COMPLETED", "FAILED", "OUT_OF_MEMORY", "CANCELLED by 12", "NODE_FAIL", "PREEMPTED",
          "REQUEUED", "TIMEOUT")  # fmt: skip
SHARES = (0.8, 0.12, 0.01, 0.045, 0.002, 0.008, 0.003)

Ints = npt.NDArray[np.int64]


def write_rows(path: str | Path, n: int, seed: int = 1, dirty: bool = False) -> dict[str, int]:
    """Write n rows of runs (and, if dirty, some more lines) and return what they hold: rows by
    state, `never` started, `again` (runs after a requeue), and by kind what is broken.

    Times are Unix seconds; the same arguments give the same bytes.
    """
    rng = np.random.default_rng(seed)
    counts: dict[str, int] = {}
    job, written = 1000, 0
    with Path(path).open("wb") as file:
        file.write("|".join(FIELDS).encode() + b"\n")
        while written < n:
            count = min(PIECE, n - written)
            span = (BEGIN + YEAR * written // n, BEGIN + YEAR * (written + count) // n)
            columns = _runs(rng, count, job, span)
            job = int(columns["job"].max()) + 1
            frame = _texts(columns, rng)
            for state, number in frame["State"].value_counts().iter_rows():
                counts[state] = counts.get(state, 0) + number
            _count(counts, "never", columns["never"])
            _count(counts, "again", columns["again"])
            raw = frame.write_csv(separator="|", include_header=False, quote_style="never").encode()
            if dirty:
                raw = _spoiled(raw, rng, counts)
            file.write(raw)
            written += count
    return counts


def _count(counts: dict[str, int], kind: str, rows: npt.NDArray[Any]) -> None:
    counts[kind] = counts.get(kind, 0) + int(rows.sum())


def _runs(
    rng: np.random.Generator, count: int, job: int, span: tuple[int, int]
) -> dict[str, npt.NDArray[Any]]:
    """Return the numbers of some runs submitted in a span of time."""
    sizes = np.minimum(rng.geometric(0.08, count), rng.integers(1, 400, count))
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), count)) + 1]
    burst = np.repeat(np.arange(len(sizes)), sizes)[:count]
    begins = np.sort(rng.integers(*span, len(sizes)))
    place = np.arange(count) - np.searchsorted(burst, burst)
    user = np.minimum((USERS ** rng.random(len(sizes))).astype(np.int64), USERS - 1)[burst]
    submit = begins[burst] + place * rng.integers(0, 3, len(sizes))[burst]
    limit = np.take(LIMITS, rng.integers(0, len(LIMITS), len(sizes))[burst]) * 60
    nodes = np.minimum(2 ** np.minimum(rng.geometric(0.5, count) - 1, 8), NODES)
    run = np.minimum(rng.lognormal(7.5, 2.0, count).astype(np.int64), limit + 30)
    wait = rng.lognormal(5.0, 2.5, count).astype(np.int64)
    state = rng.choice(7, count, p=np.array(SHARES) / sum(SHARES))
    state[run >= limit] = 7
    never = (state == 3) & (rng.random(count) < 0.5)
    suspended = np.where(rng.random(count) < 0.002, rng.integers(1, 5000, count), 0)
    suspended[never] = 0
    # The run after a requeue has the same id, and is submitted when the one before it ended.
    again = np.zeros(count, dtype=np.bool_)
    again[1:] = np.isin(state[:-1], (4, 5, 6)) & (np.arange(1, count) % 2 == 1)
    again &= ~never
    start = submit + wait
    end = start + run + suspended
    before = np.flatnonzero(again) - 1
    user[before + 1] = user[before]
    submit[before + 1] = end[before]
    start[before + 1] = end[before] + wait[before + 1]
    end[before + 1] = start[before + 1] + run[before + 1] + suspended[before + 1]
    number = job + np.cumsum(~again) - 1
    burst_of = burst.copy()
    burst_of[before + 1] = burst[before]
    place[before + 1] = place[before]
    return {
        "job": number, "burst": burst_of, "place": place, "user": user, "submit": submit,
        "start": start, "end": end, "run": run, "limit": limit, "nodes": nodes, "state": state,
        "never": never, "again": again, "suspended": suspended,
    }  # fmt: skip


def _texts(columns: dict[str, npt.NDArray[Any]], rng: np.random.Generator) -> pl.DataFrame:
    """Return the fields of these runs as sacct writes them."""
    frame = pl.DataFrame(columns)
    count = len(frame)
    first = rng.integers(1, NODES - 500, count)
    frame = frame.with_columns(
        pl.Series("first", first),
        pl.Series("kind", rng.integers(0, len(PARTITIONS), int(frame["burst"].max()) + 1))
        .gather(frame["burst"])
        .alias("kind"),
        pl.Series("split", rng.random(count) < 0.3),
        pl.Series("hop", rng.integers(2, 200, count)),
        pl.Series("chance", rng.random(count)),
    )
    # All runs of a job have one name.
    seed = (pl.col("job") * 2_654_435_761 % 1000).alias("hash")
    frame = frame.with_columns(seed).with_columns(
        pl.col("kind").replace_strict(dict(enumerate(PARTITIONS))).alias("partition"),
        pl.col("state").replace_strict(dict(enumerate(STATES))).alias("State"),
        (pl.col("first") + pl.col("nodes") - 1).alias("last"),
        (pl.col("nodes") * 32).alias("cpus"),
        _padded(pl.col("user"), 4).alias("number"),
    )
    never = pl.col("never")
    return frame.select(
        pl.col("job").alias("JobIDRaw"),
        pl.when(pl.col("burst") % 3 == 0)
        .then(pl.format("{}_{}", pl.col("job") - pl.col("place"), "place"))
        .otherwise(pl.col("job").cast(pl.String))
        .alias("JobID"),
        pl.lit("busy").alias("Cluster"),
        pl.format("user{}", "number").alias("User"),
        pl.format("acct{}", pl.col("user") % 90).alias("Account"),
        pl.col("partition").alias("Partition"),
        pl.when(pl.col("user") % 7 == 0).then(pl.lit("high")).otherwise(pl.lit("normal"))
        .alias("QOS"),
        "State",
        pl.when(pl.col("State") == "FAILED").then(pl.lit("1:0"))
        .when(pl.col("State") == "OUT_OF_MEMORY").then(pl.lit("0:125"))
        .otherwise(pl.lit("0:0")).alias("ExitCode"),
        pl.col("submit").alias("Submit"),
        pl.col("submit").alias("Eligible"),
        pl.when(never).then(pl.lit("None")).otherwise(pl.col("start").cast(pl.String))
        .alias("Start"),
        pl.col("end").alias("End"),
        pl.when(never).then(0).otherwise(pl.col("run")).alias("ElapsedRaw"),
        _clock(pl.col("suspended")).alias("Suspended"),
        (pl.col("limit") // 60).alias("TimelimitRaw"),
        pl.col("nodes").alias("NNodes"),
        pl.when(never).then(0).otherwise(pl.col("nodes")).alias("AllocNodes"),
        pl.col("nodes").alias("ReqNodes"),
        pl.when(never).then(0).otherwise(pl.col("cpus")).alias("AllocCPUS"),
        pl.when(never).then(pl.lit("")).otherwise(_tres()).alias("AllocTRES"),
        _tres().alias("ReqTRES"),
        pl.when(never).then(pl.lit("None assigned")).otherwise(_hosts()).alias("NodeList"),
        pl.when(pl.col("chance") < 0.3).then(pl.lit("Priority"))
        .when(pl.col("chance") < 0.5).then(pl.lit("Resources"))
        .otherwise(pl.lit("None")).alias("Reason"),
        pl.when(pl.col("State") == "NODE_FAIL")
        .then(pl.format("node{}", _padded(pl.col("first"), 4)))
        .otherwise(pl.lit("")).alias("FailedNode"),
        pl.col("again").cast(pl.Int64).alias("Restarts"),
        _name().alias("JobName"),
        pl.format("sbatch --time={} -N {}{} /home/user{}/jobs/{}.sh", pl.col("limit") // 60,
                  "nodes", _exclusion(), "number", pl.col("burst") % 40).alias("SubmitLine"),
    )  # fmt: skip


def _tres() -> pl.Expr:
    plain = pl.format(
        "billing={},cpu={},mem={}M,node={}", "cpus", "cpus", pl.col("nodes") * 4000, "nodes"
    )
    gpus = pl.format(
        "billing={},cpu={},gres/gpu:a100={},gres/gpu={},mem={}M,node={}", "cpus", "cpus",
        pl.col("nodes") * 4, pl.col("nodes") * 4, pl.col("nodes") * 8000, "nodes",
    )  # fmt: skip
    return pl.when(pl.col("partition") == "gpu").then(gpus).otherwise(plain)


def _hosts() -> pl.Expr:
    first, last = _padded(pl.col("first"), 4), _padded(pl.col("last"), 4)
    apart = _padded(pl.col("last") + pl.col("hop"), 4)
    one_less = _padded(pl.col("last") - 1, 4)
    return (
        pl.when(pl.col("nodes") == 1)
        .then(pl.format("node{}", first))
        .when(pl.col("split") & (pl.col("nodes") > 2))
        .then(pl.format("node[{}-{},{}]", first, one_less, apart))
        .otherwise(pl.format("node[{}-{}]", first, last))
    )


def _name() -> pl.Expr:
    word = (pl.col("hash") % len(NAMES)).replace_strict(dict(enumerate(NAMES)))
    return pl.when(pl.col("hash") < 300).then(pl.format("{}_{}", word, "job")).otherwise(word)


def _exclusion() -> pl.Expr:
    there = pl.format(" --exclude=node{}", _padded(pl.col("user") % 20 + 1, 4))
    return pl.when(pl.col("chance") > 0.99).then(there).otherwise(pl.lit(""))


def _padded(number: pl.Expr, width: int) -> pl.Expr:
    return number.cast(pl.String).str.zfill(width)


def _clock(seconds: pl.Expr) -> pl.Expr:
    parts = (seconds // 3600, seconds // 60 % 60, seconds % 60)
    return pl.format("{}:{}:{}", *(_padded(part, 2) for part in parts))


def _spoiled(raw: bytes, rng: np.random.Generator, counts: dict[str, int]) -> bytes:
    """Return the lines with about one in 500 spoiled."""
    lines = raw.split(b"\n")[:-1]
    where = np.flatnonzero(rng.random(len(lines)) < 0.002).tolist()
    name, start, end = (FIELDS.index(one) for one in ("JobName", "Start", "End"))
    for k in where:
        fields = lines[k].split(b"|")
        kind = ("bar", "newline", "step", "repeated", "header", "backwards", "encoding", "nul",
                "short")[int(rng.integers(0, 9))]  # fmt: skip
        if kind == "bar":
            fields[name] = b"left|right"
        elif kind == "newline":
            fields[name] = b"two\nlines"
        elif kind == "encoding":
            fields[name] = b"gr\xf6\xdfe"
        elif kind == "nul":
            fields[name] = b"a\0b"
        elif kind == "backwards" and fields[start].isdigit():
            fields[end] = str(int(fields[start]) - 100).encode()
        elif kind == "backwards":
            continue
        elif kind == "short":
            fields = fields[:9]
        counts[kind] = counts.get(kind, 0) + 1
        line = b"|".join(fields)
        if kind == "repeated":
            line += b"\n" + line
        elif kind == "header":
            line += b"\n" + "|".join(FIELDS).encode()
        elif kind == "step":
            line += b"\n" + b"|".join([fields[0] + b".batch", fields[1] + b".batch", *fields[2:]])
        lines[k] = line
    return b"\n".join(lines) + b"\n"


def main() -> None:
    """Write the file and say what is in it."""
    path, n = Path(sys.argv[1]), int(sys.argv[2])
    start = time.perf_counter()
    counts = write_rows(path, n, dirty="dirty" in sys.argv[3:])
    size = path.stat().st_size / 1e6
    print(f"{n:,} rows, {size:,.0f} MB in {time.perf_counter() - start:.1f} s: {counts}")


if __name__ == "__main__":
    main()
