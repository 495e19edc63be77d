"""The rows: commands that write, each on a tiny input, with what it writes.

In words, IN is the folder of inputs and T the folder that is written to; a command that replaces
something is run before with the words of `old`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.commands.calls import failure_log, job_log
from faults.moments import held_in
from sharing.report.cycle_small import QUICK, guests_file, hosts_file

RECORDED = Path(__file__).parents[1] / "slurm" / "recorded" / "22.05"
SLURM = [str(RECORDED / name) for name in ("sacct.jobs.txt", "sacctmgr.event.txt")]
SITE = ("--zone", "UTC", "-q")
CYCLE = ("--model", "cycle", "--scheduler", "condor", *QUICK, "--hosts", "IN/hosts.csv")
CLUSTER = """\
[[groups]]
name = "blade"
count = 516
mttf = "102840h"
[[queues]]
name = "Huge"
nodes = 258
limit = "2-00:00:00"
slots = 2
[checkpoint]
cost = "15m"
"""


def _all(folder: Path) -> Any:
    return held_in(folder)


def _tokens(folder: Path) -> Any:
    """Return names in a file of tokens, which are drawn anew each time."""
    path = folder / "tokens"
    told = json.loads(path.read_text()) if path.exists() else {"tokens": []}
    return sorted(one["name"] for one in told["tokens"])


def _sweep(folder: Path) -> Any:
    """Return the files of a sweep; of one that is not finished none but its points."""
    whole = (folder / "sweep" / "sweep.json").exists()
    return held_in(folder / "sweep") if whole else {}


def _restored(folder: Path) -> Any:
    """Return what was restored: what is in the making stands beside, and is gone on with."""
    return held_in(folder / "again")


def _manual(folder: Path) -> Any:
    """Return the manual, whose first page is written last."""
    return held_in(folder / "man") if (folder / "man" / "forestall.1").exists() else {}


def fleet(folder: Path) -> None:
    """Write the file of a fleet of two nodes."""
    (folder / "fleet.toml").write_text("[nodes]\na = 4\nb = 4\n")


def _foreseen(folder: Path) -> Any:
    """Return the lines of what is foreseen, of which the last of a node counts."""
    return {line for data in held_in(folder).values() for line in data.splitlines()}


def _keys(folder: Path) -> Any:
    return {name: len(data) for name, data in held_in(folder).items()}


@dataclass(frozen=True)
class Row:
    """A command that writes.

    Attributes
    ----------
    words : how it is called
    old : how it is called before, to make what it replaces; empty: it makes something new
    target : what it writes below T, a file or a folder
    seen : what of the files below T a reader goes by
    again : whether it may be called again on what it wrote
    prints : whether it prints something, and whether on standard error
    unfinished : whether what was there may be given up, and that is seen, before the new is there
    given : writes what stands in T before
    adds : whether it adds to a file, which may be so though it could not be made sure of
    """

    words: str
    old: str = ""
    target: str = ""
    seen: Callable[[Path], Any] = _all
    again: bool = True
    prints: bool = True
    told: bool = False
    unfinished: bool = False
    given: Callable[[Path], object] = lambda _: None
    adds: bool = False


ROWS: Mapping[str, Row] = {
    "generate jobs": Row(
        "traces generate jobs T/j.swf --nodes 8 --days 1 --seed 2",
        "traces generate jobs T/j.swf --nodes 8 --days 1", "j.swf",
    ),
    "generate failures": Row(
        "traces generate failures T/f.csv.gz --nodes 8 --days 99 --seed 2",
        "traces generate failures T/f.csv.gz --nodes 8 --days 99", "f.csv.gz",
    ),
    "generate hosts": Row(
        "traces generate hosts T/h.parquet --hosts 2 --days 2 --seed 2",
        "traces generate hosts T/h.parquet --hosts 2 --days 2", "h.parquet",
    ),
    "generate guests": Row("traces generate guests T/g.csv --count 30", "", "g.csv"),
    "generate ras": Row("traces generate ras T/e.csv --nodes 8 --days 9", "", "e.csv"),
    "generate memory": Row(
        "traces generate memory T/m --nodes 8 --days 2 --seed 2",
        "traces generate memory T/m --nodes 8 --days 2", "m",
    ),
    "convert": Row("traces convert IN/jobs.csv T/j.parquet", "", "j.parquet"),
    "filter": Row("traces filter IN/events.csv --out T/f.csv", "", "f.csv"),
    "import": Row(
        f"import slurm {SLURM[0]} --out T/site {' '.join(SITE)}",
        f"import slurm {' '.join(SLURM)} --out T/site {' '.join(SITE)}", "site",
    ),
    "report": Row(f"report {SLURM[0]} --zone UTC --out T/r.html", "", "r.html"),
    "job": Row(f"job 4 {SLURM[0]} --zone UTC --out T/j.html", "", "j.html"),
    "lemons": Row("lemons IN/failures.csv --openmetrics T/l.prom", "", "l.prom"),
    "simulate": Row(
        f"simulate IN/guests.csv {' '.join(CYCLE)} --out T/run --seed 2",
        f"simulate IN/guests.csv {' '.join(CYCLE)} --out T/run", "run",
    ),
    "sweep": Row(
        f"sweep IN/guests.csv {' '.join(CYCLE)} --seed 2:3 --workers 1 --out T/sweep --force -q",
        f"sweep IN/guests.csv {' '.join(CYCLE)} --seed 1:2 --workers 1 --out T/sweep -q", "sweep",
        _sweep, prints=False, unfinished=True,
    ),
    "compare": Row("compare IN/run IN/run --out T/c.html", "", "c.html"),
    "design": Row("design IN/cluster.toml --out T/d --force", "", "d"),
    "train": Row("predict train rate IN/failures.csv --out T/p.forecast", "", "p.forecast"),
    "trial": Row(
        "assess plan-trial IN/m/jobs.csv --effect 0.5 --seed 2 --out T/plan",
        "assess plan-trial IN/m/jobs.csv --effect 0.5 --out T/plan", "plan",
    ),
    "man": Row("man --out T/man", "", "man", _manual, unfinished=True),
    "checkpoint key": Row(
        "checkpoint key T/key", "", "key", _keys, again=False, prints=False, told=True,
    ),
    "checkpoint restore": Row(
        "checkpoint restore latest --store IN/a --store IN/b --store IN/c --to T/again", "",
        "again", _restored, again=False,
    ),
    "serve token": Row(
        "serve token add ann --tokens T/tokens --ledger sqlite:///T/l.db",
        "serve token add bob --tokens T/tokens --ledger sqlite:///T/l.db", "tokens", _tokens,
        again=False,
    ),
    "storage token": Row(
        "storage token add ann T/stored --tokens T/tokens", "storage token add bob T/stored"
        " --tokens T/tokens", "tokens", _tokens, again=False,
    ),
    "machines foresee": Row(
        "machines foresee a --fleet T/ --at 2030-01-01T00:00:00", "", "predictions.csv", _foreseen,
        given=fleet, adds=True,
    ),
    "serve files": Row("serve files --dir T/etc", "", "etc", again=False),
}  # fmt: skip


LIKE: Mapping[str, str] = {
    "backtest promises": "trial", "backtest waits": "trial", "futures": "trial",
    "demo": "simulate", "replay": "trial", "reliability": "trial", "calibrate": "trial",
    "assess scores": "trial", "assess alarms": "trial", "assess jobs": "trial",
    "assess policies": "trial", "assess trial": "trial", "assess predictors": "trial",
    "assess collection": "trial",
}  # fmt: skip
"""Commands that write through the same functions as a row does."""


def write_inputs(folder: Path, call: Callable[[str], object]) -> None:
    """Write the inputs of all rows; `call` runs a command that makes one of them."""
    job_log(folder / "jobs.csv", 20)
    failure_log(folder / "failures.csv", 60)
    guests_file(folder / "guests.csv", 8, 2)
    hosts_file(folder / "hosts.csv", 2, 9)
    (folder / "cluster.toml").write_text(CLUSTER)
    call("traces generate memory IN/m --nodes 40 --days 20 --period 1h")
    call("traces generate ras IN/events.csv --nodes 8 --days 9")
    call(f"simulate IN/guests.csv {' '.join(CYCLE)} --out IN/run")
    call(
        "checkpoint save IN/jobs.csv --store IN/a --store IN/b --store IN/c --data 2 --parity 1"
        " --init"
    )
