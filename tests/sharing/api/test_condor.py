"""The files of the link to HTCondor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.sharing.api.condor import (
    ad_text,
    condor_config,
    read_ad,
    register_condor,
    submit_lines,
    vault_facts,
    write_ad,
    write_ad_of,
)
from forestall.vaults.stores.book import StoreBook

STATUS: dict[str, object] = {"time": 1700000000, "state": "S1", "reliability": {"4h": 0.5}}
AD = (
    'ForestallUpdated = 1700000000\nForestallState = "S1"\nForestallAvailable = true\n'
    "ForestallReliability4h = 0.5\n-\n"
)


def test_the_file_holds_what_the_command_prints_and_others_may_read_it(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text(json.dumps(STATUS))
    path = write_ad(tmp_path)
    assert path == tmp_path / "condor.ad"
    assert path.read_text() == read_ad(tmp_path) == ad_text(STATUS) == AD
    assert path.stat().st_mode & 0o004 or os.umask(0o022) & 0o004  # as other new files here
    assert sorted(each.name for each in tmp_path.iterdir()) == ["condor.ad", "status.json"]


def test_the_agent_writes_it_without_reading_its_own_status(tmp_path: Path) -> None:
    assert write_ad_of(tmp_path, STATUS).read_text() == AD
    with pytest.raises(ParameterError, match="state"):
        write_ad_of(tmp_path, STATUS | {"state": "S9"})
    assert (tmp_path / "condor.ad").read_text() == AD  # what stood there stays


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "status.json: does not exist: no agent has run here"),
        ("{", "status.json: not JSON"),
        (b"\xff", "status.json: not JSON"),
        ("[]", "status.json: not an agent's status; expected an object"),
        ("{}", "status.json: not a complete agent's status: time is missing"),
        ('{"time": 0}', "status.json: time: 0 is not allowed; expected Unix seconds"),
        ('{"time": 1, "state": 3}', "status.json: state: 3 is not allowed; expected one of S1"),
    ],
)
def test_a_bad_status_is_told_in_one_line(
    tmp_path: Path, content: str | bytes | None, words: str
) -> None:
    if content is not None:
        raw = content if isinstance(content, bytes) else content.encode()
        (tmp_path / "status.json").write_bytes(raw)
    with pytest.raises(TraceError, match=words) as told:
        write_ad(tmp_path)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "condor.ad").exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be written: No such file"):
        write_ad_of(tmp_path / "none", STATUS)
    (tmp_path / "status.json").mkdir()
    with pytest.raises(TraceError, match="cannot be read: Is a directory"):
        read_ad(tmp_path)


def test_a_full_disk_is_told_and_leaves_what_was_there(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    write_ad_of(tmp_path, STATUS)
    script = (
        "import resource, signal, sys\n"
        "from forestall.sharing.api.condor import write_ad_of\n"
        "from forestall.core.model.errors import TraceError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try:\n"
        "    write_ad_of(sys.argv[1], {'time': 2, 'state': 'S2'})\n"
        "except TraceError as error:\n"
        "    print(error)\n"
    )
    said = run_python(script, str(tmp_path))
    assert said.strip() == f"{tmp_path}/condor.ad: cannot be written: File too large"
    assert [each.name for each in tmp_path.iterdir()] == ["condor.ad"]
    assert (tmp_path / "condor.ad").read_text() == AD


def test_it_starts_without_anything_heavy() -> None:
    script = (
        "import sys; from forestall.sharing.api.condor import read_ad, condor_config\n"
        "print({'numpy', 'polars', 'scipy', 'numba', 'psutil', 'typer'} & set(sys.modules))\n"
    )
    assert run_python(script).strip() == "set()"


def run_python(script: str, *arguments: str) -> str:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        (sys.executable, "-c", script, *arguments),
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_configuration_names_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"CWD = {tmp_path}/here\n" in condor_config("here")
    told = condor_config("here", way="command", command="bin/forestall")
    assert f"EXECUTABLE = {tmp_path}/bin/forestall\n" in told
    program = tmp_path / "forestall"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert f"EXECUTABLE = {program}\n" in condor_config("here", way="command")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ParameterError, match=r"way: 'command' .* forestall on the PATH"):
        condor_config("here", way="command")


def test_the_lines_for_submit_files_are_those_of_the_hours() -> None:
    assert "ForestallReliability2h" in submit_lines(2)
    assert "ForestallReliability4h" in submit_lines()


def test_the_paths_to_the_vault_are_told(tmp_path: Path) -> None:
    assert vault_facts(tmp_path, 1000.0) == {}
    name = tmp_path / f"stores-{os.uname().nodename}.db"
    with StoreBook(name) as book:
        assert vault_facts(tmp_path, 1000.0) == {}
        for host, at, moved in (("a", 1000, 2e6), ("b", 1000, 8e6), ("c", 1000, 4e6),
                                ("old", -90_000, 1e3)):  # fmt: skip
            book.add_transfer(host, at, moved, 2.0)
    assert vault_facts(tmp_path, 1000.0) == {"vault_bandwidth": 2e6, "vault_hosts": 3}
    (tmp_path / "status.json").write_text(json.dumps(STATUS | {"time": 1000}))
    assert "ForestallVaultBandwidth = 2000000.0\nForestallVaultHosts = 3\n" in read_ad(tmp_path)
    name.write_bytes(b"no book")
    assert vault_facts(tmp_path, 1000.0) == {}


def test_where_no_htcondor_runs_no_guest_of_it_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forestall.sharing.adapters.condor.processes.MASTER", "no_such_name")
    (tmp_path / "guests").mkdir()
    for name in ("htcondor-17.json", "mine.json"):
        (tmp_path / "guests" / name).write_text("{}")
    assert register_condor(tmp_path) == []
    assert [each.name for each in (tmp_path / "guests").iterdir()] == ["mine.json"]
