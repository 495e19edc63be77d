"""`forestall lemons` as users call it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from forestall.core.model.errors import ParameterError
from forestall.site.commands import lemons


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    day = 86_400
    node = np.concatenate([rng.integers(0, 40, 100), np.full(30, 7)])
    time = rng.integers(0, 300 * day, len(node))
    rows = [f"{t},{n},3600" for t, n in sorted(zip(time.tolist(), node.tolist(), strict=True))]
    path = tmp_path / "failures.csv"
    head = [f"# span: {300 * day}", "# nodes: 40", "time,node,downtime"]
    path.write_text("\n".join([*head, *rows]) + "\n")
    return path


def run(*arguments: object) -> str:
    app = typer.Typer()
    app.registered_commands = list(lemons.app.registered_commands)
    app.command("other")(lambda: None)
    done = CliRunner().invoke(app, ["lemons", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_the_worst_nodes_are_printed(log: Path) -> None:
    out = run("--failures", log)
    assert "1 node of 40 fails more than chance allows: node 7;" in out
    assert max(map(len, out.splitlines())) <= 100
    rows = [line.split() for line in out.splitlines()]
    heads = next(k for k, row in enumerate(rows) if row[:2] == ["node", "failed"])
    assert rows[heads + 1][0] == "7"


def test_json_and_metrics(log: Path, tmp_path: Path) -> None:
    told = json.loads(run("--failures", log, "--json"))
    assert told["nodes"][0]["node"] == "7"
    assert told["nodes"][0]["lemon"] is True
    assert told["nodes"][0]["tickets"] is None
    assert told["nodes_compared"] == 40
    assert told["advice"][0]["labels"] == {"node": "7"}
    printed = run("--failures", log, "--openmetrics", "-")
    assert "\nforestall_lemon_nodes 1\n" in printed
    assert printed.endswith("# EOF\n")
    target = tmp_path / "lemons.prom"
    assert "Written" in run("--failures", log, "--openmetrics", target)
    assert target.read_text() == printed


def test_a_stricter_rate_names_no_more(log: Path) -> None:
    few, many = (
        json.loads(run("--failures", log, "--json", "--false-discovery-rate", rate))["figures"][0]
        for rate in (1e-12, 0.9)
    )
    assert few["value"] <= 1 <= many["value"]


@pytest.mark.parametrize("rate", [0, 1, -2, float("nan")])
def test_bad_rates_are_refused(log: Path, rate: float) -> None:
    with pytest.raises(ParameterError, match="false_discovery_rate"):
        run("--failures", log, "--false-discovery-rate", rate)
    with pytest.raises(ParameterError, match="checkpoint_interval"):
        run("--failures", log, "--checkpoint-interval", "0s")


def test_without_records_it_says_how_to_get_them() -> None:
    said = run()
    assert "sacct" in said
    assert "forestall lemons jobs.txt events.txt nodes.txt\n" in said
    assert "forestall report" not in said


def test_where_metrics_go_is_checked_first(log: Path, tmp_path: Path) -> None:
    for more in (("--openmetrics", tmp_path / "no" / "x.prom"), ("--openmetrics", "-", "--json")):
        with pytest.raises(ParameterError, match="--openmetrics"):
            run("--failures", log, *more)
