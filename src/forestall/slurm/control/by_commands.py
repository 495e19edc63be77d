"""A Slurm cluster through Slurm's own commands."""

from __future__ import annotations

import os
import pwd
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.core.model.marks import reservation_name
from forestall.slurm import commands
from forestall.slurm.cluster.actions import (
    Action,
    ActionResult,
    DrainNode,
    Exclude,
    Hold,
    OnNode,
    RebootNode,
    Release,
    Requeue,
    Reserve,
    ReserveNode,
    ResumeNode,
    SignalJob,
    StartNow,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.limits import ClusterLimits
from forestall.slurm.cluster.looks import LookAnswers, snapshot
from forestall.slurm.cluster.nouns import ClusterJob, ClusterRun, ClusterSnapshot, ClusterView
from forestall.slurm.cluster.standing import Standing, perform, standing, state_of
from forestall.slurm.control import documents, lines, orders, questions, refusals, site_limits
from forestall.slurm.control.entries import remembered_jobs, remembered_nodes
from forestall.slurm.control.steps import (
    ElsewhereSteps,
    between_notes,
    once_waiting,
    reserve_whole,
    start_elsewhere,
    wait_out,
)
from forestall.slurm.run import SlurmError, environment, read

_RELEASE: Final = re.compile(r"(\d+)\.(\d+)(?:\.\S+)?")
_SUBMITTED: Final = re.compile(r"(\d+)(?:;\S*)?")


@dataclass(frozen=True)
class SlurmLimits:
    """How much is waited for and taken in.

    Parameters
    ----------
    read, write : seconds that a question and an action may take
    most : bytes that an answer may have; 30,000 queued jobs have about 256 MiB
    history : seconds of accounting that the first look asks for
    overlap : seconds before the last look from which accounting is asked again, as it lags
    rules : seconds after which limits of QOS and associations are asked for anew
    """

    read: float = 60.0
    write: float = 60.0
    most: int = 512 * 2**20
    history: int = 3600
    overlap: int = 300
    rules: int = 600


@dataclass(frozen=True)
class CommandsUser:
    """With whose rights Slurm's commands ask and act; by default those of this process.

    Parameters
    ----------
    name : user of this machine as whom they run, which only root may say
    token : returns the token (`SLURM_JWT`) by which Slurm knows them instead, asked anew for each
    """

    name: str = ""
    token: Callable[[], str] | None = None

    @property
    def number(self) -> int:
        """The number of the user as whom they run. Raises KeyError."""
        return pwd.getpwnam(self.name).pw_uid if self.name else os.getuid()

    def variables(self, given: Mapping[str, str]) -> Mapping[str, str]:
        """Return the environment of a command."""
        return given if self.token is None else {**given, "SLURM_JWT": self.token()}


class SlurmCommands:
    """A cluster as the commands of this machine reach it, with the rights of a user.

    Parameters
    ----------
    limits : how much is waited for and taken in
    clock : tells Unix seconds
    as_owner : submit jobs of other users as those users, which only root can; else they are refused
    user : whose rights; by default those of this process
    """

    def __init__(
        self,
        limits: SlurmLimits | None = None,
        clock: Callable[[], float] = time.time,
        *,
        as_owner: bool = False,
        user: CommandsUser | None = None,
    ) -> None:
        self._limits = limits or SlurmLimits()
        self._as_owner, self._user = as_owner, user or CommandsUser()
        self._clock = clock
        self._version, self._operator = "", False
        self._queue, self._nodes = remembered_jobs(), remembered_nodes()
        self._rules: ClusterLimits | None = None
        self._ruled: int | None = None
        """When limits were asked for last."""

    def version(self) -> str:
        """Return Slurm's version, asked for once, such as ``22.05.8``; LookError."""
        if not self._version:
            said = self._ask(questions.version(), "version").decode(errors="replace")
            match = _RELEASE.search(said)
            if match is None:
                message = f"sinfo --version says {said.strip()[:60]!r}"
                raise LookError(LookFault.UNREADABLE, "version", message)
            self._version = match[0]
        return self._version

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        """Return one snapshot, as `LiveCluster.look`: five commands, each once, and once in a
        while those for limits."""
        began = int(self._clock())
        version = self.version()
        text, odd_text = documents.decoded(self._ask(questions.reservations(), "reservations"))
        reservations = lines.reservations_of_lines(text)
        text, odd_parts = documents.decoded(self._ask(questions.partitions(), "partitions"))
        parts = lines.partitions_of_lines(text)
        default = next((one.name for one in parts if one.default), "")
        raw = self._ask(questions.nodes(self._release()), "nodes")
        if self._release() >= questions.JSON_NODES:
            nodes, told = self._nodes.read(raw, partial(_believable, what="nodes"))
            odd_nodes = told.replaced
        else:
            text, odd_nodes = documents.decoded(raw)
            nodes = lines.nodes_of_lines(text)
        raw = self._ask(questions.queue(), "queue")
        jobs, queue = self._queue.read(raw, partial(_believable, what="queue"))
        since = began - self._limits.history if before is None else before.mark
        runs, fault = self._runs(since - self._limits.overlap)
        replaced = odd_text + odd_parts + odd_nodes + queue.replaced
        answers = LookAnswers(began, int(self._clock()), queue.told_at, jobs, nodes, reservations,
                          runs, fault, version, replaced, default, parts,
                          self._limits_at(began))  # fmt: skip
        return snapshot(answers, before)

    def act(self, action: Action) -> ActionResult:
        """Carry out an action that has not taken effect yet, as `LiveCluster.act`."""
        return perform(action, self._around, self._write)

    def find(self, action: Action) -> Standing:
        """Return whether an action has taken effect, as `LiveCluster.find`."""
        return standing(action, self._around(action))

    def job_state(self, action: Submit) -> str:
        """Return the state of a job that was submitted, as `LiveCluster.job_state`."""
        return state_of(action.id, self._around(action))

    # ----------------------------------------------------------------------------- asking

    def _release(self) -> tuple[int, int]:
        match = _RELEASE.search(self.version())
        return (int(match[1]), int(match[2])) if match else (0, 0)

    def _ask(self, words: tuple[str, ...], what: str) -> bytes:
        try:
            return self._read(words, self._limits.read)
        except SlurmError as error:
            raise refusals.look_error(error, what) from None

    def _read(self, words: Sequence[str], timeout: float, given: bytes = b"") -> bytes:
        """Run a command with the rights that this cluster is asked with."""
        variables = _of_user() if words[0] == "sbatch" else environment()
        return read(
            words, timeout=timeout, most=self._limits.most, given=given,
            variables=self._user.variables(variables), user=self._user.name,
        )  # fmt: skip

    def _ask_for_one(self, words: tuple[str, ...], what: str) -> str | None:
        """Return what is said of one thing, None where there is no such thing."""
        try:
            raw = self._read(words, self._limits.read)
        except SlurmError as error:
            if error.started and not error.late and refusals.missing(error.said):
                return None
            raise refusals.look_error(error, what) from None
        return documents.decoded(raw)[0]

    def _runs(self, since: int) -> tuple[list[ClusterRun] | None, LookError | None]:
        """Return the runs since a time, or why they could not be had: the database may be away
        while the controller is not."""
        fence = secrets.token_hex(8)
        try:
            raw = self._ask(questions.runs(since, fence), "accounting")
            return lines.runs_of_rows(documents.decoded(raw)[0], fence), None
        except LookError as error:
            return None, error

    def _limits_at(self, now: int) -> ClusterLimits | None:
        """Return the limits of QOS and associations, None where they cannot be had: then they are
        not known, which nothing else waits for."""
        if self._ruled is None or not 0 <= now - self._ruled < self._limits.rules:
            self._ruled = now
            try:
                self._rules = self._asked_limits()
            except LookError:
                self._rules = None
        return self._rules

    def _asked_limits(self) -> ClusterLimits:
        def told(words: tuple[str, ...]) -> str:
            return documents.decoded(self._ask(words, site_limits.WHAT))[0]

        cluster = site_limits.enforced_in(told(commands.config()))
        if not cluster:
            return ClusterLimits()
        return site_limits.limits_of_rows(
            told(site_limits.qos()), told(site_limits.associations(cluster)),
            told(site_limits.users()),
        )  # fmt: skip

    def _around(self, action: Action) -> ClusterView:
        """Return what an action is about, freshly seen."""
        if isinstance(action, Submit):
            return self._around_submit(action)
        if isinstance(action, Reserve | ReserveNode | Unreserve):
            name = reservation_name(action.of if isinstance(action, Unreserve) else action.id)
            said = self._ask_for_one(questions.reservation(name), "reservations")
            found = [] if said is None else lines.reservations_of_lines(said)
            return ClusterView({}, {}, {one.name: one for one in found})
        if isinstance(action, OnNode):
            said = self._ask_for_one(questions.node(action.node), "nodes")
            nodes = [] if said is None else lines.nodes_of_lines(said)
            return ClusterView({}, {node.name: node for node in nodes}, {})
        jobs = self._job(action.job)
        if isinstance(action, Exclude):
            jobs = [job._replace(excluded=self._avoided(job.id)) for job in jobs]
        return ClusterView({job.id: job for job in jobs}, {}, {})

    def _around_submit(self, action: Submit) -> ClusterView:
        """Return this user's jobs, in the queue and in the books since the action was decided."""
        user = str(self._number(action))
        fence = _fence()
        said = self._ask_for_one(questions.jobs_of_user(user, fence), "queue")
        jobs = lines.jobs_of_rows(said or "", fence)
        runs: list[ClusterRun] = []
        if action.since and not any(job.mark.promise == action.id for job in jobs):
            asked = questions.runs(action.since - self._limits.overlap, fence, user)
            try:
                raw = self._ask(asked, "accounting")
            except LookError as error:
                if error.fault is not LookFault.UNAVAILABLE:
                    raise
            else:
                runs = lines.runs_of_rows(documents.decoded(raw)[0], fence)
        return ClusterView({job.id: job for job in jobs}, {}, {}, tuple(runs))

    def _job(self, number: int) -> list[ClusterJob]:
        fence = _fence()
        said = self._ask_for_one(questions.job(number, fence), "queue")
        return lines.jobs_of_rows(said or "", fence)

    def _avoided(self, number: int) -> tuple[str, ...]:
        said = self._ask_for_one(questions.avoided(number), "queue")
        return documents.hosts((said or "").strip(), "queue")

    # ----------------------------------------------------------------------------- acting

    def _tell(self, order: orders.Order, action: str, owner: str = "") -> str:
        """Carry out a command; with `owner`, as that user and nobody else: with their number and
        groups, in their home, and with nothing of this process's environment."""
        try:
            if owner:
                variables = _of_owner(owner)
                home = variables["HOME"]
                said = read(
                    order.words, timeout=self._limits.write, most=self._limits.most,
                    given=order.given, variables=variables, user=owner,
                    folder=home if os.access(home, os.X_OK) else "/",
                )  # fmt: skip
            else:
                said = self._read(order.words, self._limits.write, order.given)
        except SlurmError as error:
            raise refusals.write_error(error, action) from None
        return documents.decoded(said)[0]

    def _tell_noted(self, order: orders.Order, action: str, job: ClusterJob) -> str:
        """Carry out a command that sets a job's note; as an operator, whom Slurm refuses that, with
        the note at the end of the job's comment."""
        plain = orders.in_comment(order, job)
        if plain is None or not self._operator:
            try:
                return self._tell(order, action)
            except WriteError as error:
                if plain is None or error.fault is not WriteFault.NOT_PERMITTED:
                    raise
        said = self._tell(plain, action)
        self._operator = True
        return said

    def _write(self, action: Action, seen: ClusterView) -> int:
        match action:
            case Submit():
                return self._submit(action)
            case Reserve():
                made, back = orders.reserve(action), orders.delete_reservation(action.id)
                reserve_whole(action, made, back, self._around, self._tell)
            case ReserveNode():
                self._tell(orders.reserve_node(action), action.id)
            case Unreserve():
                self._tell(orders.delete_reservation(action.of), action.id)
            case Requeue():
                self._requeue(action, seen.jobs[action.job])
            case StartNow():
                if seen.jobs[action.job].held:
                    self._noted(action, seen, orders.release(action.job))
                wait_out(seen.jobs[action.job], self._clock())
                self._tell(orders.start_now(action), action.id)
            case Hold():
                job = seen.jobs[action.job]
                self._tell_noted(orders.hold(action, job), action.id, job)
            case Release():
                self._noted(action, seen, orders.release(action.job))
            case SignalJob():
                self._noted(action, seen, orders.signal(action))
            case Exclude():
                job = seen.jobs[action.job]
                self._tell_noted(orders.exclude(action, job, job.excluded), action.id, job)
            case DrainNode():
                self._tell(orders.drain(action), action.id)
            case ResumeNode():
                self._tell(orders.resume(action), action.id)
            case RebootNode():
                self._tell(orders.reboot(action), action.id)
        return 0

    def _submit(self, action: Submit) -> int:
        if self._number(action) != self._user.number and not self._as_owner:
            message = f"jobs are submitted as this process's user here, not as {action.user}"
            raise WriteError(WriteFault.NOT_PERMITTED, action.id, message)
        if action.requeue == "expedite" and self._release() < orders.EXPEDITED:
            message = f"expedited requeue needs Slurm 25.11; this is {self.version()}"
            raise WriteError(WriteFault.UNSUPPORTED, action.id, message)
        said = self._tell(orders.submit(action), action.id, self._other(action))
        match = _SUBMITTED.fullmatch(said.strip())
        if match is None:
            message = f"sbatch said {said.strip()[:60]!r}, not a job id"
            raise WriteError(WriteFault.AMBIGUOUS, action.id, message)
        return int(match[1])

    def _other(self, action: Submit) -> str:
        """Return whose job it is where that is another user, else ""."""
        return "" if self._number(action) == self._user.number else action.user

    def _number(self, action: Submit) -> int:
        """Return the number of the user whose job it is; WriteError for one who is not known."""
        try:
            return pwd.getpwnam(action.user).pw_uid if action.user else self._user.number
        except KeyError:
            message = f"there is no user {action.user or self._user.name} on this machine"
            raise WriteError(WriteFault.REFUSED, action.id, message) from None

    def _requeue(self, action: Requeue, job: ClusterJob) -> None:
        if not action.excluded:
            self._tell(orders.requeue(action), action.id)
            return
        steps = ElsewhereSteps(
            orders.requeue_held(action),
            lambda waiting: orders.exclude(
                action, waiting, self._avoided(waiting.id), pending=True
            ),
            orders.release(action.job), orders.note,
        )  # fmt: skip
        look = partial(once_waiting, partial(self._job, action.job), self._limits.write)
        start_elsewhere(action, job, steps, look, self._tell_noted)

    def _noted(
        self, action: Release | SignalJob | StartNow, seen: ClusterView, order: orders.Order
    ) -> None:
        job = seen.jobs[action.job]
        between_notes(action, job, order, orders.note, partial(self._tell_noted, job=job))


def _believable(told: documents.Document, what: str) -> None:
    """Raise LookError for an answer that complains."""
    if said := documents.complaints(told.value):
        raise LookError(refusals.look_fault(said), what, said)


def _fence() -> str:
    """Return a word that nobody can have written: it begins with a letter, as `squeue` wants."""
    return f"f{secrets.token_hex(8)}"


_NEEDED: Final = ("SLURM_CONF", "LANG", "TZ")
"""Variables of this process that `sbatch` needs, and that say nothing of it."""


def _of_owner(name: str) -> dict[str, str]:
    """Return the variables of somebody else's `sbatch`, which hands them on to the job: those of a
    new login. Raises KeyError for a user whom this machine does not know."""
    known = pwd.getpwnam(name)
    ours = {one: os.environ[one] for one in _NEEDED if one in os.environ}
    return {
        **ours, "HOME": known.pw_dir, "USER": name, "LOGNAME": name, "SHELL": known.pw_shell,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    }  # fmt: skip


def _of_user() -> dict[str, str]:
    """Return the variables for `sbatch`, which hands them on to the job: the user's own, without
    those that stand for options."""
    ours = environment()
    return {
        name: value
        for name, value in os.environ.items()
        if name in ours and not name.startswith("SBATCH_")
    }
