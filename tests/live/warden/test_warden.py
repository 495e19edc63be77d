"""The warden and who asks it, in two real processes."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ForestallError, InputError, ParameterError
from forestall.core.model.live.intents import Action, Intent, Role
from forestall.live.act.actor import Effect, NotCarriedOutError
from forestall.live.act.executor import Executor
from forestall.live.guard.settings import RoleSettings
from forestall.live.ledger.check import check
from forestall.live.ledger.store import LiveLedger
from forestall.live.warden.client import WardenActor
from forestall.live.warden.protocol import (
    LONGEST,
    Ask,
    WardenReply,
    WardenRequest,
    WardenWord,
    packed,
    reply_of,
    request_of,
)
from forestall.live.warden.server import Warden, WardenSettings
from live.act.act_cases import SmallCluster, settings

DRAIN = Intent(Action.DRAIN, "n1", 900, 2000, "up by= boot=0", "likely to fail", {"p": 0.5})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@contextmanager
def warden(
    folder: Path, wrong: str = "", users: tuple[int, ...] = ()
) -> Iterator[subprocess.Popen[str]]:
    """Yield a warden's process."""
    call = (
        sys.executable, "-m", "live.warden.warden_process", str(folder / "socket"),
        str(folder / "journal"), wrong, *map(str, users or (os.getuid(),)),
    )  # fmt: skip
    there = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=there) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def actor(folder: Path, **more: float) -> WardenActor:
    return WardenActor(folder / "socket", **more)  # type: ignore[arg-type]


def deeds(folder: Path) -> list[str]:
    journal = folder / "journal"
    return journal.read_text().splitlines() if journal.exists() else []


def test_a_drain_is_carried_out_once(folder: Path) -> None:
    with warden(folder):
        mine = actor(folder, user=os.getuid())
        assert mine.is_here()
        assert mine.effect_of(DRAIN) == Effect.NOT_DONE
        mine.carry_out(DRAIN)
        assert mine.effect_of(DRAIN) == Effect.DONE
        with pytest.raises(InputError, match="handed over before"):
            mine.carry_out(DRAIN)
    with warden(folder):  # another one, which remembers nothing, finds the effect
        actor(folder).carry_out(DRAIN)
    assert len(deeds(folder)) == 1


def test_only_its_users_are_answered(folder: Path) -> None:
    with warden(folder, users=(os.getuid() + 1,)):
        with pytest.raises(ConnectionError):
            actor(folder).carry_out(DRAIN)
        assert actor(folder).effect_of(DRAIN) == Effect.UNKNOWN
        assert not actor(folder).is_here()
    with warden(folder):
        with pytest.raises(NotCarriedOutError, match="its listener is not the warden's user"):
            actor(folder, user=os.getuid() + 1).carry_out(DRAIN)
        mode = stat.S_IMODE((folder / "socket").stat().st_mode)
        assert mode & 0o007 == 0, "nobody else may even connect"
    assert deeds(folder) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_another_user_of_this_machine(folder: Path) -> None:
    """Also where the folder and the socket let everybody in, the kernel says who asks."""
    with warden(folder):
        for place in (folder, *folder.parents[:2]):
            place.chmod(place.stat().st_mode | 0o055)
        (folder / "socket").chmod(0o777)
        code = (
            "import os, sys, socket; os.setgid(65534); os.setuid(65534)\n"
            "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
            "s.sendall(sys.stdin.buffer.read()); sys.stdout.buffer.write(s.recv(100))"
        )
        done = subprocess.run(
            (sys.executable, "-c", code, str(folder / "socket")),
            input=packed(WardenRequest(Ask.CARRY_OUT, DRAIN)), capture_output=True, check=False,
        )  # fmt: skip
        assert done.stdout == b""
        assert actor(folder).is_here()
    assert deeds(folder) == []


def test_it_has_limits_of_its_own(folder: Path) -> None:
    with warden(folder):
        mine = actor(folder)
        late = Intent(Action.DRAIN, "n1", 900, 1000, "", "")
        other = Intent(Action.REQUEUE, "17", 900, 2000, "", "", promise="p1")
        for intent, why in ((late, "it expired 0 s ago"), (other, "a warden may not requeue")):
            with pytest.raises(NotCarriedOutError, match=why):
                mine.carry_out(intent)
        for number in range(3):
            mine.carry_out(Intent(Action.DRAIN, f"n{number}", 900, 2000, "", ""))
        with pytest.raises(NotCarriedOutError, match="3 actions within an hour; at most 3"):
            mine.carry_out(Intent(Action.DRAIN, "n9", 900, 2000, "", ""))
    assert len(deeds(folder)) == 3


@pytest.mark.parametrize(("wrong", "count"), [("die before", 0), ("die after", 1)])
def test_it_is_killed_as_it_acts(folder: Path, wrong: str, count: int) -> None:
    """Nobody knows at first; the next one sees what came of it."""
    with warden(folder, wrong), pytest.raises(ConnectionError):
        actor(folder).carry_out(DRAIN)
    with pytest.raises(NotCarriedOutError, match="no warden: Connection refused"):
        actor(folder).carry_out(DRAIN)
    with warden(folder):  # the dead one's socket is replaced
        effect = actor(folder).effect_of(DRAIN)
    assert (effect == Effect.DONE, len(deeds(folder))) == (bool(count), count)


def test_no_answer_in_time(folder: Path) -> None:
    with warden(folder, "slow"), pytest.raises(TimeoutError):
        actor(folder, wait=0.5).carry_out(DRAIN)
    assert len(deeds(folder)) == 1


def test_a_cluster_that_cannot_be_seen(folder: Path) -> None:
    with warden(folder, "blind"):
        with pytest.raises(NotCarriedOutError, match="the cluster cannot be seen"):
            actor(folder).carry_out(DRAIN)
        assert actor(folder).effect_of(DRAIN) == Effect.UNKNOWN
    assert deeds(folder) == []


def test_one_warden_at_a_socket_and_a_clean_end(folder: Path) -> None:
    with warden(folder) as process:
        role = RoleSettings("on")
        second = Warden(
            WardenSettings(folder / "socket", frozenset(), role), actor(folder), lambda: 0
        )
        with pytest.raises(InputError, match="another warden listens there"):
            second.serve()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert not (folder / "socket").exists()
    (folder / "socket").write_text("a file")
    with pytest.raises(InputError, match="cannot listen on it"):
        second.serve()


def raw(folder: Path, sent: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(20)
        link.connect(str(folder / "socket"))
        try:
            link.sendall(sent)
            link.shutdown(socket.SHUT_WR)
            return link.recv(LONGEST)
        except ConnectionError:
            return b""


def test_nonsense_does_no_harm(folder: Path) -> None:
    good = packed(WardenRequest(Ask.CARRY_OUT, DRAIN))
    nonsense: list[bytes] = [
        b"", b"\n", b"x\n", b"[]\n", b"{}\n", b"\xff\xfe\n", good[:-1], good[:40] + b"\n",
        b'{"ask":"carry out","intent":null,"version":1}\n', good.replace(b"n1", b""),
        good.replace(b'"version":1', b'"version":2'),
        good.replace(b'"n1"', b'"n1; reboot"'), good.replace(b'"n1"', b'"-n1"'),
        good.replace(b'"drain"', b'"look"'), b"[" * 60_000 + b"\n", b"x" * (2 * LONGEST),
    ]  # fmt: skip
    with warden(folder):
        for sent in nonsense:
            answer = raw(folder, sent)
            assert not answer or reply_of(answer).said == WardenWord.REFUSED
        assert actor(folder).is_here()
    assert deeds(folder) == []


def test_who_says_nothing_is_not_waited_for_long(folder: Path) -> None:
    """Others are answered after the patience with one who does not end a message."""
    with warden(folder), socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(folder / "socket"))
        silent.sendall(b'{"ask"')
        assert actor(folder).is_here()


@given(st.binary(max_size=200))
def test_lines_that_are_no_messages(line: bytes) -> None:
    for read in (request_of, reply_of):
        with pytest.raises(ParameterError):
            read(line)  # type: ignore[operator]


@pytest.mark.parametrize("ask", list(Ask))
def test_messages_come_back(ask: Ask) -> None:
    request = WardenRequest(ask, None if ask == Ask.HERE else DRAIN)
    assert request_of(packed(request)) == request
    for said in WardenWord:
        assert reply_of(packed(WardenReply(said, "why \n ☃"))) == WardenReply(said, "why \n ☃")
    with pytest.raises(ParameterError, match="at most 65536 bytes"):
        packed(WardenRequest(Ask.EFFECT_OF, Intent(Action.DRAIN, "n", 1, 2, "x" * LONGEST, "")))


@pytest.mark.parametrize("wrong", ["", "die before", "die after", "slow"])
def test_the_whole_path(folder: Path, wrong: str) -> None:
    """A controller without rights, its ledger, and a warden that dies: done once, or not at all."""
    cluster = SmallCluster.of(10)
    url = f"sqlite:///{folder / 'ledger.db'}"
    one = cluster.intend(Action.DRAIN, "n1")
    with LiveLedger(url) as ledger:
        made = _executor(ledger, folder, cluster.clock)
        made.propose([one])
        with warden(folder, wrong):
            made.step(cluster.look())
    with LiveLedger(url) as ledger:
        made = _executor(ledger, folder, cluster.clock)
        made.step(cluster.look())
        assert made.half_way() == [one], "without a warden nobody knows"
        with warden(folder):
            cluster.now += 200
            [*_, last] = made.step(cluster.look())
        assert last.state == ("failed" if wrong == "die before" else "confirmed")
        assert check(ledger).adds_up
    assert len(deeds(folder)) == (wrong != "die before")


def _executor(ledger: LiveLedger, folder: Path, clock: Callable[[], int]) -> Executor:
    return Executor(ledger, {Role.WARDEN: actor(folder, wait=1.0)}, settings(), clock)


def test_errors_are_of_the_tree() -> None:
    assert issubclass(NotCarriedOutError, ForestallError)
