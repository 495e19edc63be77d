"""The line with which the demonstration ends starts a controller that answers."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from core.commands.calls import call
from forestall.runs.commands.demo import LIVE
from live.web.metrics.metric_cases import told_names


@pytest.mark.slow
def test_the_line_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = f"sqlite:///{tmp_path}/shown-live.db"
    words = [*shlex.split(LIVE), "--ledger", ledger, "--port", "0", "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "forestall", *words], env=environment, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            told = ""
            while not told.rstrip().endswith("}"):
                line = server.stdout.readline()
                assert line, server.stderr.read() if server.stderr else ""
                told += line
            greeting = json.loads(told)
            address = greeting["address"]
            figures = httpx.get(f"{address}/metrics", trust_env=False).text
            names = set(re.findall(r"^(forestall_\w+)", figures, re.MULTILINE))
            absent = told_names() - names
            assert all(re.search("ratio|look_age", name) for name in absent), sorted(absent)
            monkeypatch.setenv("FORESTALL_SERVER", address)
            monkeypatch.setenv("FORESTALL_TOKEN", greeting["operator_token"])
            assert call(capsys, "promises").code == 0
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(300) == 0  # a first cycle compiles before it ends


@pytest.mark.slow
def test_the_demonstration_ends_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv" / "bin" / "forestall"), "demo"])
    done = call(capsys, "demo")
    last = done.out.splitlines()[-1].strip()
    place = "sqlite:///forestall-demo-live.db"
    assert last == f".venv/bin/forestall {LIVE} --ledger {place}"
    assert call(capsys, "demo", "--quiet").code == 0  # the ledger is none of its folder's files
