"""A minute and a half in the life of a small cluster, with its own account of what happened.

Jobs write down themselves when they begin and end; whoever stops them writes down when. So what
the accounting says can be compared with what was seen by other means.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slurm_cluster.cluster import Cluster

TOLERANCE = 5.0
"""Seconds by which Slurm's times, whole seconds each, may lie off those seen: it starts a job
before the job can say so, and ends it after."""


@dataclass(frozen=True)
class Run:
    """One run of a job.

    Attributes
    ----------
    job : the name of its job
    state : what Slurm must call its end, without the words beside it
    cause : what it was lost to, as a person would say who saw it
    nodes : on which it ran; none where it never ran
    gpus : of all its nodes together
    begin, end : Unix seconds as seen; None where it did not begin or end
    stopped : seconds of it in which it was suspended
    """

    job: str
    state: str
    cause: str
    nodes: tuple[str, ...] = ()
    gpus: int = 0
    begin: float | None = None
    end: float | None = None
    stopped: float = 0.0


@dataclass(frozen=True)
class Outage:
    """When a node was not to be used; `end` is None where it still is not."""

    node: str
    nature: str
    reason: str
    begin: float
    end: float | None = None


@dataclass
class Truth:
    """What was seen of everything."""

    began: float = field(default_factory=time.time)
    ids: dict[str, int] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    foreseen: dict[str, float] = field(default_factory=dict)
    """Starts that can be told beforehand: of jobs that wait for another to reach its limit."""
    seen: float = 0.0
    """When all was over."""

    def of(self, job: str) -> list[Run]:
        """Return the runs of a job, oldest first."""
        return [run for run in self.runs if run.job == job]


class Scenario:
    """Plays everything on a cluster of four plain nodes and two with GPUs."""

    def __init__(self, slurm: Cluster) -> None:
        self.slurm = slurm
        self.truth = Truth()
        self._notes = slurm.folder / "jobs" / "notes"
        self._notes.mkdir()
        self._notes.chmod(0o1777)
        self._told: list[Callable[[], Run]] = []

    def play(self) -> Truth:
        """Play it; returns what was seen when the accounting has all of it."""
        self._quiet_jobs()
        self._jobs_that_end_badly()
        self._jobs_that_others_stop()
        self._lost_node()
        self._ends()
        for told in self._told:
            self.truth.runs.append(told())
        self._wait_for_the_books()
        self.truth.seen = time.time()
        return self.truth

    # ----------------------------------------------------------------------------- one job

    def job(self, name: str, *options: str, work: str, user: str = "root") -> int:
        """Submit a job that writes down when it begins and, if nobody stops it, ends."""
        number = len(self.truth.ids)
        stamp = f"date +%s.%N >> {self._notes}/{number}"
        run = f"{stamp}.begin; {work}; code=$?; {stamp}.end; exit $code"
        job = self.slurm.submit("-J", name, *options, run=run, user=user)
        self.truth.ids[name] = job
        self.truth.users[name] = user
        return job

    def times(self, name: str, what: str) -> list[float]:
        """Return when the runs of a job began, or ended by themselves."""
        path = Path(self._notes) / f"{list(self.truth.ids).index(name)}.{what}"
        return [float(line) for line in path.read_text().split()] if path.exists() else []

    def running(self, *names: str) -> None:
        """Wait until these jobs run and have said so."""
        for name in names:
            self.slurm.until(
                f"{name} runs", lambda name=name: bool(self.times(name, "begin")), timeout=90
            )

    def expect(
        self,
        name: str,
        state: str,
        cause: str,
        nodes: Sequence[str],
        *,
        gpus: int = 0,
        run: int = 0,
        end: float | None = None,
        stopped: float = 0.0,
    ) -> None:
        """Note what becomes of a run; its times are looked up when all is over."""

        def told() -> Run:
            begin = self.times(name, "begin")[run]
            ended = self.times(name, "end")[-1] if end is None else end
            return Run(name, state, cause, tuple(nodes), gpus, begin, ended, stopped)

        self._told.append(told)

    # ----------------------------------------------------------------------------- the acts

    def _quiet_jobs(self) -> None:
        self.job("too long", "-w", "n1", "-t", "1", work="sleep 300")
        for name, options, nodes, seconds, user in (
            ("one node", ("-w", "n1"), ("n1",), 3, "root"),
            ("two nodes", ("-N2", "-w", "n1,n2"), ("n1", "n2"), 4, "daemon"),
            ("left|right", ("-w", "n1", "--comment=this|that"), ("n1",), 1, "root"),
            ("two\nlines", ("-w", "n1"), ("n1",), 1, "root"),
            ("größe", ("-w", "n1"), ("n1",), 1, "games"),
            ("not n3", ("-w", "n2", "--exclude=n3,n4"), ("n2",), 1, "daemon"),
        ):
            self.job(name, *options, work=f"sleep {seconds}", user=user)
            self.expect(name, "COMPLETED", "completed", nodes)
        self.job("gpus", "-p", "gpu", "-w", "n6", "--gres=gpu:2", work="sleep 5", user="games")
        self.expect("gpus", "COMPLETED", "completed", ("n6",), gpus=2)
        self.job("waits for ever", "--begin=now+1hour", work="true", user="games")
        self.slurm.command("scancel", str(self.truth.ids["waits for ever"]), user="games")
        self._told.append(lambda: Run("waits for ever", "CANCELLED", "never_started"))

    def _jobs_that_end_badly(self) -> None:
        self.job("exits with 3", "-w", "n2", work="sleep 2; (exit 3)", user="daemon")
        self.expect("exits with 3", "FAILED", "job_failure", ("n2",))
        for task in range(3):
            name = f"task {task}"
            self.job(name, "-w", "n1", f"-a{task}", work=f"sleep 1; (exit {task % 2})")
            end = ("FAILED", "job_failure") if task % 2 else ("COMPLETED", "completed")
            self.expect(name, *end, ("n1",))
        if self.slurm.limits_memory:
            hungry = "head -c 200m /dev/zero | tail"
            self.job("takes too much", "-w", "n2", "--mem=60M", work=f"sleep 1; {hungry}")
            self._told.append(self._out_of_memory)

    def _out_of_memory(self) -> Run:
        begin = self.times("takes too much", "begin")[0]
        return Run("takes too much", "OUT_OF_MEMORY", "out_of_memory", ("n2",), 0, begin, begin + 1)

    def _jobs_that_others_stop(self) -> None:
        slurm, truth = self.slurm, self.truth
        self.job("stopped by its user", "-w", "n2", work="sleep 600", user="daemon")
        self.job("stopped by root", "-w", "n2", work="sleep 600", user="games")
        self.job("again", "-w", "n2", work="sleep 12")
        self.job("rests", "-w", "n1", "-t", "9", work="sleep 12")
        self.job(
            "gives way", "-p", "spare", "-w", "n4", "--mem=900M", "-t", "30", work="sleep 12",
            user="games",
        )  # fmt: skip
        self.job("on n5", "-p", "gpu", "-w", "n5", "--gres=gpu:1", work="sleep 12", user="games")
        self.job("lost", "-N2", "-w", "n2,n3", "--requeue", work="sleep 20", user="daemon")
        self.job("lost for good", "-w", "n3", "--no-requeue", work="sleep 600", user="games")
        self.running("stopped by its user", "stopped by root", "again", "rests", "gives way")
        self.running("on n5", "lost", "lost for good", "too long")
        time.sleep(2)
        for name, user, cause in (
            ("stopped by its user", "daemon", "user_cancel"),
            ("stopped by root", "root", "operator_cancel"),
        ):
            slurm.command("scancel", str(truth.ids[name]), user=user)
            self.expect(name, "CANCELLED", cause, ("n2",), end=time.time())
        slurm.command("scontrol", "suspend", str(truth.ids["rests"]))
        rests = time.time()
        slurm.command("scontrol", "requeue", str(truth.ids["again"]))
        self.expect("again", "REQUEUED", "requeue", ("n2",), end=time.time())
        self.expect("again", "COMPLETED", "completed", ("n2",), run=1)
        self.job("comes first", "-w", "n4", "--mem=900M", "-t", "2", work="sleep 3")
        self.expect("comes first", "COMPLETED", "completed", ("n4",))
        self.expect("gives way", "PREEMPTED", "preemption", ("n4",), end=time.time())
        self.expect("gives way", "COMPLETED", "completed", ("n4",), run=1)
        why = "maintenance: swap of a power supply"
        down = self._set("n5", "down", why)
        self.expect("on n5", "NODE_FAIL", "operator", ("n5",), gpus=1, end=down)
        self.expect("on n5", "COMPLETED", "completed", ("n5",), gpus=1, run=1)
        self.slurm.kill_node("n3")
        time.sleep(4)
        slurm.command("scontrol", "resume", str(truth.ids["rests"]))
        self.expect("rests", "COMPLETED", "completed", ("n1",), stopped=time.time() - rests)
        up = self._set("n5", "resume")
        truth.outages.append(Outage("n5", "administrative", why, down, up))

    def _lost_node(self) -> None:
        noticed = self._down("n3")
        time.sleep(2)
        back = time.time()
        self.slurm.revive_node("n3")
        self.truth.outages.append(Outage("n3", "fault", "Not responding", noticed, back))
        self.expect("lost", "NODE_FAIL", "node_failure", ("n2", "n3"), end=noticed)
        self.expect("lost", "COMPLETED", "completed", ("n2", "n3"), run=1)
        self.expect("lost for good", "NODE_FAIL", "node_failure", ("n3",), end=noticed)

    def _ends(self) -> None:
        """Jobs that still run or wait, outages that are still open, and the last time limit."""
        ids, slurm = self.truth.ids, self.slurm
        self.job("lost with n6", "-p", "gpu", "-w", "n6", "--gres=gpu:4", "--no-requeue",
                 work="sleep 600", user="games")  # fmt: skip
        self.running("lost with n6")
        slurm.kill_node("n6")
        self.job("still runs", "-p", "gpu", "-w", "n5", "--gres=gpu:4", "-t", "30",
                 work="sleep 600")  # fmt: skip
        # Its node is free only when the job that was requeued there is done.
        self.running("still runs")
        self.job("waits", "-p", "gpu", "-w", "n5", "--gres=gpu:4", "-t", "45", work="true",
                 user="daemon")  # fmt: skip
        self._told.append(self._still_running)
        self._told.append(lambda: Run("waits", "PENDING", "never_started"))
        self.truth.foreseen["waits"] = self.times("still runs", "begin")[0] + 30 * 60
        noticed = self._down("n6")
        self.expect("lost with n6", "NODE_FAIL", "node_failure", ("n6",), gpus=4, end=noticed)
        self.truth.outages.append(Outage("n6", "fault", "Not responding", noticed))
        slurm.wait(ids["gives way"], "COMPLETED")
        drained = self._set("n4", "drain", "NHC: check_fs_mount: /scratch not mounted")
        reason = "NHC: check_fs_mount: /scratch not mounted"
        self.truth.outages.append(Outage("n4", "fault", reason, drained))
        slurm.wait(ids["too long"], "TIMEOUT", timeout=100)
        self.expect("too long", "TIMEOUT", "timeout", ("n1",), end=time.time())

    def _still_running(self) -> Run:
        begin = self.times("still runs", "begin")[0]
        return Run("still runs", "RUNNING", "running", ("n5",), 4, begin, None)

    def _set(self, node: str, state: str, reason: str = "") -> float:
        why = (f"reason={reason}",) if reason else ()
        self.slurm.command("scontrol", "update", f"nodename={node}", f"state={state}", *why)
        return time.time()

    def _down(self, node: str) -> float:
        self.slurm.until(
            f"{node} is down", lambda: self.slurm.node_states()[node].startswith("down"), 60
        )
        return time.time()

    def _wait_for_the_books(self) -> None:
        """Wait until the accounting has the last state of every run; it is told with a delay."""

        def told() -> bool:
            states: dict[int, list[str]] = defaultdict(list)
            for row in self.slurm.book("JobIDRaw", "State"):
                states[int(row["JobIDRaw"])].append(row["State"].split()[0])
            return all(
                sorted(states[job]) == sorted(run.state for run in self.truth.of(name))
                for name, job in self.truth.ids.items()
            )

        self.slurm.until("the accounting has everything", told, 90)
