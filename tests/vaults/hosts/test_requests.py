"""Requests that do not go on: they are given up, the host is set aside, and nobody else waits."""

from __future__ import annotations

import threading
import time

import pytest

from forestall.vaults.hosts.host import HostError
from forestall.vaults.hosts.progress import ENTRY, RATE, UNSEEN, RequestProgress, progress_here
from forestall.vaults.hosts.requests import HostRequests
from forestall.vaults.pool import AGAIN, HostPool
from vaults.hosts_that_fail import TestHost, hosts


class HangingHost(TestHost):
    """A host whose gets do not return until they are let go."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.let_go = threading.Event()

    def get(self, key: str) -> bytes:
        assert self.let_go.wait(60)
        return super().get(key)


@pytest.mark.parametrize(
    ("silence", "moves", "late"),
    [
        (10, [], True),
        (10, [(5, 1), (9, 1)], True),  # a byte each few seconds is no progress
        (10, [(9.9, 10 * RATE)], False),
        (10, [(1, 10 * RATE - 1)], True),
        (30, [(9.9, 1)], False),
    ],
)
def test_a_window_of_progress(silence: float, moves: list[tuple[float, int]], late: bool) -> None:
    progress = RequestProgress(silence)
    begun = time.monotonic()
    for after, count in moves:
        assert not progress.is_late(begun + after - 0.1)
        progress.add(count)
    assert progress.is_late(begun + 10.5) == late


def test_windows_follow_one_another_and_what_nobody_sees_is_allowed_for() -> None:
    progress, begun = RequestProgress(10), time.monotonic()
    progress.add(10 * RATE)
    assert not progress.is_late(begun + 10.5)
    assert progress.is_late(begun + 20.6), "what was moved before does not count"
    progress.restart()
    progress.expect(5 * UNSEEN)
    progress.add(ENTRY)
    assert not progress.is_late(time.monotonic() + 14.5)
    assert progress.is_late(time.monotonic() + 15.5)


def test_what_a_thread_moves_counts_for_its_own_request() -> None:
    requests = HostRequests("store", 2)
    one, other = RequestProgress(10), RequestProgress(10)
    requests.submit(lambda: progress_here().add(7), one).result(10)
    assert (one._moved, other._moved) == (7, 0)
    progress_here().add(9)  # of no request
    assert one._moved == 7
    requests.end()


def test_requests_are_given_up_with_what_waits_behind_them() -> None:
    requests, hold = HostRequests("store", 2), threading.Event()
    hung = [requests.submit(lambda: hold.wait(60), RequestProgress()) for _ in range(2)]
    behind = requests.submit(lambda: 3, RequestProgress())
    while not hung[1].running():
        time.sleep(0.001)
    requests.give_up(HostError("h", "set aside"))
    for one in (*hung, behind):
        with pytest.raises(HostError, match="set aside"):
            one.result(10)
    assert requests.is_idle
    assert requests.submit(lambda: 4, RequestProgress()).result(10) == 4, "other threads go on"
    hold.set()
    requests.end()


def test_a_host_that_hangs_costs_its_silence_once() -> None:
    hung, others = HangingHost("hung"), hosts(2)
    for one in (hung, *others):
        one.objects["vault"] = b"x"
    with HostPool([hung, *others]) as pool:
        told = pool.each(lambda host: host.get("vault"), silence=0.2)
        assert (told[1], told[2]) == (b"x", b"x")
        assert isinstance(told[0], HostError)
        assert "silent or nearly so for 0.2 s" in str(told[0])
        again = pool.get(0, "vault")
        assert again.done(), "it is not asked again"
        assert pool.by_speed()[-1] == 0
        assert [one.store for one in pool.away] == ["hung"]
        assert pool.put_everywhere("leases/a", b"1", least=2).keys() == {0}
        with pytest.raises(HostError, match="silent or nearly so"):
            pool.put_everywhere("leases/a", b"1", least=3)
        hung.let_go.set()
        checked = []
        pool.check = lambda host: checked.append(host.name)
        pool.seen[0].until -= AGAIN + 1  # some minutes later it is asked again, once it is known
        assert pool.get(0, "vault").result(10) == b"x"
        assert checked == ["hung"]
        assert pool.away == []


def test_a_process_that_stood_still_does_not_blame_its_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Time passes while a process is stopped, and no host can do anything about it."""
    slow, ahead = HangingHost("slow"), [0.0]
    slow.objects["vault"] = b"x"
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + ahead[0])
    with HostPool([slow]) as pool:
        under_way = pool.get(0, "vault")
        time.sleep(0.4)
        ahead[0] = 7200.0
        time.sleep(0.6)
        assert not under_way.done()
        slow.let_go.set()
        assert under_way.result(10) == b"x"
        assert pool.away == []
