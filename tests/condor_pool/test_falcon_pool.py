"""Falcon on four machines of a real HTCondor: the machine of least JCTF is taken, not the fastest,
and a guest that loses its machine goes on from its checkpoint on another one.

The owners' days are played by what the agents say. The jobs are real: a program that counts, run by
`forestall run` with a vault of three folders.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from condor_pool import trixie
from condor_pool.pool import FORESTALL, MANAGER, Pool
from forestall.sharing.adapters.condor.attributes import HOURS
from forestall.sharing.adapters.condor.config import PRE_JOB_RANK
from forestall.sharing.api.condor import condor_config, submit_lines, write_ad
from forestall.sharing.rules.horizons import HostHorizons

pytestmark = pytest.mark.slow
NAMES = ("ash", "birch", "cedar", "elm")
SURE = (1.0, 1.0, 0.99, 0.98, 0.97, 0.96)
STEPS = 120
COUNTER = f"""\
import os, signal, sys, time
def save(*_):
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(f"{{step}} {{total}} {{result.tell()}}")
    os.replace(sys.argv[1] + ".new", sys.argv[1])
step = total = size = 0
moved = os.path.exists(sys.argv[1])
if moved:
    step, total, size = map(int, open(sys.argv[1]).read().split())
result = open(sys.argv[2], "a+")
result.truncate(size)
result.seek(size)
save()
signal.signal(signal.SIGUSR1, save)
while step < {STEPS}:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    total, step = (31 * total + step) % 1_000_003, step + 1
    print(step, total, file=result, flush=True)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    time.sleep(0.02)
    while step >= {STEPS // 2} and not moved:
        time.sleep(0.05)  # on the first machine it waits halfway, however quick that is
print("done", flush=True)
"""


def undisturbed() -> str:
    """Return what the program writes that nobody disturbs."""
    total, said = 0, ""
    for step in range(STEPS):
        total = (31 * total + step) % 1_000_003
        said += f"{step + 1} {total}\n"
    return said


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    if reason := trixie.why_not():
        pytest.skip(reason)
    machines: dict[str, dict[str, object]] = {}
    for name in NAMES:
        lines = condor_config(Pool.agent_inside(name), every=1)
        line = "\n#PREEMPT = ($(PREEMPT))"
        assert line in lines
        machines[name] = {"config": lines.replace(line, line.replace("#", ""))}
    with Pool(machines, f"NEGOTIATOR_PRE_JOB_RANK = {PRE_JOB_RANK}\n", ours=True) as made:
        (made.jobs / "count.py").write_text(COUNTER)
        yield made


def said(pool: Pool, name: str, *, state: str = "S1", speed: float = 1.0, load: float = 0.0,
         chances: tuple[float, ...] = SURE) -> HostHorizons:  # fmt: skip
    """Have the agent of a machine say something; returns it as Falcon sees it."""
    host = HostHorizons(HOURS, (load,) * len(HOURS), chances, speed)
    within = host.reliability()
    mttf = 60 * ((within[:-1] + within[1:]) / 2).sum() / max(1 - within[-1], 1e-9)
    each = [f"{hours}h" for hours in HOURS]
    status = {
        "host": name, "time": round(time.time(), 2), "state": state, "cpu": load, "speed": speed,
        "reliability": dict(zip(each, chances, strict=True)), "mttf": min(mttf, 1e8),
        "expected_load": dict.fromkeys(each, load),
    }  # fmt: skip
    folder = pool.agent(name)
    folder.chmod(0o755)
    (folder / "status.json").write_text(json.dumps(status))
    write_ad(folder)
    return host


def published(pool: Pool) -> None:
    """Wait until the collector has what all agents said last."""
    wanted = {
        name: [str(int(json.loads((pool.agent(name) / "status.json").read_text())["time"])),
               json.loads((pool.agent(name) / "status.json").read_text())["state"]]
        for name in NAMES
    }  # fmt: skip
    names = ("ForestallUpdated", "ForestallState")
    pool.until("all agents are heard", lambda: pool.slots(*names) == wanted)


def taken_by(pool: Pool, *lines: str) -> str:
    """Run a job while all machines are free; returns where it ran."""
    free = ["Unclaimed"] * len(NAMES)
    pool.until("all are free",
               lambda: pool.command("condor_status", "-af", "State").split() == free)  # fmt: skip
    return pool.said(pool.submit(*lines))


def test_the_machine_of_least_jctf_is_taken_not_the_fastest(pool: Pool) -> None:
    leaves = (0.35, 0.2, 0.1, 0.02, 0.01, 0.0)
    hosts = {
        "ash": said(pool, "ash", speed=2.0, chances=leaves),  # fast, and its owner comes soon
        "birch": said(pool, "birch", speed=1.2, load=0.4),
        "cedar": said(pool, "cedar", speed=1.0, load=0.05),
        "elm": said(pool, "elm", speed=1.6, chances=(0.9, 0.8, 0.6, 0.4, 0.2, 0.1)),
    }
    published(pool)
    taken = {}
    for hours in (0.1, 3.0, 20.0):
        taken[hours] = taken_by(pool, submit_lines(hours, by="falcon"))
        told = {name: host.estimate(3600 * hours) for name, host in hosts.items()}
        lives = {name: one for name, one in told.items() if one.jct <= one.mttf}
        assert taken[hours] == min(lives, key=lambda name: lives[name].jctf)
    assert taken == {0.1: "ash", 3.0: "elm", 20.0: "cedar"}
    # plain HTCondor, asked for the fastest, takes the one whose owner comes
    assert taken_by(pool, "rank = ForestallSpeed") == "ash"


def test_where_none_outlives_the_job_the_one_that_does_most_is_taken(pool: Pool) -> None:
    for name, alive in zip(NAMES, (0.1, 0.05, 0.3, 0.2), strict=True):
        said(pool, name, chances=(alive, alive / 2, 0.0, 0.0, 0.0, 0.0))
    published(pool)
    assert taken_by(pool, submit_lines(8, by="falcon")) == "cedar"


def submitted(pool: Pool, name: str) -> int:
    """Submit a guest that counts; returns its job."""
    for each in "abc":
        (pool.jobs / f"store-{each}").mkdir(exist_ok=True, mode=0o777)
        (pool.jobs / f"store-{each}").chmod(0o777)
    stores = " ".join(f"--store /pool/jobs/store-{each}" for each in "abc")
    state = f"/pool/jobs/{name}.state"
    options = (
        f"{stores} --init --data 2 --parity 1 --signal USR1 --files {state} --checkpoint-every 1s"
    )
    told = pool.command(
        "sh", "-c", f'cd /pool/jobs && exec {FORESTALL} guest submit --json --name {name} '
        f"--program {FORESTALL} --time 2h --folder /pool/jobs/state --outlive '{options}' "
        f"--line 'request_memory = 10' --line 'request_disk = 1' -- "
        f"/usr/bin/python3 -S /pool/jobs/count.py {state} "
        f"/pool/jobs/{name}.result",
    )  # fmt: skip
    return int(json.loads(told)["job"])


def of_job(pool: Pool, job: int) -> tuple[str, str]:
    """Return the state and the machine of a job."""
    told = pool.command("condor_q", str(job), "-af", "JobStatus", "RemoteHost").split()
    return (told[0], told[1].rpartition("@")[2]) if len(told) == 2 else ("", "")


def printed(pool: Pool, name: str, job: int, ending: str) -> str:
    path = pool.jobs / f"{name}.{job}.{ending}"
    return path.read_text() if path.exists() else ""


def counting(pool: Pool, name: str, job: int) -> str:
    """Wait until a guest has a checkpoint in the vault; returns the machine that it runs on."""

    def there() -> bool:
        return "is in the vault" in printed(pool, name, job, "err")

    pool.until(f"{name} is saved", there)
    return of_job(pool, job)[1]


@pytest.mark.parametrize("way", ["leaves", "evicted"])
def test_a_guest_goes_on_elsewhere_and_writes_what_an_undisturbed_one_does(
    pool: Pool, way: str
) -> None:
    for name, speed in zip(NAMES, (1.0, 1.1, 1.2, 1.3), strict=True):
        said(pool, name, speed=speed)
    published(pool)
    job = submitted(pool, way)
    first = counting(pool, way, job)
    assert first == "elm"
    if way == "leaves":  # its owner is about to come: it goes by itself
        said(pool, first, speed=1.3, chances=(0.1, 0.05, 0.0, 0.0, 0.0, 0.0))
    else:  # its owner is there: HTCondor sends it away
        said(pool, first, speed=1.3, state="S3")
    pool.until("it is over", lambda: not pool.command("condor_q", str(job), "-af", "ClusterId"), 90)
    assert (pool.jobs / f"{way}.result").read_text() == undisturbed()
    assert printed(pool, way, job, "out") == "done\n"
    told = printed(pool, way, job, "err")
    words = {"leaves": "left, saved", "evicted": "ended by SIGTERM, saved"}
    assert words[way] in told
    assert "continued from checkpoint" in told
    history = pool.command("condor_history", str(job), "-af", "NumJobStarts", "ExitCode",
                           "LastRemoteHost")  # fmt: skip
    starts, code, last = history.split()
    assert (starts, code) == ("2", "0")
    assert last.rpartition("@")[2] == "cedar"  # the next best


def test_the_queue_tells_how_far_guests_are_and_when_they_will_be_done(pool: Pool) -> None:
    told = json.loads(pool.command(FORESTALL, "guest", "queue", "--json", "--folder",
                                   "/pool/jobs/state"))  # fmt: skip
    assert {one["guest"]: one["state"] for one in told} == {
        "leaves": "finished", "evicted": "finished",
    }  # fmt: skip
    assert all(one["starts"] == 2 and one["exit_code"] == 0 for one in told)


def test_the_pool_has_four_machines(pool: Pool) -> None:
    assert set(pool.slots()) == set(NAMES)
    assert MANAGER not in pool.slots()
    assert Path(pool.folder / "forestall").exists()
