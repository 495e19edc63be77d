"""Running a command: what it said, or one line that says why not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from forestall.core.model.errors import ForestallError
from forestall.slurm import run as module
from forestall.slurm.run import SlurmError, answer, environment, read, run


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is searched for programs first."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def put(folder: Path, name: str, script: str) -> None:
    """Put a program there."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_what_it_said(programs: Path) -> None:
    """All words arrive as they are; no shell reads them."""
    put(programs, "sacct", 'for word in "$@"; do echo "$word"; done; echo noise >&2')
    assert run(("sacct", "a b", "$HOME", "*")) == "a b\n$HOME\n*\n"


def test_signs_that_are_not_utf8(programs: Path) -> None:
    put(programs, "sacct", r"printf 'gr\374n'")
    assert run(("sacct",)) == "gr\ufffdn"


def test_what_a_command_reads_and_its_variables(programs: Path) -> None:
    put(programs, "sbatch", 'cat; echo "$ONLY" "$TZ"')
    said = read(
        ("sbatch",), given=b"\0a\xff\n", variables={"ONLY": "x y", "PATH": os.environ["PATH"]}
    )
    assert said == b"\0a\xff\nx y \n"


@pytest.mark.parametrize("script", ["head -c 5000000 /dev/zero", "while :; do echo y; done"])
def test_an_answer_that_is_too_large(programs: Path, script: str) -> None:
    put(programs, "squeue", script)
    with pytest.raises(SlurmError, match="printed more than 1,000,000 bytes") as raised:
        read(("squeue",), most=1_000_000, timeout=30)
    assert raised.value.large
    assert not raised.value.late


def test_what_is_known_of_a_failure(programs: Path) -> None:
    """Its own words, whether it ran, and whether it was ended before it answered."""
    put(programs, "scontrol", "echo 'Node nix not found' >&2; exit 1")
    for name, script, what in (
        ("scontrol", "", (True, False, "Node nix not found\n")),
        ("nowhere", "", (False, False, "")),
        ("sleeps", "exec sleep 30", (True, True, "")),
        ("killed", "kill -9 $$", (True, True, "")),
    ):
        if script:
            put(programs, name, script)
        with pytest.raises(SlurmError) as raised:
            read((name,), timeout=0.4)
        assert (raised.value.started, raised.value.late, raised.value.said) == what


def test_the_language_the_zone_and_the_formats(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's own formats do not reach the command; where the cluster is does."""
    monkeypatch.setenv("SACCT_FORMAT", "jobid")
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("SLURM_CONF", "/srv/slurm.conf")
    put(programs, "sacct", "env")
    said = dict(line.split("=", 1) for line in run(("sacct",)).splitlines() if "=" in line)
    assert (said["TZ"], said["LC_ALL"], said["SLURM_TIME_FORMAT"]) == ("UTC", "C", "%s")
    assert said["SLURM_CONF"] == "/srv/slurm.conf"
    assert not {"SACCT_FORMAT", "SQUEUE_FORMAT"} & set(said)
    assert not {"SACCT_FORMAT", "SQUEUE_FORMAT"} & set(environment())


def test_a_long_answer_goes_to_a_file(programs: Path) -> None:
    """Which is gone afterwards, also after an error."""
    put(programs, "sacct", f'{sys.executable} -c "print(chr(120) * 99 + chr(10), end=str()) or '
        '[print(chr(120) * 99) for _ in range(50000)]"')  # fmt: skip
    with answer(("sacct",)) as path:
        assert path.stat().st_size == 50_001 * 100
    assert not path.parent.exists()
    with pytest.raises(ZeroDivisionError), answer(("sacct",)) as path:
        raise ZeroDivisionError
    assert not path.parent.exists()


def test_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SlurmError, match=r"is not installed.*package slurm-client") as raised:
        run(("sacct",))
    assert isinstance(raised.value, ForestallError)
    assert raised.value.program == "sacct"


def test_not_to_be_run(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (programs / "sacct").write_text("no program")
    (programs / "sacct").chmod(0o644)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(SlurmError, match="sacct: may not be run by this user"):
        run(("sacct",))
    (programs / "sacct").chmod(0o755)
    with pytest.raises(SlurmError, match="sacct: cannot be run: Exec format error"):
        run(("sacct",))


def test_no_answer_in_time(programs: Path) -> None:
    """The command ends, and the line says what was waited for."""
    put(programs, "sacct", "exec sleep 60")
    with pytest.raises(SlurmError, match=r"gave no answer in 0 s \(sacct --endless\)") as raised:
        run(("sacct", "--endless"), timeout=0.2)
    assert "\n" not in str(raised.value)


def test_what_was_said_until_the_end_is_told(programs: Path) -> None:
    put(programs, "sacct", "echo 'sacct: error: hm, the weather' >&2; exec sleep 60")
    with pytest.raises(SlurmError, match=r"gave no answer in 1 s .*: sacct: error: hm, the weat"):
        run(("sacct",), timeout=1)


RETRY = "s_p_parse_file: cannot stat file /no.conf: No such file or directory, retrying in 1sec"


@pytest.mark.parametrize(
    ("said", "cause"),
    [(f"sacct: error: {RETRY} up to 60sec", "has no configuration"),
     ("sacct: error: Sending PersistInit msg: Connection refused", "does not answer")],
)  # fmt: skip
def test_what_does_not_come_is_not_waited_for(
    programs: Path, monkeypatch: pytest.MonkeyPatch, said: str, cause: str
) -> None:
    """Slurm's commands try again for a minute; what they complain of tells at once."""
    hopeless = tuple((words, 0.3) for words, _ in module._HOPELESS)
    monkeypatch.setattr(module, "_HOPELESS", hopeless)
    put(programs, "sacct", f"echo '{said}' >&2; exec sleep 60")
    with pytest.raises(SlurmError, match=f"{cause}.*given up after") as raised:
        run(("sacct",), timeout=50)
    assert "\n" not in str(raised.value)


def test_a_complaint_before_an_answer_is_no_failure(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first server that refuses, a second one that answers."""
    put(programs, "sacct", "echo 'Connection refused' >&2; sleep 0.6; echo fine")
    assert run(("sacct",)) == "fine\n"


# What Slurm 22.05 says, word by word.
@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("sacct: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
         "sacct: error: fetch_config: DNS SRV lookup failed\n"
         "sacct: fatal: Could not establish a configuration source", "has no configuration here"),
        ("sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection "
         "to host:localhost:6819: Connection refused\n"
         "sacct: error: Problem talking to the database: Connection refused", "does not answer"),
        ("slurm_load_node error: Unable to contact slurm controller (connect failure)",
         "does not answer"),
        ("sacctmgr: error: Access/permission denied", "may not query that"),
        ("Slurm accounting storage is disabled", "keeps no accounting"),
        ('sacct: error: Invalid field requested: "Foo"', "failed: sacct: error: Invalid field"),
    ],
)  # fmt: skip
def test_what_slurm_says_when_it_fails(programs: Path, said: str, cause: str) -> None:
    """In one line: what it means, and its own words."""
    put(programs, "sacct", f"cat >&2 <<'END'\n{said}\nEND\nexit 1")
    with pytest.raises(SlurmError, match=cause) as raised:
        run(("sacct",))
    text = str(raised.value)
    assert "\n" not in text
    assert any(line in text for line in said.splitlines())


def test_failures_without_a_word(programs: Path) -> None:
    """Or with one where answers go."""
    put(programs, "sacct", "exit 3")
    with pytest.raises(SlurmError, match="failed with exit code 3"):
        run(("sacct",))
    put(programs, "sacct", "kill -9 $$")
    with pytest.raises(SlurmError, match="ended by signal 9"):
        run(("sacct",))
    put(programs, "scontrol", "echo 'Node nix not found'; exit 1")
    with pytest.raises(SlurmError, match="scontrol: failed: Node nix not found"):
        run(("scontrol", "show", "node", "nix"))
