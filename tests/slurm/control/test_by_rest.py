"""slurmrestd of the newer versions, played by a server of ours: what is asked, and what is made of
answers that are late, cut, too large, or no."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.slurm.cluster.actions import (
    DrainNode,
    Exclude,
    Hold,
    RebootNode,
    Release,
    Requeue,
    Reserve,
    ResumeNode,
    SignalJob,
    StartNow,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.standing import Standing
from forestall.slurm.control import requests
from forestall.slurm.control.by_commands import SlurmLimits
from forestall.slurm.control.by_rest import SlurmRest
from forestall.slurm.control.http import Server

TYPED = Path(__file__).parent / "typed"
NOW = 1_800_000_300


class Played:
    """A slurmrestd that speaks one version, with one job, node and reservation."""

    def __init__(self, version: int) -> None:
        number = 43 if version > 44 else version
        self.version = version
        self.whole: dict[str, Any] = json.loads((TYPED / f"v0.0.{number}.json").read_bytes())
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: tuple[int, bytes] | None = None
        self.hang = threading.Event()
        self.late = self.cut = False
        self.on: dict[str, dict[str, Any]] = {}
        """What becomes of the job when a path with such an end is asked for."""

    @property
    def job(self) -> dict[str, Any]:
        return self.whole["jobs"][0]  # type: ignore[no-any-return]

    @property
    def node(self) -> dict[str, Any]:
        return self.whole["nodes"][0]  # type: ignore[no-any-return]

    def told(self, path: str) -> tuple[int, dict[str, Any]]:
        base, name, *rest = path.removeprefix("/slurm").removeprefix("db").strip("/").split("/")
        if base != f"v0.0.{self.version}":
            return 404, {}
        if "slurmdb" in path:
            return 200, {"jobs": [], "errors": []}
        if name == "job" and rest == ["submit"]:
            return 200, {"job_id": 18, "errors": []}
        if rest and name == "reservation":
            found = [one for one in self.whole["reservations"] if one["name"] == rest[0]]
            errors = [] if found else [{"error": "Requested reservation is invalid"}]
            return (200 if found else 500), {"reservations": found, "errors": errors}
        if name == "partitions":
            flags: dict[str, Any] = {"flags": ["DEFAULT"]} if self.version > 43 else {}
            partitions = [{"name": "spare", "flags": []}, {"name": "main", **flags}]
            return 200, {"partitions": partitions, "errors": []}
        return 200, self.whole

    def writes(self) -> list[tuple[str, str, Any]]:
        """Return what was asked that acts: method, path behind the version, body."""
        base = f"/slurm/v0.0.{self.version}/"
        acts = [one for one in self.asked if one[0] != "GET" or one[1].endswith("requeue")]
        return [(method, path.removeprefix(base), body) for method, path, body in acts]


class Handler(BaseHTTPRequestHandler):
    """Answers as the server's `played` says."""

    def log_message(self, *_: object) -> None:
        pass

    def _do(self) -> None:
        played: Played = self.server.played  # type: ignore[attr-defined]
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        played.asked.append((self.command, self.path, body))
        played.headers.append(dict(self.headers))
        if played.late:
            played.hang.wait(20)
        played.job.update(played.on.pop(self.path.rpartition("/")[2], {}))
        status, told = played.told(self.path.partition("?")[0])
        raw = json.dumps(told).encode()
        if played.answer is not None and "/ping" not in self.path:
            status, raw = played.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2] if played.cut else raw)
        if played.cut:
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_POST = do_DELETE = _do  # noqa: N815 - as the standard library calls them


@pytest.fixture(params=[45])
def played(request: pytest.FixtureRequest) -> Iterator[Played]:
    one = Played(request.param)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.played = one  # type: ignore[attr-defined]
    one.address = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield one
    one.hang.set()
    server.shutdown()
    thread.join()
    server.server_close()


def cluster(played: Played, **limits: Any) -> SlurmRest:
    server = Server(played.address, "ada", lambda: "token\n")  # type: ignore[attr-defined]
    return SlurmRest(server, SlurmLimits(**limits), lambda: NOW)


def test_the_newest_version_that_both_speak(played: Played) -> None:
    played.version = 41
    assert cluster(played).version() == 41
    assert [path for _, path, _ in played.asked] == [
        f"/slurm/v0.0.{number}/ping" for number in (45, 44, 43, 42, 41)
    ]
    assert played.headers[0]["X-SLURM-USER-TOKEN"] == "token"
    assert played.headers[0]["X-SLURM-USER-NAME"] == "ada"


def test_a_look_asks_five_questions(played: Played) -> None:
    snapshot = cluster(played).look()
    assert list(snapshot.jobs) == [17]
    assert list(snapshot.nodes) == ["n1"]
    assert snapshot.told_at == 1_800_000_200
    assert snapshot.accounting is None
    paths = [path.split("/")[-1] for _, path, _ in played.asked]
    since = NOW - 3600 - 300
    assert paths == [
        "ping", "reservations", "partitions", "nodes", "jobs", f"jobs?start_time=uts{since}",
    ]  # fmt: skip


@pytest.mark.parametrize(("version", "named", "found"), [
    (45, "", "main"), (45, "spare", "main"), (42, "", ""), (42, "spare", "spare"),
])  # fmt: skip
def test_the_default_partition(played: Played, version: int, named: str, found: str) -> None:
    played.version = version
    server = Server(played.address, "ada", lambda: "token")  # type: ignore[attr-defined]
    one = SlurmRest(server, SlurmLimits(), lambda: NOW, default=named)
    assert one.look().default == found


def test_actions_as_requests(played: Played) -> None:
    one = cluster(played)
    num = {"set": True, "infinite": False}
    one.act(Submit("p18", "#!/bin/sh\n", 2, 90, name="-x", excluded=("n3",), begin=NOW + 60,
                   signal="B:USR1@300", requeue="no"))  # fmt: skip
    one.act(Release("r1", 17, "h1"))
    one.act(Exclude("e1", 17, ("n5",)))
    one.act(ResumeNode("x1", "n1", "d1"))
    one.act(Unreserve("u1", "p17"))
    played.job.update(state_reason="BeginTime", priority=num | {"number": 5}, hold=False)
    one.act(StartNow("w1", 17))
    one.act(Hold("h2", 17))
    played.job.update(job_state=["RUNNING"])
    one.act(Requeue("q1", 17, 1))
    one.act(SignalJob("s1", 17, "USR1"))
    played.node.update(state=["IDLE"], reason="")
    one.act(DrainNode("d2", "n1", "fails: 31 %"))
    note = "see RT 7 forestall:hold=h1 forestall:act="
    assert played.writes() == [
        ("POST", "job/submit", {"script": "#!/bin/sh\n", "job": {
            "name": "-x", "comment": "forestall:p18", "time_limit": num | {"number": 2},
            "current_working_directory": "/tmp", "requeue": False, "nodes": "2",
            "environment": ["PATH=/usr/local/bin:/usr/bin:/bin"], "kill_warning_signal": "USR1",
            "kill_warning_delay": {"set": True, "number": 300},
            "kill_warning_flags": ["BATCH_JOB"], "excluded_nodes": ["n3"],
            "begin_time": num | {"number": NOW + 60},
        }}),
        ("POST", "job/17", {"admin_comment": "see RT 7 forestall:act=r1?"}),
        ("POST", "job/17", {"hold": False}),
        ("POST", "job/17", {"admin_comment": "see RT 7 forestall:act=r1"}),
        ("POST", "job/17", {"excluded_nodes": ["n3", "n4", "n5"], "admin_comment": f"{note}e1"}),
        ("POST", "node/n1", {"state": ["RESUME"]}),
        ("DELETE", "reservation/forestall_p17", None),
        ("POST", "job/17", {"begin_time": num | {"number": NOW}}),
        ("POST", "job/17", {"hold": True,
                            "admin_comment": "see RT 7 forestall:hold=h2 forestall:act=h2"}),
        ("GET", "job/17/requeue", None),
        ("POST", "job/17", {"admin_comment": f"{note}s1?"}),
        ("DELETE", "job/17?signal=USR1&flags=BATCH_JOB", None),
        ("POST", "job/17", {"admin_comment": f"{note}s1"}),
        ("POST", "node/n1", {"state": ["DRAIN"], "reason": "forestall: fails: 31 % [d2]"}),
    ]  # fmt: skip


def test_elsewhere_is_held_kept_away_and_let_go(played: Played) -> None:
    """The job waits 2 s after it was queued again, and Slurm does not hold it by itself."""
    num = {"set": True, "infinite": False}
    played.job.update(job_state=["RUNNING"], restart_cnt=num | {"number": 1})
    played.on = {
        "requeue": {
            "job_state": ["PENDING"],
            "state_reason": "BeginTime",
            "hold": False,
            "priority": num | {"number": 5},
            "restart_cnt": num | {"number": 2},
        }
    }
    cluster(played).act(Requeue("q1", 17, 1, ("n1",)))
    acts = [(path, body) for _, path, body in played.writes()]
    assert [path for path, _ in acts] == ["job/17", "job/17/requeue", *["job/17"] * 4]
    bodies = [body for _, body in acts if body is not None]
    assert bodies[0]["admin_comment"].endswith("forestall:hold=q1 forestall:act=q1?")
    assert bodies[1] == {"hold": True}
    assert bodies[2]["excluded_nodes"] == ["n3", "n4", "n1"]
    assert bodies[3] == {"hold": False}
    assert bodies[4]["admin_comment"].endswith("forestall:act=q1")
    assert "hold=" not in bodies[4]["admin_comment"]


def test_elsewhere_that_slurm_overtook_is_refused(played: Played) -> None:
    """The job runs again, on the node that it was to leave, before it could be held."""
    num = {"set": True, "infinite": False}
    played.job.update(job_state=["RUNNING"], restart_cnt=num | {"number": 1}, nodes="n[1-2]")
    action, one = Requeue("q1", 17, 1, ("n1",)), cluster(played, write=0.4)
    played.on = {"requeue": {"restart_cnt": num | {"number": 2}}}
    with pytest.raises(WriteError, match="does not wait yet") as error:
        one.act(action)
    assert error.value.fault is WriteFault.AMBIGUOUS
    with pytest.raises(WriteError, match="started again on nodes that it was to leave") as error:
        one.find(action)
    assert error.value.fault is WriteFault.REFUSED
    played.job.update(nodes="n[3-4]")
    assert one.find(action) is Standing.DONE


def test_a_job_that_was_never_sent_is_submitted_without_the_queue(played: Played) -> None:
    one = cluster(played)
    told = one.act(Submit("p18", "#!/bin/sh\n", 2, 90, since=NOW, tried=False))
    assert (told.already, told.job) == (False, 18)
    paths = [path for _, path, _ in played.asked if "ping" not in path]
    assert paths == ["/slurm/v0.0.45/job/submit"]
    one.act(Submit("p18", "#!/bin/sh\n", 2, 90, since=NOW))  # again: it may be there
    assert "/slurm/v0.0.45/jobs" in [path for _, path, _ in played.asked]


def test_a_tag_that_somebody_copied_is_not_the_job(played: Played) -> None:
    one, owner = cluster(played), played.job["user_name"]
    assert one.find(Submit("p17", "#!/bin/sh\n", 2, 90, user=owner)) is Standing.DONE
    assert one.find(Submit("p17", "#!/bin/sh\n", 2, 90, user="eve")) is Standing.OPEN


def test_a_reservation_is_read_back(played: Played) -> None:
    """Slurm makes it smaller without a word; then it is none."""
    one = cluster(played)
    action = Reserve("p17", NOW, 3600, 2, users=("ada",))
    assert one.act(action).already
    before = played.whole["reservations"]
    played.whole["reservations"] = []
    with pytest.raises(WriteError, match="Slurm reserves 0 of 2 nodes"):
        one.act(action)
    ((method, path, body),) = played.writes()
    assert (method, path) == ("POST", "reservation")
    assert body["flags"] == ["FLEX", "REPLACE_DOWN", "PURGE_COMP", "NO_HOLD_JOBS_AFTER_END"]
    assert body["node_count"]["number"] == 2
    assert body["end_time"]["number"] == NOW + 3600
    played.whole["reservations"] = before
    assert one.find(action) is Standing.DONE


@pytest.mark.parametrize(
    ("action", "first"),
    [(Hold("a", 1), 40), (DrainNode("a", "n1", "x"), 40), (Requeue("a", 1, 0), 45),
     (Unreserve("a", "r"), 42),
     (Reserve("a", 1, 1, 1, users=("u",)), 43), (Submit("a", "#!", 1, 1), 38),
     (Submit("a", "#!", 1, 1, begin=5), 40)],
)  # fmt: skip
def test_what_each_version_can(action: Any, first: int) -> None:
    assert requests.lacking(action, first) == ""
    assert first == 38 or f"needs slurmrestd v0.0.{first}" in requests.lacking(action, first - 1)
    assert "scontrol can" in requests.lacking(RebootNode("a", "n1", "d", "x"), 45)


# What goes wrong ---------------------------------------------------------------------------------


def look_fault(played: Played, **limits: Any) -> LookFault:
    with pytest.raises(LookError) as raised:
        cluster(played, **limits).look()
    assert "\n" not in str(raised.value)
    return raised.value.fault


def write_fault(played: Played, **limits: Any) -> WriteFault:
    one = cluster(played, **limits)
    one.version()
    with pytest.raises(WriteError) as raised:
        one._tell(requests.resume(ResumeNode("x1", "n1", "d1")), "x1")
    return raised.value.fault


def test_late(played: Played) -> None:
    played.late = True
    assert look_fault(played, read=0.2) is LookFault.LATE


def test_late_writes_may_have_been_heard(played: Played) -> None:
    one = cluster(played, write=0.2)
    one.version()
    played.late = True
    with pytest.raises(WriteError) as raised:
        one._tell(requests.resume(ResumeNode("x1", "n1", "d1")), "x1")
    assert raised.value.fault is WriteFault.AMBIGUOUS


def test_cut_short(played: Played) -> None:
    cluster(played).version()
    played.cut = True
    assert look_fault(played) is LookFault.CUT


def test_too_large(played: Played) -> None:
    assert look_fault(played, most=500) is LookFault.TOO_LARGE


@pytest.mark.parametrize(
    ("status", "raw", "look", "write"),
    [
        (401, b"Authentication failure", LookFault.NOT_PERMITTED, WriteFault.NOT_PERMITTED),
        (500, b'{"errors": [{"error": "Unable to contact slurm controller"}]}',
         LookFault.UNREACHABLE, WriteFault.UNREACHABLE),
        (200, b'{"errors": [{"error": "Access/permission denied"}]}', LookFault.NOT_PERMITTED,
         WriteFault.NOT_PERMITTED),
        (500, b'{"errors": [{"error": "Invalid node name specified"}]}', LookFault.FAILED,
         WriteFault.UNKNOWN_ID),
        (500, b'{"errors": [{"error": "Job held"}]}', LookFault.FAILED, WriteFault.REFUSED),
        (502, b"<html>", LookFault.CUT, WriteFault.AMBIGUOUS),
        (500, b"{}", LookFault.FAILED, WriteFault.AMBIGUOUS),
        (200, b'{"errors": []}', LookFault.UNREADABLE, None),
    ],
)  # fmt: skip
def test_answers_that_say_no(
    played: Played, status: int, raw: bytes, look: LookFault, write: WriteFault | None
) -> None:
    played.answer = (status, raw)
    assert look_fault(played) is look
    if write is not None:
        assert write_fault(played) is write


def test_nobody_there() -> None:
    one = SlurmRest(Server("unix:/nowhere/slurmrestd.socket"))
    with pytest.raises(LookError) as raised:
        one.look()
    assert raised.value.fault is LookFault.UNREACHABLE
    with pytest.raises(WriteError) as refused:
        one.act(Hold("h1", 1))
    assert refused.value.fault is WriteFault.UNREACHABLE


@pytest.mark.parametrize("address", ["", "localhost:6820", "ftp://x", "http://", "unix:"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ParameterError, match="expected http://HOST:PORT"):
        Server(address)


def test_a_version_that_is_too_old_or_too_new(played: Played) -> None:
    played.version = 37
    with pytest.raises(LookError, match=r"none of v0\.0\.38 to v0\.0\.45"):
        cluster(played).version()
