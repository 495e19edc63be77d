"""What the doctor finds: nothing, a Slurm that is too old or apart, a broken ledger; a real one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.commands.calls import call
from forestall.core.model.errors import ParameterError, TraceError
from forestall.live.client.connection import ServerOptions
from forestall.live.doctor import checks, slurm
from forestall.live.doctor.checks import CheckState, DoctorCheck, PlaceQuestion
from forestall.live.doctor.run import all_checks, slurmrestd, with_settings
from forestall.live.ledger.store import LiveLedger
from slurm_cluster.cluster import Cluster, why_not

Faking = Callable[..., None]
CONFIG = (
    "Configuration data as of {now}\\nAccountingStorageType = accounting_storage/slurmdbd\\n"
    "ClusterName             = tree\\nAccountingStorageEnforce = none\\n"
    "JobRequeue              = 1\\nSlurmUser = slurm(64030)\\n"
)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faking:
    """Put commands of Slurm on PATH, and nothing else: what each prints, or how it fails."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("LOGNAME", "ann")

    def put(**said: str) -> None:
        usual = {
            "sinfo": "echo slurm 24.11.5",
            "scontrol": f"printf '{CONFIG.format(now=int(time.time()))}'",
            "sacctmgr": "echo Operator",
            "squeue": "", "sacct": "echo 1", "sbatch": "", "scancel": "",
        }  # fmt: skip
        for name, text in {**usual, **said}.items():
            (folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (folder / name).chmod(0o755)

    return put


def found(told: object) -> dict[str, DoctorCheck]:
    return {one.subject: one for one in told}  # type: ignore[attr-defined]


def test_a_healthy_slurm(fake: Faking) -> None:
    fake()
    told = found(slurm.slurm())
    assert [one.state for one in told.values()] == [CheckState.OK] * 8, told
    assert "cluster tree" in told["slurmctld"].found
    assert "ann (Operator) may act as advisor and keeper" in told["Rights"].found


def test_a_machine_without_slurm(fake: Faking) -> None:
    [one] = slurm.slurm()
    assert one.state == CheckState.MISSING
    assert "not on PATH: sinfo, squeue" in one.found


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("slurm 21.08.8", "missing"),
        ("slurm 22.05.8", "ok"),
        ("slurm-wlm 22.05.8", "ok"),
        ("slurm 26.05.0rc1", "ok"),
        ("slurm 26.11.0", "note"),
        ("nothing", "missing"),
    ],
)
def test_versions(said: str, state: str, fake: Faking) -> None:
    fake(sinfo=f"echo {said}")
    assert found(slurm.slurm())["Slurm version"].state == state


@pytest.mark.parametrize(
    ("apart", "state"), [(-30, "ok"), (50, "ok"), (-90, "missing"), (90, "missing")]
)
def test_clocks(apart: int, state: str, fake: Faking) -> None:
    for form in (str, lambda at: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))):
        fake(scontrol=f"printf '{CONFIG.format(now=form(int(time.time()) + apart))}'")
        told = found(slurm.slurm())["Clocks"]
        assert told.state == state
    fake(scontrol="echo ClusterName = x")
    assert found(slurm.slurm())["Clocks"].state == "note"


def test_a_controller_that_is_away(fake: Faking) -> None:
    fake(
        scontrol="echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1"
    )
    told = found(slurm.slurm())
    assert told["slurmctld"].state == "missing"
    assert "it does not answer" in told["slurmctld"].found
    assert "Rights" not in told


def test_accounting_that_is_off_or_away(fake: Faking) -> None:
    off = CONFIG.format(now=int(time.time())).replace("accounting_storage/slurmdbd", "(null)")
    fake(scontrol=f"printf '{off}'")
    assert found(slurm.slurm())["Accounting"].state == "note"
    fake(sacct="echo 'Problem talking to the database' >&2; exit 1")
    assert found(slurm.slurm())["Accounting"].state == "missing"


@pytest.mark.parametrize(
    ("said", "state", "words"),
    [
        ("echo None", "note", "AdminLevel=Operator"),
        ("echo Administrator", "ok", "all roles"),
        ("true", "note", "sacctmgr add user ann"),
        ("exit 1", "note", "the advisor needs none"),
    ],
)
def test_rights(said: str, state: str, words: str, fake: Faking) -> None:
    fake(sacctmgr=said)
    told = found(slurm.slurm())["Rights"]
    assert told.state == state
    assert words in told.found + told.todo


def test_what_slurm_says_cannot_move_the_cursor(fake: Faking) -> None:
    fake(sinfo=r"printf 'slurm 24.11\033[31m\n'")
    assert all(one.found.isprintable() for one in slurm.slurm())


def test_ledgers(tmp_path: Path) -> None:
    def state(url: str) -> DoctorCheck:
        return next(iter(checks.ledger(url)))

    assert state(f"sqlite:///{tmp_path}/new.db").state == "ok"
    assert state(f"sqlite:///{tmp_path}/none/new.db").state == "missing"
    with LiveLedger(f"sqlite:///{tmp_path}/ledger.db"):
        told = state(f"sqlite:///{tmp_path}/ledger.db")  # while its writer has it
        assert told.state == "ok"
        assert "its tables are current" in told.found
    (tmp_path / "other.db").write_text("something else")
    told = state(f"sqlite:///{tmp_path}/other.db")
    assert (told.state, told.todo) == (
        "missing", "name another file or database: this one is not a ledger",
    )  # fmt: skip
    (tmp_path / "empty.db").write_text("")
    told = state(f"sqlite:///{tmp_path}/empty.db")
    assert told.state == "missing"
    away = state("postgresql://nobody@127.0.0.1:1/forestall")
    assert away.state == "missing"
    assert [one.state for one in checks.ledger(None)] == ["note"]
    with pytest.raises(ParameterError):
        list(checks.ledger("mysql://x/y"))


def test_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, state in ((10**6, "missing"), (3 * 10**8, "note"), (10**11, "ok")):
        monkeypatch.setattr(
            checks.shutil, "disk_usage", lambda _, free=free: type("Usage", (), {"free": free})
        )
        [told] = checks.room(tmp_path / "not" / "there")
        assert told.state == state
        assert str(tmp_path) in told.found


def test_slurmrestd_that_is_not_there() -> None:
    assert slurmrestd(None).state == "ok"
    assert slurmrestd("http://127.0.0.1:1").state == "missing"
    with pytest.raises(ParameterError):
        slurmrestd("127.0.0.1:1")


def test_a_settings_file_says_where_things_are(tmp_path: Path) -> None:
    path = tmp_path / "forestall.toml"
    path.write_text(
        '[serve]\nledger = "sqlite:////l.db"\nsocket = "/run/x.sock"\n'
        '[slurm]\nvia = "rest"\nurl = "unix:/r.sock"\n'
    )
    asked, options = with_settings(PlaceQuestion(path), ServerOptions())
    assert (asked.ledger, asked.rest) == ("sqlite:////l.db", "unix:/r.sock")
    assert options.socket == Path("/run/x.sock")
    asked, options = with_settings(
        replace(PlaceQuestion(path), ledger="sqlite:////m.db"), ServerOptions(server="http://x")
    )
    assert asked.ledger == "sqlite:////m.db"
    assert (options.server, options.socket) == ("http://x", None)
    path.write_text("[serve]\nport = 99\n")
    assert with_settings(PlaceQuestion(path), ServerOptions())[1].server == "http://127.0.0.1:99"
    path.write_text("[serve]\nprot = 99\n")
    with pytest.raises(TraceError, match=r"serve\.prot"):
        next(all_checks(PlaceQuestion(path), ServerOptions()))


def test_the_command_ends_with_1_where_something_is_missing(
    fake: Faking,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("FORESTALL_SERVER", raising=False)
    done = call(capsys, "doctor")
    assert done.code == 1
    assert "2 things missing" in done.err or "1 thing missing" in done.err
    assert all(len(line) <= 100 for line in done.out.splitlines())
    fake()
    ledger = f"sqlite:///{tmp_path}/l.db"
    done = call(capsys, "doctor", "--ledger", ledger, "--socket", tmp_path / "none")
    assert done.code == 1
    assert done.err == "forestall: 1 thing missing\n"
    done = call(capsys, "doctor", "--ledger", ledger, "--json")
    assert '"missing": 0' in done.out
    assert done.code == 0
    assert call(capsys, "doctor", "--ledger", "mysql://x").code == 2


@pytest.mark.parametrize(
    ("enforced", "answer", "state", "said"),
    [
        ("associations", "exit 1", "ok", "enforces none"),
        (
            "limits,qos",
            "case $5 in qos) echo 'n||||||||||';; user) echo 'u|a';; esac",
            "ok",
            "1 QOS",
        ),
        ("safe", "echo away >&2; exit 1", "note", "not known: "),
        ("limits", "echo Operator", "note", "not known: "),
    ],
)
def test_limits(fake: Faking, enforced: str, answer: str, state: str, said: str) -> None:
    config = CONFIG.format(now=int(time.time())).replace("none", enforced)
    fake(scontrol=f"printf '{config}'", sacctmgr=answer)
    one = found(slurm.slurm())["Limits"]
    assert (one.state, said in one.found) == (state, True), one


@pytest.mark.slow
def test_a_real_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not():
        pytest.skip(reason)
    with Cluster() as real:
        monkeypatch.setenv("SLURM_CONF", str(real.folder / "slurm.conf"))
        told = found(slurm.slurm())
        states = {name: str(one.state) for name, one in told.items()}
        assert states == {
            "Slurm commands": "ok", "Slurm version": "ok", "slurmctld": "ok", "Clocks": "ok",
            "Accounting": "ok", "Limits": "ok", "Rights": "ok", "Requeue": "ok",
        }, told  # fmt: skip
        real.stop_controller()
        assert found(slurm.slurm())["slurmctld"].state == "missing"
