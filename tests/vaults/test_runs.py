"""The lease of a run: one at a time, taken over from the dead only, and known to be lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError
from forestall.vaults import keys, runs
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.runs import (
    RunBusyError,
    RunHistory,
    RunLease,
    Sign,
    checked_name,
    read_history,
    write_history,
)
from vaults.hosts_that_fail import TestHost, hosts

LIFE = 1.2


@pytest.fixture
def there() -> list[TestHost]:
    return hosts(3)


@pytest.fixture
def vault(there: list[TestHost]) -> Vault:
    return Vault.open(there, begin=VaultRules())


def write(vault: Vault, sign: Sign) -> None:
    vault.put_told(f"{keys.RUNS}job/lease-other", asdict(sign))


def elsewhere(**changes: object) -> Sign:
    return replace(Sign(), host="far", place="far", held=True, life=LIFE, **changes)


def test_one_at_a_time(vault: Vault) -> None:
    first = RunLease(vault, "job", LIFE)
    first.take()
    with pytest.raises(RunBusyError, match=f"job runs on {os.uname().nodename}"):
        RunLease(vault, "job", LIFE).take()
    RunLease(vault, "other", LIFE).take()
    assert first.check()
    first.close()
    second = RunLease(vault, "job", LIFE)
    second.take()
    assert second.left_at is None
    second.close()


def test_who_gives_no_sign_is_dead_after_a_while(vault: Vault) -> None:
    write(vault, elsewhere(ran=12.5))
    begun, said = time.monotonic(), list[str]()
    one = RunLease(vault, "job", LIFE)
    one.take(said.append)
    assert time.monotonic() - begun >= LIFE
    assert "waiting for up to 1 s" in said[0]
    assert one.left_at == 12.5
    one.close()


def test_who_died_here_is_known_to_be_dead_at_once(vault: Vault) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          capture_output=True, check=True)  # fmt: skip
    write(vault, replace(Sign(), pid=int(gone.stdout), held=True, life=600.0, ran=3.0))
    one = RunLease(vault, "job", LIFE)
    one.take()
    assert one.left_at == 3.0
    one.close()


def test_who_was_taken_over_hears_of_it(vault: Vault) -> None:
    one = RunLease(vault, "job", LIFE)
    one.take()
    for key in vault.pool.keys(f"{keys.RUNS}job/")[0]:
        vault.pool.delete_everywhere(key)
    assert one.lost.wait(10)
    one.close()
    assert not vault.pool.keys(f"{keys.RUNS}job/")[0]


def test_hosts_that_are_away_take_no_lease_from_anybody(
    vault: Vault, there: list[TestHost]
) -> None:
    one = RunLease(vault, "job", LIFE)
    one.take()
    for host in there[:2]:
        host.away = True
    time.sleep(LIFE)
    assert one.check()
    for host in there[:2]:
        host.away = False
    assert one.check()
    one.close()


def test_of_many_who_ask_at_once_never_two_have_it(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs.secrets, "randbelow", lambda most: most * (id(object()) % 7) // 50)
    has, most, took = 0, 0, 0
    lock = threading.Lock()

    def ask() -> None:
        nonlocal has, most, took
        one = RunLease(vault, "job", 5.0)
        try:
            one.take()
        except RunBusyError:
            return
        with lock:
            has, took = has + 1, took + 1
            most = max(most, has)
        time.sleep(0.02)
        with lock:
            has -= 1
        one.close()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most <= 1
    again = RunLease(vault, "job", LIFE)
    again.take()
    again.close()


def test_history(vault: Vault, there: list[TestHost]) -> None:
    assert read_history(vault, "job") == RunHistory()
    told = RunHistory(("a", "b"), 2, 1, 5.5, 1.0, 0.25, 3, 100, 200, 0)
    write_history(vault, "job", told)
    there[0].away = True
    assert read_history(vault, "job") == told
    there[0].away = False
    vault.put_told(f"{keys.RUNS}job/history", {"odd": 1})
    assert read_history(vault, "job") == RunHistory()


@pytest.mark.parametrize("away", range(3))
def test_a_host_that_was_away_has_an_older_history(
    vault: Vault, there: list[TestHost], away: int
) -> None:
    """Whichever host answers first, the one that was written last counts, a fresh start too."""
    write_history(vault, "job", RunHistory(("a",), 5, ran=90.0, written=7))
    there[away].away = True
    newest = RunHistory(("a",), 1, code=0, written=8)
    write_history(vault, "job", newest)
    there[away].away = False
    for slow in range(3):
        there[slow].away = True
        assert read_history(vault, "job") == newest
        there[slow].away = False


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".x", "x" * 61, "a b", "a\n"])
def test_names(name: str) -> None:
    with pytest.raises(ParameterError, match="name: "):
        checked_name(name)


def test_a_lease_is_no_object_of_a_checkpoint(tmp_path: Path, vault: Vault) -> None:
    one = RunLease(vault, "job", LIFE)
    one.take()
    assert vault.names() == []
    one.close()
