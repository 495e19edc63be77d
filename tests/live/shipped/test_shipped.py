"""What a site takes over: units that systemd accepts, rules that Prometheus accepts, a dashboard
and settings that can be read, and no figure in them that is not told."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import forestall as fs
from forestall.core.model.errors import InputError, ParameterError
from forestall.live.guard.settings import KEEPER, WARDEN
from forestall.live.serving.settings import read_live_settings
from forestall.live.shipped.dashboard import (
    PANELS,
    REPORT_PANELS,
    WIDTH,
    dashboard,
    report_dashboard,
)
from forestall.live.shipped.write import DASHBOARD, UNITS, site_files, write_site_files
from forestall.runs.commands.entry import main
from live.web.metrics.metric_cases import told_names

FILES = dict(site_files(program="/usr/bin/true"))


def queries() -> list[str]:
    yaml = pytest.importorskip("yaml")
    rules = yaml.safe_load(FILES["forestall-alerts.yml"])["groups"][0]["rules"]
    return [one["expr"] for one in rules] + [query for one in PANELS for query, _ in one.lines]


def test_all_figures_of_dashboard_and_alerts_are_told() -> None:
    asked = {name for query in queries() for name in re.findall(r"\bforestall_\w+", query)}
    assert len(asked) > 15
    assert asked <= told_names(), sorted(asked - told_names())


def test_all_figures_of_a_report_are_told(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    rules = yaml.safe_load(FILES["forestall-report-alerts.yml"])["groups"][0]["rules"]
    asked = [one["expr"] for one in rules] + [q for one in REPORT_PANELS for q, _ in one.lines]
    jobs, failures = tmp_path / "jobs.swf", tmp_path / "failures.csv"
    make = ("traces", "generate")
    assert main((*make, "jobs", str(jobs), "--nodes", "32", "--days", "10")) == 0
    rate = ("--rate-per-year", "3000")
    assert main((*make, "failures", str(failures), "--nodes", "32", "--days", "10", *rate)) == 0
    wanted = {name for text in asked for name in re.findall(r"\bforestall_\w+", text)}
    told = fs.site_report(jobs, failures=failures, learn=False).openmetrics
    assert len(wanted) > 8
    dated = {"forestall_report_window_end_timestamp_seconds"}  # generated logs have no dates
    assert wanted - dated <= set(re.findall(r"^(forestall_\w+)", told, re.MULTILINE))
    for label, value in set(re.findall(r'(\w+)="([^"]*)"', " ".join(asked))):
        assert f'{label}="{value}"' in told


def test_labels_of_dashboard_and_alerts_are_told() -> None:
    values = set(re.findall(r'(\w+)!?="([^"]*)"', " ".join(queries())))
    told = told_names(labels=True)
    for label, value in values:
        assert f'{label}="{value}"' in told, (label, value)


def test_most_figures_are_on_the_dashboard() -> None:
    shown = dashboard()
    absent = [name for name in told_names() if name.removesuffix("_bucket") not in shown
              and not name.endswith(("_sum", "_count", "_created", "_info"))]  # fmt: skip
    assert not absent, absent


@pytest.mark.parametrize(("text", "panels"),
                         [(dashboard(), PANELS), (report_dashboard(), REPORT_PANELS)])  # fmt: skip
def test_panels_stand_beside_each_other(text: str, panels: tuple[Any, ...]) -> None:
    told: dict[str, Any] = json.loads(text)
    taken: set[tuple[int, int]] = set()
    for panel in told["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= WIDTH
        cells = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
        assert not cells & taken
        taken |= cells
        assert panel["targets"]
    assert len({panel["id"] for panel in told["panels"]}) == len(panels)


ALERTS = ("forestall-alerts.yml", "forestall-report-alerts.yml")


@pytest.mark.parametrize("name", ALERTS)
def test_alerts_say_what_is_wrong_and_how_bad_it_is(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    [group] = yaml.safe_load(FILES[name])["groups"]
    names = [rule["alert"] for rule in group["rules"]]
    assert len(set(names)) == len(names)
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]


@pytest.mark.parametrize("name", ALERTS)
def test_prometheus_takes_the_rules(name: str, tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    (tmp_path / "rules.yml").write_text(FILES[name])
    done = subprocess.run(
        [promtool, "check", "rules", tmp_path / "rules.yml"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    write_site_files(tmp_path, program="/usr/bin/true")
    done = subprocess.run(
        [analyze, "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not re.findall(r"Unknown|ignoring|Invalid", done.stderr), done.stderr


@pytest.mark.parametrize("name", UNITS)
def test_units_are_hardened(name: str) -> None:
    lines = FILES[name].splitlines()
    for one in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=",
                "PrivateTmp=yes", "ProtectHome=yes", "RestrictSUIDSGID=yes"):  # fmt: skip
        assert one in lines, one
    assert not re.search(r"@\w+@", FILES[name])
    users = [line for line in lines if line.startswith("User=")]
    assert users == [f"User={name.removesuffix('.service')}"]


def test_a_program_in_a_home_can_be_read() -> None:
    told = dict(site_files(program="/home/ann/venv/bin/forestall"))
    assert "ProtectHome=read-only" in told[UNITS[0]]
    assert "ExecStart=/home/ann/venv/bin/forestall serve" in told[UNITS[0]]


def test_settings_to_begin_with_let_nothing_act(tmp_path: Path) -> None:
    write_site_files(tmp_path)
    told = read_live_settings(tmp_path / "forestall.toml")
    assert told.guard.keeper == KEEPER
    assert told.guard.warden == WARDEN
    assert told.serve.socket == "/run/forestall/api.sock"
    assert not told.messages.tells


def test_files_are_not_replaced_unasked(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "site"
    names = {path.name for path in write_site_files(folder)}
    assert names == {path.name for path in folder.iterdir()}
    (folder / DASHBOARD).write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        write_site_files(folder)
    assert (folder / DASHBOARD).read_text() == "mine"
    write_site_files(folder, force=True)
    assert (folder / DASHBOARD).read_text() != "mine"


@pytest.mark.parametrize(
    "settings", ["relative.toml", "/a b.toml", "/a\nExecStart=x", "/a%i", "/'"]
)
def test_paths_that_no_unit_can_name(settings: str) -> None:
    with pytest.raises(ParameterError):
        dict(site_files(settings))
