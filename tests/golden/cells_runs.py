"""Cells of runs: every model under everything that it can be run with, checked and replayed."""

from __future__ import annotations

from collections.abc import Iterator

from golden.play import Cell

AT = "../inputs"
PROMISE = f"simulate {AT}/jobs.swf --nodes 16 --failures {AT}/failures.csv --from 8640000"
VIRTUAL = (
    f"simulate {AT}/jobs.swf --model virtual --nodes 8 --processors-per-node 2"
    f" --failures {AT}/hot.csv --from 1296000 --downtime 20m"
)
CYCLE = (
    f"simulate {AT}/guests.csv --model cycle --hosts {AT}/hosts.parquet --host-speeds"
    f" {AT}/speeds.csv --warm-up 9d --predict-every 6h --horizon 6h --predict-step 5m"
)

PREDICTORS = {
    "trace": "",
    "blind": "--accuracy 0",
    "perfect": "--accuracy 1",
}
LEARNERS = (
    "hazard", "constant", "rate", "recency", "periodic", "semi-markov", "last", "bm", "ma", "ar",
    "arma", "neural", "rules", "joined", "boosted", "stacked",
)  # fmt: skip
"""Those that learn from failures alone; `renewal` is asked by its file."""
POLICIES = ("fcfs", "easy", "conservative")
"""Those that promise nothing."""


def run(name: str, command: str, *, page: bool = False) -> Cell:
    """Return the cell of a run: all its files, its certificate and its replay."""
    written = f"{command} --out run --log-events{'' if page else ' --no-report'}"
    return Cell(name, (written, "certify run", "replay run"))


def _promise() -> Iterator[Cell]:
    for policy in ("promise", *POLICIES):
        asks = "" if policy == "promise" else " --placement fault-aware --checkpoint risk"
        for name, options in PREDICTORS.items():
            line = f"{PROMISE} --policy {policy}{asks} {options}"
            yield run(f"promise-{policy}-{name}", line, page=name == "trace")
    line = PROMISE.replace("jobs.swf", "few.csv") + " --risk 0.3 --predictor"
    for name in LEARNERS[:-1]:  # `stacked` would take as long as all others together
        told = f"{line} {name} --train {AT}/failures.csv --train-days 60"
        yield run(f"promise-promise-{name}", told, page=name == "rate")
    yield run("promise-promise-file", f"{line} {AT}/renewal.predictor")
    for policy in POLICIES:
        yield run(f"promise-{policy}-plain", f"{PROMISE} --policy {policy}")
        options = "--estimates requested --requeue original --checkpoint periodic"
        yield run(f"promise-{policy}-requested", f"{PROMISE} --policy {policy} {options}")
        options = "--estimates requested --overrun extend --checkpoint daly --no-compression"
        yield run(f"promise-{policy}-extend", f"{PROMISE} --policy {policy} {options}")
    for name, options in {
        "risk-0": "--risk 0",
        "risk-1": "--risk 1 --seed 7",
        "first": "--placement first --risk 0.5",
        "periodic": "--checkpoint periodic --checkpoint-interval 30m --checkpoint-overhead 2m",
        "daly": "--checkpoint daly --mtbf 5d",
        "no-checkpoint": "--checkpoint none --risk 0.2",
        "downtime-log": "--downtime log --repeat-failures --days 5",
        "downtime": "--downtime 1h --min-runtime 10m",
        "requested": "--estimates requested",
        "window": "--jobs 11:60 --days 3 --fold-nodes 2 --gantt 0:1d",
    }.items():
        yield run(f"promise-{name}", f"{PROMISE} {options}", page=name == "window")
    yield run("promise-no-failures", f"simulate {AT}/few.csv --nodes 16", page=True)


def _virtual() -> Iterator[Cell]:
    for strategy in ("random", "first-fit", "best-fit", "omniscient"):
        line = f"{VIRTUAL} --strategy {strategy}"
        yield run(f"virtual-{strategy}-synthetic", line, page=True)
        if strategy == "omniscient":
            continue
        yield run(f"virtual-{strategy}-perfect", f"{line} --prediction-accuracy 1")
        yield run(f"virtual-{strategy}-blind", f"{line} --false-negatives 1")
    line = f"{VIRTUAL} --predict-every 2h --predictor"
    for name in LEARNERS:
        told = f"{line} {name} --train {AT}/hot.csv"
        yield run(f"virtual-best-fit-{name}", told, page=name == "rate")
    yield run("virtual-best-fit-file", f"{line} {AT}/hot.predictor --strategy first-fit")
    for name, options in {
        "dynamic": "--alpha dynamic --slack 3 --downtime log",
        "two-sided": "--prediction-error two-sided --lead 5m",
        "no-migration": "--migration none --alpha 1",
        "pre-copy": "--migration pre-copy --vm-memory 2000 --dirty-rate 20 --max-downtime 0.5",
        "past-deadline": "--past-deadline run --repeat-failures",
        "checkpoint": "--checkpoint periodic --checkpoint-interval 20m --checkpoint-overhead 1m",
        "backfill": "--backfill --strategy random --random-stays",
        "shares": "--task-processors 0.5 --least-rate 0.25",
    }.items():
        yield run(f"virtual-{name}", f"{VIRTUAL} {options}")


def _cycle() -> Iterator[Cell]:
    for scheduler in ("falcon", "condor", "omniscient"):
        for restart in ("scratch", "checkpoint"):
            line = f"{CYCLE} --scheduler {scheduler} --restart {restart}"
            yield run(f"cycle-{scheduler}-{restart}", line, page=restart == "checkpoint")
    for name, options in {
        "speed": "--scheduler condor --rank speed --seed 5",
        "unpooled": "--pooling none --load-memory 0 --history 5",
        "slides": "--scheduler falcon-slides",
        "no-end": "--restart checkpoint --no-checkpoint-at-end --checkpoint-interval 20m"
        " --checkpoint-overhead 30 --restart-overhead 1m",
        "stop": "--spikes stop --th1 0.3 --th2 0.5 --hold 0 --guest-memory 0.2",
        "length": "--job-length 5h --retries 3 --retry 20m --checkpoint-interval none",
    }.items():
        yield run(f"cycle-{name}", f"{CYCLE} {options}")
    line = (
        f"simulate {AT}/guests.csv --model cycle --failures {AT}/failures.csv --days 40"
        " --warm-up 20d --predict-every 6h --horizon 6h --predict-step 5m"
    )
    yield run("cycle-of-failures", line)


LIES = {
    "promise": (
        ("jobs.csv", ("start", "finish", "deadline", "promise", "lost", "restarts")),
        ("runs.csv", ("start", "end", "checkpoints")),
        ("failures.csv", ("time", "node", "lost")),
        ("events.csv", ("time", "node")),
        ("decisions.csv", ("start", "deadline")),
    ),
    "virtual": (
        ("jobs.csv", ("finish", "deadline", "tasks_completed", "migrations")),
        ("tasks.csv", ("node", "end", "rate", "done")),
        ("runs.csv", ("node", "start", "end", "work")),
        ("migrations.csv", ("time", "target", "end")),
        ("failures.csv", ("time", "tasks")),
        ("events.csv", ("time", "node")),
        ("decisions.csv", ("node", "deadline")),
    ),
    "cycle": (
        ("jobs.csv", ("submit", "finish", "makespan", "tries", "lost")),
        ("stays.csv", ("host", "start", "end", "work", "chance")),
        ("availability.csv", ("start", "work")),
        ("hosts.csv", ("speed", "guests", "useful")),
        ("candidates.csv", ("jct", "chance")),
        ("events.csv", ("time", "host")),
        ("decisions.csv", ("host", "jctf")),
    ),
}
"""Files and columns of a run in which one number is made wrong, one at a time."""


def _lies() -> Iterator[Cell]:
    made = {
        "promise": f"{PROMISE} --risk 0.5",
        "virtual": f"{VIRTUAL} --strategy first-fit",
        "cycle": f"{CYCLE} --restart checkpoint",
    }
    for model, files in LIES.items():
        first = f"{made[model]} --out run --log-events --no-report"
        for file, columns in files:
            steps = [first]
            for column in columns:
                steps += [
                    f"@copy run {column}",
                    f"@falsify {column}/{file} {column}",
                    f"certify {column}",
                ]
                if file in ("events.csv", "decisions.csv"):
                    steps.append(f"replay {column}")
                if column == columns[0]:
                    steps.append(f"certify {column} --json")
                steps.append(f"@drop {column}")
            steps.append("@drop run")
            yield Cell(f"lie-{model}-{file.removesuffix('.csv')}", tuple(steps))


RUNS = (*_promise(), *_virtual(), *_cycle(), *_lies())
