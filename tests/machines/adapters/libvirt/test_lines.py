"""Lines to hosts that may not answer. libvirt's own test driver stands for a host."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from forestall.machines.acting.hosts.pool import HostCallError
from forestall.machines.adapters.libvirt.lines import HostLine

libvirt = pytest.importorskip("libvirt", reason="libvirt-python is not installed")


def test_an_answer() -> None:
    line = HostLine("h1", "test:///default")
    assert line.ask(lambda connection: connection.getURI(), 10) == "test:///default"
    assert line.alive()


def test_one_that_hangs_is_not_asked_again_until_it_answered() -> None:
    line, go = HostLine("h1", "test:///default"), threading.Event()

    def hang(connection: Any) -> int:
        go.wait(20)
        return 1

    call = line.begin(hang)
    with pytest.raises(HostCallError, match="gave no answer within 0 s") as error:
        call.answer(0.01)
    assert error.value.silent
    with pytest.raises(HostCallError, match="has not answered for"):
        line.ask(lambda connection: 2, 1)
    go.set()
    assert call.answer(10) == 1
    assert line.ask(lambda connection: 2, 10) == 2


def test_a_no_is_no_silence() -> None:
    line = HostLine("h1", "test:///default")
    with pytest.raises(HostCallError, match="h1: Domain not found") as error:
        line.ask(lambda connection: connection.lookupByName("nobody"), 10)
    assert not error.value.silent


def test_nobody_is_there() -> None:
    line = HostLine("h1", "qemu+tcp://127.0.0.1:1/system")
    with pytest.raises(HostCallError, match="h1: ") as error:
        line.ask(lambda connection: 1, 20)
    assert error.value.silent
