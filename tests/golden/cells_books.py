"""Cells of a site's books, of many runs at once, of the agent's words, and of refusals."""

from __future__ import annotations

from golden.cells_runs import AT, CYCLE, PROMISE, VIRTUAL
from golden.play import RECORDED_VERSIONS, Cell

LOGS = f"{AT}/jobs.swf --failures {AT}/failures.csv"
MANY = f"{AT}/many.swf"


def _site(version: str) -> Cell:
    """Return the cell of what a real Slurm of a version printed."""
    files = f"{version}/sacct.jobs.epoch.txt {version}/sacctmgr.event.epoch.txt"
    more = f"{files} {version}/scontrol.node.epoch.txt {version}/starts.txt"
    return Cell(
        f"books-{version}",
        (
            f"@recorded {version}",
            f"report {files}",
            f"report {files} --full --zone Europe/Berlin --cost 0.5",
            f"report {files} --json",
            f"report {files} --openmetrics -",
            f"report {files} --out page.html -q",
            f"lemons {files} --json",
            f"import slurm {more} --out site --json --zone Europe/Berlin",
            "report site --json",
            "traces info site/runs.parquet",
            f"traces info {version}/sacct.jobs.epoch.txt --json",
            f"@drop {version}",
        ),
    )


_BOOKS = (
    *(_site(f"slurm-{version}") for version in RECORDED_VERSIONS),
    Cell(
        "books-json",
        (
            "@recorded slurm-26.05",
            "report slurm-26.05/sacct.json --json",
            "import slurm slurm-26.05/sacct.json --out site --anonymize --keep-partitions",
            "@drop slurm-26.05",
            "@drop site.key",
            "@drop site",
        ),
    ),
    Cell(
        "report",
        (
            "report",
            f"report {LOGS} --out page.html",
            f"report {LOGS} --full --cost 2 --currency USD --checkpoint-interval 2h",
            f"report {LOGS} --json --since 3d --min-nodes 2",
            f"report {LOGS} --openmetrics site.prom -q",
            f"report --failures {AT}/failures.csv --full",
            f"report {AT}/few.csv",
        ),
    ),
    Cell(
        "lemons",
        (
            f"lemons {LOGS}",
            f"lemons --failures {AT}/hot.csv --false-discovery-rate 0.3",
            f"lemons {LOGS} --json",
            f"lemons {LOGS} --openmetrics -",
        ),
    ),
    Cell(
        "backtest",
        (
            f"backtest promises {MANY} --warm-up 100 --out out",
            f"backtest promises {MANY} --warm-up 100 --question deadline --level 0.9",
            f"backtest promises {MANY} --warm-up 100 --question probability --seed 2 --json",
            f"backtest promises {MANY} --warm-up 100 --openmetrics -",
        ),
    ),
)

_MANY = (
    Cell(
        "sweep-promise",
        (
            f"sweep {LOGS} --nodes 16 --from 8640000 --accuracy 0:1:0.5 --policy promise,easy"
            " --workers 1 --out sweep",
            f"sweep {LOGS} --nodes 16 --from 8640000 --risk 0.1,0.9 --vary checkpoint=none,risk"
            " --workers 1 --out other --no-report --json",
        ),
    ),
    Cell(
        "sweep-virtual",
        (
            f"{VIRTUAL.replace('simulate', 'sweep')} --strategy random,best-fit"
            " --prediction-accuracy 0.2,0.9 --seed 1:2 --workers 1 --out sweep",
        ),
    ),
    Cell(
        "sweep-cycle",
        (
            f"{CYCLE.replace('simulate', 'sweep')} --scheduler falcon,condor --job-length 1h,3h"
            " --workers 1 --out sweep",
        ),
    ),
    *(
        Cell(
            f"compare-{name}",
            (
                f"{line} {one} --out a -q --no-report",
                f"{line} {other} --out b -q --no-report",
                "compare a b --out page.html",
                "compare a b --json",
                "@drop a",
                "@drop b",
            ),
        )
        for name, line, one, other in (
            ("promise", PROMISE, "--accuracy 0.2", "--policy easy"),
            ("virtual", VIRTUAL, "--strategy random", "--strategy omniscient"),
            ("cycle", CYCLE, "--scheduler condor", "--restart checkpoint"),
        )
    ),
    *(
        Cell(f"json-{name}", (f"{line} --json", f"{line}"))
        for name, line in (("promise", PROMISE), ("virtual", VIRTUAL), ("cycle", CYCLE))
    ),
    Cell("demo", ("demo --out demo --json",)),
    Cell(
        "config",
        (
            '@write run.toml \'nodes = 16\\npolicy = "easy"\\ncheckpoint-interval = "30m"\\n\'',
            f"simulate {LOGS} --from 8640000 --config run.toml --risk 0.3",
            "@write odd.toml 'nods = 16\\n'",
            f"simulate {LOGS} --config odd.toml",
        ),
    ),
    Cell(
        "recorded-predictions",
        (
            f"@draw predicted predicted.csv {AT}/hot.csv",
            f"{VIRTUAL.replace(AT + '/hot.csv', 'predicted.csv')} --predictor recorded --out run"
            " --log-events --no-report",
            "certify run",
            "replay run",
        ),
    ),
)

_LIVE = (
    Cell(
        "agent",
        (
            "agent unit --folder here --listen 127.0.0.1:9999 --th1 0.1",
            "agent condor --folder here --every 2m",
            "agent condor --folder here --submit --hours 3",
            "agent status --folder here",
            "agent ad --folder here",
            "guest list --folder here",
            "guest log nobody --folder here",
            "machines list --fleet here",
            "calibrate --limit 2",
        ),
    ),
)

_REFUSED = (
    Cell(
        "refused",
        (
            "simulate",
            "simulate nowhere.swf",
            f"simulate {LOGS} --nodes 0",
            f"simulate {LOGS} --policy best",
            f"simulate {LOGS} --accuracy 2",
            f"simulate {LOGS} --strategy random",
            f"simulate {LOGS} --model virtual --risk 0.3",
            f"simulate {AT}/guests.csv --model cycle",
            f"simulate {LOGS} --predictor hazard",
            f"simulate {LOGS} --checkpoint-interval soon",
            f"simulate {LOGS} --log-events",
            f"sweep {LOGS} --vary nothing=1",
            f"compare {AT}",
            f"certify {AT}",
            f"replay {AT}",
            "fit nowhere.csv",
            "design nowhere.toml",
            "interval",
            "spares --nodes 3",
            "traces generate jobs x.csv",
            f"assess predictors {AT}/failures.csv --predictors nobody",
            f"backtest promises {AT}/failures.csv",
            "no-such-command",
            "--version",
        ),
    ),
)

BOOKS = (*_BOOKS, *_MANY, *_LIVE, *_REFUSED)
