"""Guests that were submitted to HTCondor: what is kept of them and told, with programs that answer
as HTCondor does; the pool in tests/condor_pool is the real one."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.sharing.adapters.condor.attributes import HOURS, expected_load, reliability
from forestall.sharing.adapters.condor.commands import CondorError
from forestall.sharing.api.guest import submitted as app
from forestall.sharing.api.guest.submitted import SubmitQuestion
from forestall.vaults.api.checkpoints import open_vault
from forestall.vaults.api.run import RunQuestion, leaving_of, why_leave
from forestall.vaults.repository import VaultRules
from forestall.vaults.runs import RunHistory, write_history

ASKED = SubmitQuestion(time=7200.0, program="/opt/forestall")


class Pool:
    """Programs in a folder that answer what they were told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("condor_q", "condor_history", "condor_status"):
            self.answer(name, [])
        self.program("condor_submit", "print('17.0 - 17.0')")

    def program(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!{sys.executable} -S\n{script}\n")
        path.chmod(0o755)

    def answer(self, name: str, ads: list[dict[str, Any]]) -> None:
        self.program(name, f"print('''{json.dumps(ads)}''')")

    def job(self, status: int, **more: object) -> None:
        self.answer("condor_q", [{"ClusterId": 17, "JobStatus": status, **more}])

    def machine(self, name: str, speed: float, chance: float = 1.0, age: int = 0) -> dict[str, Any]:
        loads = {expected_load(hours): 0.0 for hours in HOURS}
        chances = {reliability(hours): chance for hours in HOURS}
        return {"Machine": name, "ForestallUpdated": int(time.time()) - age,
                "ForestallAvailable": True, "ForestallSpeed": speed,
                **loads, **chances}  # fmt: skip


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pool:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    return Pool(tmp_path / "bin")


def vault(folder: Path, history: RunHistory) -> str:
    with open_vault([str(folder / "vault")], begin=VaultRules()) as made:
        write_history(made, "heat", history)
    return f"--store {folder / 'vault'} --data 1 --parity 0"


def test_a_guest_is_kept_in_mind_and_told_of(pool: Pool, tmp_path: Path) -> None:
    outlive = vault(tmp_path, RunHistory(("./heat",), starts=1, ran=3600.0))
    made = app.submit_guest(["./heat", "a b"], outlive, ASKED, tmp_path, name="heat")
    assert made.cluster == 17
    text = (tmp_path / "condor" / "heat" / "guest.sub").read_text()
    assert "run --name heat --leave-below 0.25 --store" in text
    assert "'./heat'" not in text
    assert app.submitted(tmp_path) == ([made], [])
    now = 1_000_000.0

    pool.job(1)  # it waits, and nothing is known of machines
    (told,) = app.submitted_facts([made], now)
    assert (told["state"], told["machine"], told["ran"], told["middle"]) == (
        "waiting", None, 3600.0, None,
    )  # fmt: skip
    pool.answer("condor_status", [pool.machine("ash", 1.0), pool.machine("old", 9.0, age=700),
                                  pool.machine("elm", 2.0)])  # fmt: skip
    (told,) = app.submitted_facts([made], now)
    assert told["middle"] - now == pytest.approx(1800, abs=60)  # of elm, the half that is left

    pool.job(2, RemoteHost="slot1_1@ash", NumJobStarts=2)
    (told,) = app.submitted_facts([made], now)
    assert (told["machine"], told["starts"], told["done"], told["stays"]) == ("ash", 2, 0.5, 1.0)
    assert told["early"] == told["late"] == now + 3600
    assert "running on ash, 50 % done, expected end" in app.told_line(told)
    report = app.submitted_report([told])
    assert "ash" in str(report)

    pool.job(5, HoldReason="no disk")
    assert app.told_line(app.submitted_facts([made], now)[0]).endswith("no disk")
    pool.answer("condor_q", [])
    (told,) = app.submitted_facts([made], now)
    assert told["state"] == "not known"
    pool.answer("condor_history", [{"ClusterId": 17, "JobStatus": 4, "ExitCode": 3}])
    said: list[str] = []
    assert app.watch_guest(made, said.append) == 3
    assert said == ["heat: finished, 100 % done"]


def test_a_name_is_free_when_its_job_is_over(pool: Pool, tmp_path: Path) -> None:
    app.submit_guest(["x"], "--store a", ASKED, tmp_path, name="heat")
    pool.job(1)
    with pytest.raises(ParameterError, match=r"name: .heat. .* job 17 has it"):
        app.submit_guest(["x"], "--store a", ASKED, tmp_path, name="heat")
    pool.job(4)
    app.submit_guest(["x"], "--store a", ASKED, tmp_path, name="heat")


@pytest.mark.parametrize(
    ("words", "outlive", "name", "told"),
    [
        ([], "--store a", None, "CMD: is missing"),
        (["x"], "", None, "--store at least"),
        (["x"], "'", None, 'outlive: "\'"'),
        (["x"], "--store a", "a/b", "name: 'a/b'"),
        (["x", "$(y)"], "--store a", None, "CMD"),
    ],
)
@pytest.mark.usefixtures("pool")
def test_wrong_input_submits_nothing(
    tmp_path: Path, words: list[str], outlive: str, name: str | None, told: str
) -> None:
    with pytest.raises(ParameterError, match=told.replace("$(", r"\$\(")):
        app.submit_guest(words, outlive, ASKED, tmp_path, name=name)
    assert not (tmp_path / "condor").exists()


def test_what_htcondor_refuses_is_not_kept(pool: Pool, tmp_path: Path) -> None:
    pool.program("condor_submit", "import sys; sys.exit('ERROR: no')")
    with pytest.raises(CondorError, match="condor_submit: ERROR: no"):
        app.submit_guest(["x"], "--store a", ASKED, tmp_path)
    assert app.submitted(tmp_path) == ([], [])


def test_damaged_records_are_named(tmp_path: Path) -> None:
    place = tmp_path / "condor" / "x"
    place.mkdir(parents=True)
    (place / "guest.json").write_text("{}")
    found, troubles = app.submitted(tmp_path)
    assert found == []
    assert len(troubles) == 1
    assert "not a submitted guest" in troubles[0]
    with pytest.raises(TraceError):
        app._read(place)


def test_a_host_is_left_by_its_agents_word() -> None:
    now = 1e9
    status = {"time": now, "state": "S1", "reliability": {"1h": 0.2}}
    assert why_leave(status, 0.25, now).startswith(
        "it stays available for an hour with 20 % probability, below"
    )
    assert why_leave(status, 0.2, now) == ""
    assert why_leave(status | {"state": "S3"}, 0.0, now) == "its owner needs it, state S3"
    assert why_leave(status | {"state": "S3"}, 0.0, now + 700) == ""  # nobody says so any more
    assert why_leave(status | {"reliability": None}, 1.0, now) == ""


def test_the_agent_is_heard_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESTALL_AGENT", str(tmp_path))
    assert leaving_of(RunQuestion())() == ""
    leaving = leaving_of(RunQuestion(leave_below=0.5))
    assert leaving() == ""  # there is no agent
    (tmp_path / "status.json").write_text(json.dumps({"time": time.time(), "state": "S4"}))
    assert leaving() == ""  # too soon after the last look
    assert "S4" in leaving_of(RunQuestion(leave_below=0.5))()
