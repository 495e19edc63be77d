"""Runs of every model with every option that adds files, and all that can be falsified in them."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from forestall.core.certify.finding import Certificate
from forestall.core.kit.output import MANIFEST, write_manifest
from forestall.core.model.errors import TraceError
from forestall.runs.certify import certify
from golden.play import call

INPUTS = (
    "traces generate jobs jobs.swf --nodes 16 --count 24 --load 0.9 --seed 3",
    "traces generate failures hot.csv --nodes 16 --days 3 --rate-per-year 60000 --repair constant"
    " --seed 2",
    "traces generate hosts hosts.parquet --hosts 3 --days 9 --period 10m --speeds speeds.csv",
    "traces generate guests guests.csv --count 12 --days 2 --lengths 2h,4h",
)
PROMISE = "simulate jobs.swf --nodes 16 --failures hot.csv --from 0 --downtime 20m"
SHARED = "simulate asking.csv --machine machine.toml --failures hot8.csv --from 0 --downtime 20m"
SAVING = "--checkpoint periodic --checkpoint-interval 10m --checkpoint-overhead 20"
VIRTUAL = (
    "simulate jobs.swf --model virtual --nodes 8 --processors-per-node 2 --failures hot8.csv"
    " --from 0 --downtime 20m"
)
CYCLE = (
    "simulate guests.csv --model cycle --hosts hosts.parquet --host-speeds speeds.csv --warm-up 7d"
    " --predict-every 6h --horizon 4h --predict-step 10m"
)
RUNS = {
    "promise": f"{PROMISE} --risk 0.5 --log-events",
    "promise-quiet": f"{PROMISE} --risk 0.5 {SAVING}",
    "promise-near": f"{PROMISE} --risk 0.4 {SAVING} --topology 4 --spares 2 --log-events",
    "promise-vault": f"{PROMISE} {SAVING} --vault 'layout=code data=3 parity=2 size=2GiB'"
    " --log-events",
    "promise-users": f"{PROMISE} --users 'least=0.5:0.99 patience=0:10 value=1 rounds=4'"
    " --log-events",
    "promise-planned": f"{PROMISE.replace('--from 0', '--from 90000')} --predictor rate"
    " --maintenance '1d2h/1d3h 0-3; 1d4h/1d5h' --train hot.csv --train-days 1 --log-events",
    "promise-easy": f"{PROMISE} --policy easy --placement fault-aware --checkpoint risk"
    " --log-events",
    "promise-fcfs": f"{PROMISE} --policy fcfs {SAVING}",
    "promise-shared": f"{SHARED} --policy easy --estimates requested {SAVING}",
    "promise-shared-quoted": f"{SHARED} --accuracy 0.8 --risk 0.6",
    "promise-shared-fcfs": f"{SHARED} --policy fcfs --placement gradient",
    "virtual": f"{VIRTUAL} --strategy best-fit --log-events",
    "virtual-quiet": f"{VIRTUAL} --strategy first-fit --prediction-accuracy 0.6",
    "virtual-checkpoint": f"{VIRTUAL} --strategy first-fit {SAVING} --backfill --log-events"
    " --migration pre-copy --vm-memory 2000 --dirty-rate 20 --max-downtime 0.5",
    "virtual-overload": f"{VIRTUAL} --strategy random --overload-limit 0.6 --overload-hold 1m"
    " --task-processors 0.6 --past-deadline run --log-events",
    "virtual-asked": f"{VIRTUAL.replace('--from 0', '--from 90000')} --strategy best-fit"
    " --predictor rate --train hot8.csv --train-days 1 --predict-every 2h --log-events",
    "cycle-falcon": f"{CYCLE} --scheduler falcon --restart checkpoint --log-events",
    "cycle-condor": f"{CYCLE} --scheduler condor --restart scratch --log-events",
    "cycle-omniscient": f"{CYCLE} --scheduler omniscient --restart checkpoint",
    "cycle-moves": f"{CYCLE} --scheduler falcon --restart checkpoint --move-below 0.97"
    " --no-checkpoint-at-end --checkpoint-overhead 1m --log-events",
    "cycle-vault": f"{CYCLE} --restart checkpoint --checkpoint-interval 20m"
    " --vault 'layout=code data=1 parity=1 size=100MB' --log-events",
}
MACHINE = """
[[nodes]]
name = "c[1-5]"
cores = 16
memory = "64G"

[[nodes]]
name = "g[1-3]"
cores = 32
memory = "128G"
gpus = 4
gpu_type = "a100"
features = ["fast"]
"""
LARGE = 100_000
"""A number made wrong by much is off by so many units."""


def prepare(folder: Path) -> None:
    """Make the inputs of all runs, in the working folder."""
    for line in INPUTS:
        assert call(shlex.split(line)).code == 0, line
    rows = (folder / "hot.csv").read_text().splitlines()
    kept = [row for row in rows[1:] if int(row.split(",")[1]) < 8]
    (folder / "hot8.csv").write_text("\n".join([rows[0], *kept]) + "\n")
    (folder / "machine.toml").write_text(MACHINE)
    (folder / "asking.csv").write_text("\n".join(_asking()) + "\n")


def _asking() -> Iterator[str]:
    """Yield rows of jobs that ask for parts of nodes, tasks that are spread, and whole nodes."""
    rng = Random(3)
    yield "job,submit,size,runtime,estimate,cores,memory,gpus,gpu_type,features,tasks,exclusive"
    for job in range(1, 33):
        runtime, gpus = rng.randrange(60, 5000), rng.choice((0, 0, 1, 2))
        what = f"{rng.choice((1, 4, 8))},{rng.choice((1024, 16384))},{gpus}"
        limits = f"{'a100' if gpus > 1 else ''},{'fast' if job % 9 == 0 else ''}"
        spread = "0,1" if job % 11 == 0 else "6,0" if job % 5 == 0 else "0,0"
        size = 1 if spread == "6,0" else rng.choice((1, 1, 2))
        yield f"{job},{job * 200},{size},{runtime},{2 * runtime},{what},{limits},{spread}"


def make(name: str, folder: Path) -> Path:
    """Make a run in the working folder, whose inputs are in `folder`."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        said = call([*shlex.split(RUNS[name]), "--out", name, "--quiet", "--force"])
    finally:
        os.chdir(before)
    assert said.code == 0, said.err
    return folder / name


class Lie(NamedTuple):
    """One change to a file: of which column or key, how, and what the file then holds (None: it is
    gone). A row as a whole is the field ``*``."""

    file: str
    field: str
    how: str
    made: bytes | None

    def __str__(self) -> str:
        return f"{self.file} {self.field} {self.how}"


def lies(folder: Path, seed: int = 0) -> Iterator[Lie]:
    """Yield every lie: each field once by a little and once by much, each key and some row taken
    away, a row doubled, two exchanged, and each file gone."""
    for path in sorted(folder.iterdir()):
        if path.name == MANIFEST:
            continue
        rng = Random(f"{seed} {folder.name} {path.name}")
        yield Lie(path.name, "*", "gone", None)
        if path.suffix == ".csv":
            yield from _of_table(path, rng)
        elif path.suffix == ".json":
            yield from _of_json(path)
        else:
            data = bytearray(path.read_bytes())
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            yield Lie(path.name, "*", "a bit flipped", bytes(data))


def tell(folder: Path, lie: Lie, *, renew: bool) -> Certificate | None:
    """Tell a lie, with or without a new manifest; return the certificate, None of a refusal. The
    folder is as it was before when this returns."""
    path = folder / lie.file
    old, manifest = path.read_bytes(), (folder / MANIFEST).read_bytes()
    if lie.made is None:
        path.unlink()
    else:
        path.write_bytes(lie.made)
    if renew:
        write_manifest(folder)
    try:
        return certify(folder)
    except TraceError:
        return None
    finally:
        path.write_bytes(old)
        (folder / MANIFEST).write_bytes(manifest)


def fates(folder: Path, told: list[Lie]) -> dict[str, list[str]]:
    """Return the lies that are ``found``, that are only ``listed`` as what cannot be checked, and
    that ``escaped`` both."""
    honest = certify(folder)
    assert honest.passed, str(honest)
    known: dict[str, list[str]] = {"found": [], "listed": [], "escaped": []}
    for lie in told:
        certificate = tell(folder, lie, renew=True)
        if certificate is None or not certificate.passed:
            known["found"].append(str(lie))
            continue
        listed = any(one.covers(lie.file, lie.field) for one in honest.unchecked)
        known["listed" if listed else "escaped"].append(str(lie))
    return known


def _of_table(path: Path, rng: Random) -> Iterator[Lie]:
    header, *rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    if not rows:
        yield Lie(path.name, "*", "a row more", _table(header, [["0"] * len(header)]))
        return

    def changed(row: int, column: int, cell: str) -> bytes:
        new = [*rows[row]]
        new[column] = cell
        return _table(header, [*rows[:row], new, *rows[row + 1 :]])

    for column, name in enumerate(header):
        full = [k for k, row in enumerate(rows) if row[column] != ""]
        if full:
            row = rng.choice(full)
            for how, cell in _others(rows[row][column], rng, [one[column] for one in rows]):
                yield Lie(path.name, name, f"{how} in row {row}", changed(row, column, cell))
        gone = [k for k, row in enumerate(rows) if row[column] == ""]
        if gone and full:
            row = rng.choice(gone)
            cell = rows[rng.choice(full)][column]
            yield Lie(path.name, name, f"told in row {row}", changed(row, column, cell))
    row = rng.randrange(len(rows))
    yield Lie(path.name, "*", f"row {row} gone", _table(header, rows[:row] + rows[row + 1 :]))
    yield Lie(path.name, "*", f"row {row} twice", _table(header, [*rows[: row + 1], *rows[row:]]))
    other = rng.randrange(len(rows))
    if rows[row] != rows[other]:
        new = [*rows]
        new[row], new[other] = rows[other], rows[row]
        yield Lie(path.name, "*", f"rows {row} and {other} exchanged", _table(header, new))


def _others(cell: str, rng: Random, column: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what else could stand in a cell: how it differs, and the cell."""
    yield "emptied", ""
    try:
        number = float(cell)
    except ValueError:
        words = sorted({one for one in column if one not in ("", cell)})
        yield "another word", rng.choice(words) if words else f"{cell}x"
        return
    if "." in cell or "e" in cell:
        yield "by a little", repr(_near(number))
        yield "by much", repr(number / 2 if 0 < number <= 1 else number + LARGE)
    else:
        yield "by a little", str(int(number) + 1)
        yield "less by a little", str(int(number) - 1)
        yield "by much", str(int(number) + LARGE)


def _near(number: float) -> float:
    return number * 0.999 if number else 0.001


def _table(header: list[str], rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().encode()


def _of_json(path: Path) -> Iterator[Lie]:
    whole = json.loads(path.read_text(encoding="utf-8"))

    def made(change: Callable[[Any], Any], keys: tuple[Any, ...]) -> bytes:
        copy = json.loads(json.dumps(whole))
        inner = copy
        for key in keys[:-1]:
            inner = inner[key]
        change(inner)
        return (json.dumps(copy, indent=2) + "\n").encode()

    for keys, value in _leaves(whole, ()):
        name, last = ".".join(map(str, keys)), keys[-1]
        yield Lie(path.name, name, "gone", made(lambda one, k=last: one.pop(k), keys))  # type: ignore[misc]
        if isinstance(value, dict | list):
            continue
        for how, other in _values(value):
            changed = made(lambda one, k=last, new=other: one.__setitem__(k, new), keys)  # type: ignore[misc]
            yield Lie(path.name, name, how, changed)


def _leaves(value: Any, keys: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if keys:
        yield keys, value
    parts = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else parts:
        yield from _leaves(one, (*keys, key))


def _values(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield "otherwise", not value
    elif isinstance(value, int):
        yield "by a little", value + 1
        yield "by much", value + LARGE
    elif isinstance(value, float):
        yield "by a little", _near(value)
        yield "by much", value / 2 if 0 < value <= 1 else value + LARGE
    elif value is None:
        yield "told", 1
    else:
        yield "another word", f"{value}x"
