"""Settings of `forestall serve`: what a file says, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.live.serving.places import tokens_of
from forestall.live.serving.real import submits_for, user_id
from forestall.live.serving.settings import (
    LiveSettings,
    ServeTable,
    SlurmTable,
    live_settings,
    read_live_settings,
)

ALL = """
[serve]
ledger = "postgresql://forestall@db/forestall"
tokens = "/var/lib/forestall/tokens"
host = "::1"
port = 9000
socket = "/run/forestall/api.sock"
operators = ["root", "slurm"]
cycle = "1m"
rate = 5

[guard]
floor_percent = 80

[keeper]
switch = "approve"

[warden]
switch = "on"
socket = "/run/forestall-warden/warden.sock"
user = "root"
users = ["root"]
approve = []

[rules]
drain = ["risk"]

[slurm]
via = "rest"
url = "unix:/run/slurmrestd"
submit_as_owner = false
"""


def test_every_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "forestall.toml"
    path.write_text(ALL)
    read = read_live_settings(path)
    assert (read.serve.port, read.serve.cycle, read.serve.rate) == (9000, 60, 5)
    assert read.serve.operators == ("root", "slurm")
    assert read.guard.floor_percent == 80
    assert (read.guard.keeper.switch, read.guard.warden.switch) == ("approve", "on")
    assert read.guard.warden.approve == ()
    assert read.warden.users == ("root",)
    assert read.rules.drain == ("risk",)
    assert read.slurm.via == "rest"
    assert tokens_of(read) == Path("/var/lib/forestall/tokens")


def test_nothing_acts_by_default() -> None:
    read = live_settings({})
    assert (read.guard.keeper.switch, read.guard.warden.switch) == ("off", "off")
    assert read.serve.host == "127.0.0.1"
    assert not read.slurm.submit_as_owner


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[serv]\n", "table='serv'"),
        ("[serve]\nprot = 1\n", "serve.prot"),
        ("[serve]\nport = 70000\n", "serve.port"),
        ("[serve]\nport = true\n", "serve.port"),
        ("[serve]\nhost = 1\n", "serve.host"),
        ("[serve]\noperators = 'root'\n", "operators"),
        ("[serve]\ncycle = 0\n", "serve.cycle"),
        ("[slurm]\nvia = 'ssh'\n", "slurm.via"),
        ("[slurm]\nsubmit_as_owner = 1\n", "slurm.submit_as_owner"),
        ("[warden]\nusers = [1]\n", "users"),
        ("[rules]\ndrain = ['all']\n", "drain"),
        ("serve = 1\n", "serve"),
        ("[serve\n", "is not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "forestall.toml"
    path.write_text(text)
    with pytest.raises(TraceError) as caught:
        read_live_settings(path)
    assert said.partition("=")[0] in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tokens_stand_beside_a_ledger_that_is_a_file() -> None:
    of = LiveSettings(ServeTable(ledger="sqlite:////var/x.db"))
    assert tokens_of(of) == Path("/var/x.db.tokens")
    for ledger in ("", "postgresql://u@h/d"):
        with pytest.raises(ParameterError, match="tokens"):
            tokens_of(LiveSettings(ServeTable(ledger=ledger)))


def test_jobs_are_submitted_as_this_user_only() -> None:
    may = submits_for(SlurmTable(via="rest", url="http://h:1", user="slurm"))
    assert may("slurm")
    assert not may("alice")
    with pytest.raises(ParameterError, match="submit_as_owner"):
        submits_for(SlurmTable(via="rest", url="http://h:1", submit_as_owner=True))
    with pytest.raises(ParameterError, match=r"warden\.user"):
        user_id("nobody-has-this-name", "warden.user")
