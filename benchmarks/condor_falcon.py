"""Falcon on a real HTCondor beside plain matchmaking: makespans of the same jobs on the same four
machines, whose owners come and go at the same seeded times. `python -m benchmarks.condor_falcon
[--seeds 1,2] [--jobs 8] [--hour 10] [--policies plain,scratch,vault,falcon,proactive]`

Daemons, matchmaking, evictions, requeues, `forestall run` and its vault are real. Time is played:
an hour takes `--hour` s, so that HTCondor's own seconds weigh more than they would. A job counts
work as fast as its machine's speed and owner leave it; owners are played by what agents say, and a
machine whose owner comes sends its job away (PREEMPT, SIGTERM). Agents publish the true law of
their owner, and know of 7 in 10 arrivals 20 minutes before.

    plain      takes the fastest free machine; a job that loses it begins again
    scratch    takes Falcon's choice; a job that loses it begins again, as in the slides
    vault      takes the fastest, saved by `forestall run`
    falcon     takes Falcon's choice, saved
    proactive  takes Falcon's choice, and leaves before its owner comes where the agent knows
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import ROOT
from forestall.core.streams import stream
from forestall.sharing.adapters.condor.attributes import HOURS
from forestall.sharing.adapters.condor.config import PRE_JOB_RANK
from forestall.sharing.adapters.condor.falcon import JobNeeds
from forestall.sharing.adapters.condor.submit import AWAY, GuestJob, submit_text
from forestall.sharing.api.condor import condor_config, write_ad

sys.path.insert(0, str(ROOT / "tests"))
from condor_pool import trixie
from condor_pool.pool import FORESTALL, Pool

POLICIES = ("plain", "scratch", "vault", "falcon", "proactive")
LENGTHS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
KNOWN, BEFORE, STAYS = 0.7, 1 / 3, 0.5
"""Share of an owner's arrivals that is foreseen, h before, and mean h that an owner stays."""
LIMIT = 400.0
"""Played hours after which a run is given up."""
WORK = """\
import json, os, signal, sys, time
state, hours, hour = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
place = f"/pool/agents/{os.uname().nodename}/status.json"
def save(*_):
    with open(state + ".new", "w") as file: file.write(repr(done))
    os.replace(state + ".new", state)
done = float(open(state).read()) if os.path.exists(state) and sys.argv[4] == "save" else 0.0
save(); signal.signal(signal.SIGUSR1, save)
last = time.monotonic()
while done < hours:
    time.sleep(0.2)
    now = time.monotonic()
    try: told = json.load(open(place))
    except ValueError: continue
    done += (now - last) / hour * told["speed"] * (1 - told["cpu"]); last = now
"""


@dataclass(frozen=True)
class Owner:
    """A machine: its speed, its owner's load, and mean hours between arrivals of the owner."""

    speed: float
    load: float
    mttf: float

    def days(self, name: str, seed: int) -> list[tuple[float, float, bool]]:
        """Return when the owner needs it, played hours from and to, and whether that is known."""
        chance = stream(seed, "condor", "owner", name)
        found, at = [], 0.0
        while at < LIMIT:
            at += float(chance.exponential(self.mttf))
            stay = float(chance.exponential(STAYS))
            found.append((at, at + stay, bool(chance.random() < KNOWN)))
            at += stay
        return found


MACHINES = {
    "ash": Owner(2.0, 0.05, 1.5),
    "birch": Owner(1.2, 0.30, 30.0),
    "cedar": Owner(1.0, 0.05, 60.0),
    "elm": Owner(1.5, 0.10, 5.0),
}


class Owners(threading.Thread):
    """Plays the owners by what agents say, until it is stopped."""

    def __init__(self, pool: Pool, seed: int, hour: float) -> None:
        super().__init__(daemon=True)
        self.pool, self.hour = pool, hour
        self.days = {name: one.days(name, seed) for name, one in MACHINES.items()}
        self.began, self.over = time.monotonic(), threading.Event()

    def run(self) -> None:
        """Say what there is to say, again and again."""
        while not self.over.wait(0.3):
            now = (time.monotonic() - self.began) / self.hour
            for name, owner in MACHINES.items():
                self.say(name, owner, now)

    def say(self, name: str, owner: Owner, now: float) -> None:
        """Write the status of an agent."""
        here = any(start <= now < end for start, end, _ in self.days[name])
        comes = any(known and start - BEFORE <= now < start
                    for start, _, known in self.days[name])  # fmt: skip
        alive = [0.0 if here else (0.05 if comes else 1.0) * math.exp(-h / owner.mttf)
                 for h in HOURS]  # fmt: skip
        each = [f"{h}h" for h in HOURS]
        mttf = 0.0 if here else BEFORE if comes else owner.mttf
        status = {
            "host": name, "time": round(time.time(), 2), "state": "S3" if here else "S1",
            "cpu": owner.load, "speed": owner.speed, "mttf": 3600 * mttf,
            "reliability": dict(zip(each, alive, strict=True)),
            "expected_load": dict.fromkeys(each, owner.load),
        }  # fmt: skip
        folder = self.pool.agent(name)
        beside = folder / ".status"
        beside.write_text(json.dumps(status))
        beside.replace(folder / "status.json")
        write_ad(folder)


def file_of(policy: str, name: str, hours: float, hour: float) -> str:
    """Return the submit file of a job."""
    words = ["/usr/bin/python3", "-S", "/pool/jobs/work.py", f"/pool/jobs/{name}.state",
             f"{hours}", f"{hour}", "save"]  # fmt: skip
    stores = [word for each in "abc" for word in ("--store", f"/pool/jobs/store-{each}")]
    options = ["run", "--name", name, *stores, "--data", "2", "--parity", "1", "--init",
               "--signal", "USR1", "--files", f"/pool/jobs/{name}.state",
               "--checkpoint-every", "6s"]  # fmt: skip
    leave = 0.25 if policy == "proactive" else None
    if leave is not None:
        options += ["--leave-below", f"{leave}"]
    sizes = ("request_memory = 10", "request_disk = 1")
    job = GuestJob(name, FORESTALL, options, words, JobNeeds(hours), "/pool/jobs", leave, sizes)
    text = submit_text(job).replace(f"> {AWAY}", "> 5")
    if policy in ("plain", "vault"):
        kept = [line for line in text.splitlines() if not line.startswith(("rank", "My.Forestall"))]
        text = "\n".join([*kept[:-1], "rank = ForestallSpeed", "queue", ""])
    if policy in ("plain", "scratch"):
        kept = [line for line in text.splitlines() if not line.startswith(("exec", "arguments"))]
        plain = " ".join((*words[1:-1], "again"))
        text = "\n".join([f"executable = {words[0]}", f"arguments = {plain}", *kept, ""])
    return text


def played(pool: Pool, policy: str, seed: int, count: int, hour: float) -> list[tuple[float, int]]:
    """Run the jobs of a seed; return of each the played hours from submission to end, and how often
    it was started."""
    chance = stream(seed, "condor", "jobs")
    lengths = [float(chance.choice(LENGTHS)) for _ in range(count)]
    at = np.sort(chance.uniform(0, 2, count)).tolist()
    owners = Owners(pool, seed, hour)
    for name, owner in MACHINES.items():
        owners.say(name, owner, 0.0)
    pool.until("all are free", lambda: pool.command("condor_status", "-af", "State").split()
               == ["Unclaimed"] * len(MACHINES))  # fmt: skip
    owners.began = time.monotonic()
    owners.start()
    jobs = []
    try:
        for number, (length, when) in enumerate(zip(lengths, at, strict=True)):
            time.sleep(max(0.0, owners.began + when * hour - time.monotonic()))
            name = f"{policy}-{seed}-{number}"
            path = pool.jobs / f"{name}.sub"
            path.write_text(file_of(policy, name, length, hour))
            said = pool.command("condor_submit", "-terse", f"/pool/jobs/{path.name}")
            jobs.append(int(said.split(".")[0]))
        pool.until("all jobs are done",
                   lambda: not pool.command("condor_q", "-allusers", "-af", "ClusterId").strip(),
                   LIMIT * hour)  # fmt: skip
    finally:
        owners.over.set()
        owners.join()
    found = []
    for job in jobs:
        told = pool.command("condor_history", str(job), "-limit", "1", "-af", "QDate",
                            "CompletionDate", "NumJobStarts")  # fmt: skip
        begun, ended, starts = map(int, told.split())
        found.append(((ended - begun) / hour, starts))
    return found


def main() -> None:
    """Play all policies for all seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--hour", type=float, default=10.0)
    parser.add_argument("--policies", default=",".join(POLICIES))
    asked = parser.parse_args()
    if reason := trixie.why_not():
        sys.exit(reason)
    machines: dict[str, dict[str, Any]] = {}
    for name in MACHINES:
        lines = condor_config(Pool.agent_inside(name), every=1)
        preempt = "\n#PREEMPT = ($(PREEMPT))"
        machines[name] = {"cpus": 1, "config": lines.replace(preempt, preempt.replace("#", ""))}
    with Pool(machines, f"NEGOTIATOR_PRE_JOB_RANK = {PRE_JOB_RANK}\n", ours=True) as pool:
        (pool.jobs / "work.py").write_text(WORK)
        for each in "abc":
            (pool.jobs / f"store-{each}").mkdir()
            (pool.jobs / f"store-{each}").chmod(0o777)
        for name in MACHINES:
            pool.agent(name).chmod(0o755)
        means: dict[str, list[float]] = {}
        for seed in map(int, asked.seeds.split(",")):
            for policy in asked.policies.split(","):
                rows = played(pool, policy, seed, asked.jobs, asked.hour)
                spans = np.array([span for span, _ in rows])
                means.setdefault(policy, []).append(float(spans.mean()))
                starts = sum(starts for _, starts in rows)
                print(f"seed {seed}  {policy:<10} mean makespan {spans.mean():6.2f} h  longest "
                      f"{spans.max():6.2f} h  machines lost {starts - len(rows):3d}",
                      flush=True)  # fmt: skip
        first = np.mean(next(iter(means.values())))
        for policy, each in means.items():
            print(f"all seeds  {policy:<10} mean makespan {np.mean(each):6.2f} h  "
                  f"{np.mean(each) / first - 1:+.1%} of the first")  # fmt: skip


if __name__ == "__main__":
    main()
