"""What `make fuzz` found, as small as it could be made: each is refused in one line, or read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from core.commands.calls import call, failure_log, job_log
from fuzz.judge import CONTROLS, DIRECTIONS
from fuzz.logs import CLUSTER, RECORDED, RUN, TOPOLOGY


class Find(NamedTuple):
    """A file, the command that read it, and what is said now: in a refusal (code 2) or in what is
    printed (code 0)."""

    name: str
    content: bytes
    command: str
    said: str
    code: int = 2


def recorded(name: str, *changes: tuple[bytes, bytes]) -> bytes:
    data = (RECORDED / "24.11" / name).read_bytes()
    for old, new in changes:
        assert old in data
        data = data.replace(old, new)
    return data


def toml(lines: list[str], old: str, new: str) -> bytes:
    text = "\n".join(lines)
    assert old in text
    return text.replace(old, new).encode()


JOBS = b"job,submit,size,runtime\n"
DIGITS = "9" * 5000
DEEP = "[" * 3000 + "]" * 3000
LATIN = (b"n3|Not", b"n\xe93|Not")

FINDS = (
    Find("latin.csv", b"time,node\n5,caf\xe9\n9,b\n", "traces info {}", "line that is not UTF-8",
         0),
    Find("latin.csv", b"# names: caf\xe9,b\ntime,node\n5,b\n", "traces convert {} out.csv", "", 0),
    Find("events.txt", recorded("sacctmgr.event.txt", LATIN), "import slurm {} --out site", "", 0),
    Find("events.txt", recorded("sacctmgr.event.txt", LATIN), "report {}", "is not UTF-8", 0),
    Find("nodes.txt", recorded("scontrol.node.txt", (b"=head", b"=h\xe9ad")),
         "import slurm sacct.txt {} --out site", "", 0),
    Find("starts.txt", b"# asked: 2026-11-21T21:23:30\n" + recorded("squeue.start.txt",
         (b"   39 ", b"\xa0 39 ")), "import slurm sacct.txt {} --out site", "", 0),
    Find("sacct.json", b'{"jobs": [{"job_id": 1, "name": "\\ud800", "state": {"current": "FAILED"},'
         b' "time": {"submission": 1767225600, "start": 1767225600, "end": 1767225700}}]}',
         "report {}", "sacct.json", 0),
    Find("cluster.toml", toml(CLUSTER, '"steady"', DIGITS), "design {}", "is not TOML"),
    Find("cluster.toml", toml(CLUSTER, '"steady"', DEEP), "design {}", "is nested too deep"),
    Find("users.toml", b"[[users]]\nleast = " + DIGITS.encode(),
         "simulate jobs.csv --nodes 16 --users {}", "is not TOML"),
    Find("users.toml", b"[[users]]\nleast = 7", "simulate jobs.csv --nodes 16 --users {}",
         "users.toml: "),
    Find("run.toml", toml(RUN, '"easy"', DEEP), "simulate jobs.csv --config {}",
         "is nested too deep"),
    Find("run.toml", toml(RUN, '"2m"', "1" + "0" * 400), "simulate jobs.csv --config {}",
         "is not TOML ('downtime': a whole number of more than 64 bits)"),
    Find("run.toml", toml(RUN, '"2m"', '"' + "1" * 5000 + '-00:00:00"'),
         "simulate jobs.csv --config {}", "run.toml: downtime: "),
    Find("run.toml", toml(RUN, '"2m"', "-1"), "simulate jobs.csv --config {}",
         "run.toml: downtime: '-1' is not allowed"),
    Find("answer.json", b'{"data": ' + DEEP.encode() + b"}", "traces info {} --as metrics",
         "is nested too deep"),
    Find("jobs.csv", JOBS + b"1,0,1,10\n1,5,1,10\n", "traces info {}",
         "1 repeated job id", 0),
    Find("jobs.csv", JOBS[:-1] + b",user\n1,0,1,10," + DIGITS.encode() + b"\n",
         "traces convert {} out.swf", "", 0),
    Find("usage.txt", b"1000000900 806 4 1000000100 0 0 1000000200 4.0 2.0 6.0 2\n",
         "traces convert {} out.csv", "", 0),
    Find("log.csv", b",Timestamp,SSC,SSU,Enclosure,Slot,Rack id,Unique enclosure\n"
         b"0,2019-01-04T19:00:00-0500,2,g,1,29,8,1\n1,9999-12-31T23:59:59-0500,2,g,1,29,8,1\n"
         b"2,2019-02-04T19:00:00-0500,2,g,1,29,8,2\n", "report --failures {} --full",
         "1 row with an unusable Timestamp", 0),
    Find("windows.csv", b"start,end,nodes\n0,5,n[1-\n",
         "simulate jobs.csv --nodes 16 --maintenance {}", "windows.csv: "),
    Find("topology.conf", b"\xff".join(line.encode() for line in TOPOLOGY),
         "simulate jobs.csv --nodes 16 --topology {}", "topology.conf:1: is not UTF-8"),
    Find("ras.log", b"2005-06-05-01.55.08.697467 R11-M0 RAS KERNEL FATAL rts panic!\n"
         b"2005-06-05-02.55.08.697467 R11-M0 RAS KERNEL FA\n2005-06-05-03.5",
         "traces filter {} --out found.csv", "", 0),
    Find("wide.swf", b"; UnixStartTime: 1767225600\n" + b"".join(
         b"%d 0 0 %d 1000000 -1 -1 -1 -1 -1 1 1 1 -1 1 -1 -1 -1\n" % (k, 2**35)
         for k in range(1, 200)), "report {}", "wide.swf: its runs took 1.9e+15 node-hours"),
    Find("arms.csv", b"node,arm,pair\nn1,act,0\nn2,control,0\nn3,act,1\n",
         "assess trial {} sacct.txt", "arms.csv: pair: expected one node to act on"),
    Find("cluster.toml", toml(CLUSTER, 'ages = "steady"', "ages = 1e308"), "design {} --json", "",
         0),
    Find("meminfo", b"#Time,Time_usec,ProducerName,component_id,job_id,app_id,MemTotal,Active\n"
         + b"".join(b"17672252%02d.000,0,n0,0,0,0,1e-320,244\n" % k for k in range(20)),
         "traces info {} --as metrics", "", 0),
    Find("records.csv", b"job,start,end,state,nodes,cores\n1,9000,10399,FAILED,n[4-6],12\n"
         b"2,109000,110399,FAILED,n[4-6],12\n",
         "assess plan-trial {} --effect 0.3", "records.csv: holds 1 days of "),
    Find("serve.toml", b"[serve]\nledger = 'sqite:///l.db'\noperators = ['ops']\n",
         "doctor --settings {}", "serve.toml: ledger: 'sqite:///l.db' is not allowed"),
    Find("jobs.swf", b"1 0 0 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n",
         "futures {} --at 2026-01-01T04:00", "jobs.swf"),
    Find("jobs.swf", b"; UnixStartTime: 1767225600\n1 0 0 60 1 -1 -1 1 60 -1 1 1 1 -1 1 -1 -1 -1\n",
         "futures {} --at 2026-01-01T04:00", "jobs.swf"),
    Find("events.txt", recorded("sacctmgr.event.txt", (b"|maint", b"|" + 40_000 * b"maint.7 (")),
         "report {}", "", 0),
    Find("events.txt", recorded("sacctmgr.event.txt").splitlines()[0] + b"\n",
         "import slurm {} --out site --anonymize", "is empty: it begins and ends at"),
    Find("disks.csv", b"date,serial_number,model,failure\n2005-06-05,s1,M,1\n2405-06-06,s2,M,1\n",
         "report --failures {} --full", "", 0),
    Find("cluster.toml", toml(CLUSTER, "waiting = 5", "waiting = 1e308"), "design {} --json",
         "prices.waiting: 1e+308 is not allowed"),
    Find("serve.toml", b"[serve]\nledger = 'sqlite:///l.db'\noperators = ['ops']\n[guard]\n"
         b"floor_percent = 1" + b"0" * 400 + b"\n", "doctor --settings {}", "floor_percent"),
    Find("day.csv", b"vm,t000,t001,t002\nvm0,1,2,3\nn0,4,5,6\n",
         "assess collection failures.csv --metrics {}", "both end in 0"),
    Find("alarms.csv", b"time,node\n100,1\n", "assess alarms {} --failures failures.csv", "", 0),
    Find("l.db.tokens", b'{"version": 1, "tokens": [{"name": "a", "role": "user", "hash": "cb",'
         b' "made": 4611686018427387904}]}', "serve token list --ledger sqlite:///l.db",
         "made 4611686018427387904 s after 1970"),
    Find("l.db.tokens", b'{"version": [' + b"null, " * 2000 + b"null]}",
         "serve token list --ledger sqlite:///l.db", "of version [None, None"),
    Find("run/summary.json", b'{"utilization": "' + b"x" * 200_000 + b'"}',
         "certify run", "xxx... is not"),
    Find("alarms.csv", b"time,node\n900000000,1\n",
         "assess alarms {} --failures failures.csv --days 2", "No alarms", 0),
)  # fmt: skip


@pytest.mark.parametrize("find", FINDS, ids=lambda find: f"{find.name}-{find.command.split()[0]}")
def test_what_was_found(
    find: Find,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    job_log(tmp_path / "jobs.csv", 10)
    failure_log(tmp_path / "failures.csv")
    (tmp_path / "sacct.txt").write_bytes(recorded("sacct.jobs.txt"))
    (tmp_path / find.name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / find.name).write_bytes(find.content)
    (tmp_path / find.name).chmod(0o600)
    before = set(tmp_path.iterdir())
    done = call(capsys, *find.command.format(find.name).split())
    said = done.out + done.err
    assert done.code == find.code, said
    assert find.said in " ".join(said.split())
    assert not CONTROLS.search(said)
    assert not DIRECTIONS.search(said)
    if done.code:
        assert done.err.startswith("forestall: ")
        assert done.err.count("\n") == 1
        assert set(tmp_path.iterdir()) == before
