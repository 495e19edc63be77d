"""Each kind of entry of CONTRIBUTING is added in one place; all that takes its name knows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
START = """
import csv, io, json, sys
from contextlib import redirect_stdout
from pathlib import Path
import polars as pl
import forestall as fs
from forestall.runs.commands.entry import main

def run(*words, code=0):
    out = io.StringIO()
    with redirect_stdout(out):
        done = main([str(word) for word in words])
    assert done == code, (words, done, out.getvalue())
    return out.getvalue()

def jobs():
    fs.generate_jobs(8, 1, days=1, load=0.6).table().write_csv("jobs.csv")
    fs.generate_failures(8, 4, 1, rate_per_year=4000).table().write_csv("failures.csv")
    return ["--failures", "failures.csv", "--nodes", 8, "--log-events"]

def alike(ours, theirs, apart=()):
    for path in Path(theirs).glob("*.csv"):
        if path.name not in apart:
            assert path.read_bytes() == (Path(ours) / path.name).read_bytes(), path.name

def whole(command, kind, name, twin, options, apart=()):
    assert name in run("simulate", command, "--help-all")
    for one in (name, twin):
        run("simulate", command, *options, f"--{kind}", one, "--out", one, "-q")
        run("certify", one)
        run("replay", one)
        assert one in Path(one, "report.html").read_text()
    alike(name, twin, apart)
    compared = json.loads(run("compare", name, twin, "--json"))
    assert name in json.dumps(compared)
    options = [word for word in options if word != "--log-events"]
    run("sweep", command, *options, f"--{kind}", f"{name},{twin}", "--out", "swept", "-q")
    assert any(name in path.read_text() for path in Path("swept").glob("*.csv"))
"""


class Added(NamedTuple):
    """An entry put after a mark in a module, and what is done with it."""

    module: str
    mark: str
    entry: str
    script: str


STRATEGY = Added(
    "forestall.machines.rules.entries",
    """            "of the nodes that outlive the deadline, the one with most to give",
            _CHOOSING,
            number=1,
        ),
""",
    """        VirtualStrategy("roomiest", "roomiest", "as first-fit", _CHOOSING, number=1),
""",
    """
options = ["jobs.csv", *jobs(), "--processors-per-node", 4]
whole("tasks", "strategy", "roomiest", "first-fit", options)
from forestall.machines.fleet.fleet import read_fleet
Path("fleet.toml").write_text('strategy = "roomiest"\\n[nodes]\\na = 4\\n')
assert read_fleet(Path(".")).plan().strategy == "roomiest"
from forestall.machines.rules.placement import choose_node
given = dict(work=3600, deadline=7200, now=0)
free = [1, 4, 2], [9000, 9000, 9000]
assert choose_node(*free, strategy="roomiest", **given)[0] == 1
""",
)
SCHEDULER = Added(
    "forestall.sharing.rules.entries",
    'SCHEDULERS: Final = Entries(\n    "scheduler",\n    (\n',
    """        Scheduler(
            "eagle", "eagle", "as falcon", _SCHEDULERS, colour="#123456", number=0,
            looks_at=("jct", "mttf", "etl", "jctf", "chance"), foretells=True,
        ),
""",
    """
run("traces", "generate", "hosts", "hosts.csv", "--hosts", 4, "--days", 20)
run("traces", "generate", "guests", "guests.csv", "--days", 2, "--count", 20)
options = ["guests.csv", "--hosts", "hosts.csv", "--log-events", "--warm-up", "7d"]
whole("guests", "scheduler", "eagle", "falcon", options)
""",
)
POLICY = Added(
    "forestall.scheduling.engine.policies",
    """            "models/classic.md#fcfs",
            colour="#D55E00",
            code=1,
        ),
""",
    """        PolicyEntry(
            "patient", "patient", "as fcfs", "models/classic.md#fcfs", colour="#123456", code=1
        ),
""",
    """
whole("jobs", "policy", "patient", "fcfs", ["jobs.csv", *jobs()])
""",
)
LEARNER = Added(
    "forestall.prediction.models.entries",
    'LEARNERS: Final = Entries(\n    "predictor",\n    (\n',
    """        _learner("steady", "steady rate", "steady:Steady", "as constant", "constant"),
""",
    """
options = jobs()
import types
import forestall.prediction.models
from forestall.prediction.models.baselines.constant import Constant
made = types.ModuleType("forestall.prediction.models.steady")
made.Steady = type("Steady", (Constant,), {"name": "steady", "__module__": made.__name__})
sys.modules[made.__name__] = made
assert "steady" in run("predict", "list")
past = fs.generate_failures(8, 6, 2, rate_per_year=4000)
for name in ("steady", "constant"):
    run("predict", "train", name, "failures.csv", "--out", f"{name}.predictor", "--until", "2d")
    run("predict", "ask", f"{name}.predictor", "--ahead", "24h")
    predictor = fs.new_learner(name)
    predictor.fit(past, nodes=8, end=0)
    given = dict(nodes=8, predictor=predictor, risk=0.0, log_events=True)
    made = fs.simulate(fs.read_jobs("jobs.csv"), fs.read_failures("failures.csv"), **given)
    made.save(name)
    run("certify", name)
    run("replay", name)
alike("steady", "constant")
named = ["--predictors", "steady,constant", "--draws", 20, "--json"]
assert "steady" in run("assess", "predictors", "failures.csv", *named)
""",
)
LAW = Added(
    "forestall.reliability.lifetimes.registry",
    "_GROUPS = (",
    """
    (type("Again", (type(WEIBULLS[1]),), {"name": "again", "title": "Again"})(),), """,
    """
options = jobs()
run("reliability", "failures.csv", "--families", "again,exponential", "--out", "report", "-q")
assert "again" in pl.read_csv("report/fits.csv")["family"]
ours, theirs = (json.loads(run("fit", "report/gaps.csv", "--family", name, "--json"))
                for name in ("again", "weibull"))
assert ours["params"] == theirs["params"]
law = fs.lifetime("again", shape=0.7, scale=100.0)
assert law.mean() == fs.lifetime("weibull", shape=0.7, scale=100.0).mean()
""",
)
FORMAT = Added(
    "forestall.logs.failures.formats",
    "    own.FORMAT,\n",
    """    __import__("dataclasses").replace(own.FORMAT, name="ours"),
""",
    """
jobs()
given = ["--families", "weibull", "--json"]
ours, theirs = (json.loads(run("reliability", "failures.csv", "--failure-format", name, *given))
                for name in ("ours", "csv"))
assert ours["failures"] == theirs["failures"] > 0
assert len(fs.read_failures("failures.csv", format="ours")) == ours["failures"]
""",
)
KINDS = {
    "strategy": STRATEGY, "scheduler": SCHEDULER, "policy": POLICY, "predictor": LEARNER,
    "law": LAW, "format": FORMAT,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_one_entry_is_enough(kind: str, tmp_path: Path) -> None:
    added = KINDS[kind]
    command = [sys.executable, str(HERE / "added_entry.py"), *added[:3], START + added.script]
    done = subprocess.run(
        command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
