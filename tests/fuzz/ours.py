"""Files that forestall wrote and reads again, with good examples that its own commands make."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final

from forestall.core.processes.files import GuestFiles, StayRecord
from forestall.core.processes.usage import GuestProcesses
from forestall.sharing.agent.guests import register_guest
from fuzz.formats import Format, by_name
from fuzz.hostile import Draw
from fuzz.logs import LOGS
from fuzz.mutate import Mutator, bytes_of_any, lines, nested, table, toml
from fuzz.packed import archive, parquet
from live.replays.ledgers import written

AUDITED: Final = (0, 1, 2)
"""Exit codes of what checks: 1 where a check failed."""
PREDICTORS: Final = {
    "constant": "", "rate": "", "recency": "", "periodic": "", "renewal": "", "semi-markov": "",
    "last": "", "bm": "", "ma": "", "ar": "", "arma": "", "rules": "", "boosted": "",
    "neural": "", "outlier": "--metrics metrics.csv", "joined": "--metrics metrics.csv",
    "stacked": "",
}  # fmt: skip
"""Predictors, and what they need to be trained besides failures."""
SMALL: Final = {
    "boosted": "--set trees=4 --set leaves=4",
    "arma": "--set order=2",
    "neural": "--set units=3",
}
ASKED: Final = (
    "predict ask {file} --json",
    "predict ask {file} --since since.csv --json",
    "simulate jobs.csv --nodes 16 --failures later.csv --predictor {file} --json",
)
_MACHINE: Final = "--nodes 16 --failures later.csv"
RUNS: Final = {
    "trace": _MACHINE,
    "hazard": f"{_MACHINE} --predictor hazard --train failures.csv",
    "learned": f"{_MACHINE} --predictor rate --train failures.csv",
    "easy": f"{_MACHINE} --policy easy",
    "virtual": f"{_MACHINE} --model virtual",
    "cycle": "--model cycle --hosts hosts.csv --warm-up 1d",
}
MADE: Final = {"cycle": ("traces generate hosts hosts.csv --hosts 3 --days 3 --period 10m",)}
AUDITS: Final = (
    "replay run", "replay run --json", "certify run", "certify run --json", "compare run run",
    "compare run run --json",
)  # fmt: skip
SWEEP: Final = f"sweep jobs.csv {_MACHINE} --risk 0.1,0.9 --workers 1 --out sweep -q"
SETTINGS: Final = """[serve]
ledger = "sqlite:///ledger.db"
operators = ["ops"]
[guard]
floor_percent = 20
[slurm]
via = "commands"
"""
STORES: Final = "--store a --store b --store c"


def by_suffix(draw: Draw, data: bytes) -> bytes:
    """Damage a file of a folder by what it seems to be."""
    return _mutator(data)(draw, data)


def _mutator(data: bytes) -> Mutator:
    if data.startswith(b"PK"):
        return archive
    if data.startswith(b"PAR1"):
        return parquet
    if data.startswith(b"SQLite"):
        return database
    if data[:1] in (b"{", b"["):
        return nested
    first = data.partition(b"\n")[0]
    return table if b"," in first else bytes_of_any if b"\0" in data else lines


def database(draw: Draw, data: bytes) -> bytes:
    """Damage a database of SQLite: its bytes, or a cell of it."""
    if draw.chance(0.3):
        return bytes_of_any(draw, data)
    with closing(sqlite3.connect(":memory:")) as base:
        try:
            base.deserialize(data[:18] + b"\1\1" + data[20:])  # none in memory has a journal beside
            names = [name for (name,) in base.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            )]  # fmt: skip
            name = draw.pick([name for name in names if _rows(base, name)])
            row = draw.pick(_rows(base, name))
            columns = [one[1] for one in base.execute(f"PRAGMA table_info({name})")]
            at = draw.below(len(columns))
            base.execute("PRAGMA ignore_check_constraints = 1")
            guards = base.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = guards.fetchall()
            for trigger, _ in triggers:  # they would keep rows from being changed
                base.execute(f"DROP TRIGGER {trigger}")
            base.execute(
                f"UPDATE {name} SET {columns[at]} = ? WHERE rowid = ?",
                (_cell(draw, row[at + 1]), row[0]),
            )
            for _, made in triggers:
                base.execute(made)
            base.commit()
            whole = base.serialize()
        except (sqlite3.Error, OverflowError, UnicodeError, IndexError, MemoryError):
            return bytes_of_any(draw, data)  # damaged already; an empty one is told as no memory
    return whole[:18] + data[18:20] + whole[20:]


def _rows(base: sqlite3.Connection, name: str) -> list[tuple[Any, ...]]:
    return base.execute(f"SELECT rowid, * FROM {name}").fetchall()


def _cell(draw: Draw, old: Any) -> Any:
    if isinstance(old, str) and old[:1] in ("{", "[") and draw.chance(0.8):
        return nested(draw, old.encode()).decode("utf-8", "replace")
    if isinstance(old, int | float) and draw.chance(0.7):
        return draw.pick((-1, 0, 1, 2**31, 2**62, -(2**62), 1e308, 0.5, old + 1))
    return draw.pick((None, b"\xff", "", "x" * 5000, -1, 2**62, "nan", "\x1b[31m", "a\nb"))


def _logs(folder: Path) -> None:
    """Write jobs, failures before them and during them, and metrics."""
    by_name(LOGS)["jobs"].make(folder)
    rng, head = Random("ours"), "time,node,downtime,detectability"

    def failed(begin: int, step: int, count: int) -> list[str]:
        times = sorted(begin + rng.randrange(step * count) for _ in range(count))
        return [head] + [
            f"{time},{int(16 * rng.random() ** 2)},{rng.randrange(100, 4000)},{rng.random():.3f}"
            for time in times
        ]

    samples = [
        f"{time},{node},{0.2 + 0.6 * rng.random():.3f},{rng.random():.3f}"
        for time in range(160 * 86_400, 200 * 86_400, 6 * 3600)
        for node in range(16)
    ]
    for name, some in (
        ("failures.csv", failed(0, 43_200, 400)),
        ("later.csv", failed(0, 2_000, 10)),
        ("since.csv", failed(401 * 43_200, 2_000, 10)),
        ("metrics.csv", ["time,node,cpu,memory_free", *samples]),
    ):
        (folder / name).write_text("\n".join(some) + "\n")


def _ledger(folder: Path) -> None:
    _logs(folder)
    written(folder / "ledger.db")


def _settings(folder: Path) -> None:
    _ledger(folder)
    (folder / "serve.toml").write_text(SETTINGS)


def _host(folder: Path) -> None:
    """Write what an agent, a calibration and a guest leave in a folder."""
    here = folder / "here"
    here.mkdir()
    status = {
        "time": 1.8e9, "period": 6.0, "state": "S1", "since": 1.79e9, "started": 1.79e9,
        "pid": 7, "cpu": 0.1, "guest_cpu": 0.0, "memory_free": 0.5, "th1": 0.2, "th2": 0.6,
        "hold": 60.0, "guest_memory": 0.0, "reliability": {"1h": 0.9}, "mttf": 7200.0,
        "learnt_days": 3, "samples": 100, "host": "n1", "speed": 1.0,
    }  # fmt: skip
    calibration = {"th1": 0.1, "th2": 0.5, "steps": [[0.1, 5], [0.2, 12]]}
    for name, told in (("status.json", status), ("calibration.json", calibration)):
        (here / name).write_text(json.dumps(told))
    guest = GuestFiles(here, "one")
    guest.make()
    guest.write(StayRecord(name="one", id="one-1", command=["true"], cwd="/", why="begun"))
    guest.log("ended", "it was told to", code=0)
    register_guest(here, "other", GuestProcesses(7, 1.0, None, 7))


def _trained(name: str, more: str) -> Format:
    line = f"predict train {name} failures.csv {more} {SMALL.get(name, '')} --out it.predictor -q"
    made = (" ".join(line.split()),)
    return Format(f"predictor-{name}", _logs, ("it.predictor",), archive, ASKED, made=made)


def _run(name: str, options: str) -> Format:
    line = f"simulate jobs.csv {options} --log-events --out run --no-report -q"
    return Format(
        f"run-{name}", _logs, ("run/*",), by_suffix, AUDITS, made=(*MADE.get(name, ()), line),
        codes=AUDITED,
    )  # fmt: skip


OURS: Final = (
    *(_trained(name, more) for name, more in PREDICTORS.items()),
    *(_run(name, options) for name, options in RUNS.items()),
    Format("sweep", _logs, ("sweep/*",), by_suffix, (SWEEP,), made=(SWEEP,), writes=True),
    Format("checkpoint", _logs, ("a/**/*", "b/**/*", "c/**/*"), by_suffix,
           tuple(f"checkpoint {one} {STORES}" for one in (
               "list", "list --json", "verify", "restore latest --to again", "stat --json",
               "repair", "gc", "save jobs.csv --data 2 --parity 1 -q")),
           made=(f"checkpoint save jobs.csv failures.csv {STORES} --data 2 --parity 1 -q --init",),
           codes=(0, 1, 2, 3), writes=True),
    Format("ledger", _ledger, ("ledger.db",), database,
           ("replay ledger.db", "replay ledger.db --json --predictor none",
            "doctor --ledger sqlite:///ledger.db --json"), codes=(0, 1, 2, 3)),
    Format("serve-tokens", _logs, ("ledger.db.tokens",), nested,
           ("serve token list --ledger sqlite:///ledger.db",), made=(
           "serve token add a --ledger sqlite:///ledger.db",)),
    Format("serve-settings", _settings, ("serve.toml",), toml,
           ("doctor --settings serve.toml --json", "replay ledger.db --guard serve.toml"),
           codes=(0, 1, 2, 3)),
    Format("agent", _host, ("here/status.json", "here/calibration.json"), nested,
           ("agent status --folder here", "agent status --folder here --json",
            "agent ad --folder here", "agent unit --folder here"), codes=(0, 1, 2)),
    Format("guest", _host, ("here/guests/**/*",), by_suffix,
           ("guest list --folder here", "guest list --folder here --json",
            "guest log one --folder here"), codes=(0, 1, 2)),
)  # fmt: skip
