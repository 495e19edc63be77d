"""A Slurm cluster through slurmrestd, over HTTP or its Unix socket."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from forestall.core.model.faults import LookError, LookFault, WriteError, WriteFault
from forestall.core.model.marks import reservation_name
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
from forestall.slurm.cluster.looks import LookAnswers, snapshot
from forestall.slurm.cluster.nouns import ClusterJob, ClusterRun, ClusterSnapshot, ClusterView
from forestall.slurm.cluster.standing import Standing, perform, standing, state_of
from forestall.slurm.control import documents, refusals, requests
from forestall.slurm.control.by_commands import SlurmLimits
from forestall.slurm.control.entries import RememberedList, remembered_jobs, remembered_nodes
from forestall.slurm.control.http import NoReply, Reply, Server
from forestall.slurm.control.requests import Request
from forestall.slurm.control.steps import (
    ElsewhereSteps,
    between_notes,
    once_waiting,
    reserve_whole,
    start_elsewhere,
    wait_out,
)

_DENIED = (401, 403)
Noun = TypeVar("Noun")


class SlurmRest:
    """A cluster as slurmrestd shows it, with the rights of the token or of the socket's user.

    The newest version of the interface that both sides know is found at the first question. What a
    version cannot do is refused as UNSUPPORTED.

    Parameters
    ----------
    server : where it is
    limits : how much is waited for and taken in
    clock : tells Unix seconds
    default : partition of jobs that name none, where this version does not tell
    """

    def __init__(
        self,
        server: Server,
        limits: SlurmLimits | None = None,
        clock: Callable[[], float] = time.time,
        *,
        default: str = "",
    ) -> None:
        self._server = server
        self._limits = limits or SlurmLimits()
        self._clock = clock
        self._version, self._default = 0, default
        self._queue, self._nodes = remembered_jobs(), remembered_nodes()

    def version(self) -> int:
        """Return which v0.0.N of the interface is spoken, found once; LookError."""
        if self._version:
            return self._version
        for number in requests.VERSIONS:
            reply = self._ask(f"/slurm/v0.0.{number}/ping", "version")
            if reply.status in _DENIED:
                message = f"slurmrestd refuses this user (status {reply.status})"
                raise LookError(LookFault.NOT_PERMITTED, "version", message)
            if reply.status == 200:
                self._version = number
                return number
        known = f"v0.0.{requests.VERSIONS[-1]} to v0.0.{requests.VERSIONS[0]}"
        raise LookError(LookFault.UNAVAILABLE, "version", f"slurmrestd supports none of {known}")

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        """Return one snapshot, as `LiveCluster.look`: five requests, each once."""
        began = int(self._clock())
        self.version()
        held = self._document("reservations", "reservations")
        parts = self._document("partitions", "partitions")
        partitions = documents.partitions_of(parts.value)
        found, nodes = self._list(self._nodes, "nodes", "nodes")
        jobs, queue = self._list(self._queue, "jobs", "queue")
        since = began - self._limits.history if before is None else before.mark
        runs, fault = self._runs(since - self._limits.overlap)
        answers = LookAnswers(
            began, int(self._clock()), queue.told_at, jobs, found,
            documents.reservations_of(held.value), runs, fault, queue.version or nodes.version,
            held.replaced + parts.replaced + nodes.replaced + queue.replaced,
            next((one.name for one in partitions if one.default), "") or self._default, partitions,
        )  # fmt: skip
        return snapshot(answers, before)

    def act(self, action: Action) -> ActionResult:
        """Carry out an action that has not taken effect yet, as `LiveCluster.act`."""
        try:
            lacking = requests.lacking(action, self.version())
        except LookError as error:
            raise WriteError(WriteFault.UNREACHABLE, action.id, str(error)) from None
        if lacking:
            raise WriteError(WriteFault.UNSUPPORTED, action.id, lacking)
        return perform(action, self._around, self._write)

    def find(self, action: Action) -> Standing:
        """Return whether an action has taken effect, as `LiveCluster.find`."""
        return standing(action, self._around(action))

    def job_state(self, action: Submit) -> str:
        """Return the state of a job that was submitted, as `LiveCluster.job_state`."""
        return state_of(action.id, self._around(action))

    # ----------------------------------------------------------------------------- asking

    def _ask(self, path: str, what: str) -> Reply:
        limits = self._limits
        try:
            return self._server.ask("GET", path, timeout=limits.read, most=limits.most)
        except NoReply as error:
            if error.large:
                fault = LookFault.TOO_LARGE
            elif error.late:
                fault = LookFault.LATE
            else:
                fault = LookFault.CUT if error.heard else LookFault.UNREACHABLE
            raise LookError(fault, what, f"slurmrestd {error}") from None

    def _document(self, path: str, what: str, base: str = "slurm") -> documents.Document:
        """Return an answer; LookError where there is none, or it complains."""
        told, status = self._told(f"/{base}/v0.0.{self.version()}/{path}", what)
        _believable(told, status, what)
        return told

    def _list(
        self, reader: RememberedList[Noun], path: str, what: str
    ) -> tuple[list[Noun], documents.Document]:
        """Return a long list and the answer in which it stood, as `_document` does."""
        reply = self._ask(f"/slurm/v0.0.{self.version()}/{path}", what)
        with _denied(reply.status, what):
            return reader.read(reply.body, lambda told: _believable(told, reply.status, what))

    def _told(self, path: str, what: str) -> tuple[documents.Document, int]:
        reply = self._ask(path, what)
        with _denied(reply.status, what):
            return documents.document(reply.body, what), reply.status

    def _one(self, path: str, what: str) -> Mapping[str, Any]:
        """Return an answer about one thing; one without entries where there is no such thing."""
        told, status = self._told(f"/slurm/v0.0.{self.version()}/{path}", what)
        said = documents.complaints(told.value)
        if said and refusals.missing(said):
            return {"jobs": [], "nodes": [], "reservations": []}
        if said or status != 200:
            raise LookError(refusals.look_fault(said), what, said or f"status {status}")
        return told.value

    def _runs(self, since: int) -> tuple[list[ClusterRun] | None, LookError | None]:
        try:
            path = f"jobs?start_time=uts{max(since, 1)}"
            told = self._document(path, "accounting", "slurmdb")
            return documents.runs_of(told.value), None
        except LookError as error:
            return None, error

    def _around(self, action: Action) -> ClusterView:
        if isinstance(action, Submit):
            # Others may have copied the tag.
            queue, _ = self._list(self._queue, "jobs", "queue")
            jobs = [one for one in queue if action.user in ("", one.user)]
            runs: list[ClusterRun] = []
            if action.since and not any(job.mark.promise == action.id for job in jobs):
                found, fault = self._runs(action.since - self._limits.overlap)
                if fault is not None and fault.fault is not LookFault.UNAVAILABLE:
                    raise fault
                runs = [one for one in found or () if action.user in ("", one.user)]
            return ClusterView({job.id: job for job in jobs}, {}, {}, tuple(runs))
        if isinstance(action, Reserve | ReserveNode | Unreserve):
            name = reservation_name(action.of if isinstance(action, Unreserve) else action.id)
            told = self._one(f"reservation/{name}", "reservations")
            held = documents.reservations_of(told)
            return ClusterView({}, {}, {one.name: one for one in held})
        if isinstance(action, OnNode):
            told = self._one(f"node/{quote(action.node, safe='')}", "nodes")
            return ClusterView({}, {node.name: node for node in documents.nodes_of(told)}, {})
        found_jobs = documents.jobs_of(self._one(f"job/{action.job}", "queue"))
        return ClusterView({job.id: job for job in found_jobs}, {}, {})

    # ----------------------------------------------------------------------------- acting

    def _tell(self, request: Request, action: str) -> Mapping[str, Any]:
        """Send a request that acts; WriteError where it did not, or may not have, taken effect."""
        limits, path = self._limits, f"/slurm/v0.0.{self.version()}/{request.path}"
        try:
            reply = self._server.ask(
                request.method, path, request.body, timeout=limits.write, most=limits.most
            )
        except NoReply as error:
            fault = WriteFault.AMBIGUOUS if error.heard else WriteFault.UNREACHABLE
            raise WriteError(fault, action, f"slurmrestd {error}") from None
        if reply.status in _DENIED:
            message = f"slurmrestd refuses this user (status {reply.status})"
            raise WriteError(WriteFault.NOT_PERMITTED, action, message)
        try:
            told = documents.document(reply.body, "answer").value
        except LookError as error:
            raise WriteError(WriteFault.AMBIGUOUS, action, str(error)) from None
        if said := documents.complaints(told):
            raise WriteError(refusals.write_fault(said), action, said)
        if reply.status != 200:
            message = f"slurmrestd answers with status {reply.status} without a message"
            raise WriteError(WriteFault.AMBIGUOUS, action, message)
        return told

    def _write(self, action: Action, seen: ClusterView) -> int:
        version = self.version()
        match action:
            case Submit():
                told = self._tell(requests.submit(action, version), action.id)
                return _submitted(told, action.id)
            case Reserve():
                made = requests.reserve(action, version)
                back = requests.delete_reservation(action.id)
                reserve_whole(action, made, back, self._around, self._tell)
            case Unreserve():
                self._tell(requests.delete_reservation(action.of), action.id)
            case Requeue():
                self._requeue(action, seen.jobs[action.job])
            case StartNow():
                job = seen.jobs[action.job]
                if job.held:
                    self._noted(action, seen, requests.release(action.job))
                wait_out(job, self._clock())
                now = int(self._clock())
                self._tell(requests.start_now(action, now, version), action.id)
            case Hold():
                self._tell(requests.hold(action, seen.jobs[action.job].note), action.id)
            case Release():
                self._noted(action, seen, requests.release(action.job))
            case SignalJob():
                self._noted(action, seen, requests.signal(action))
            case Exclude():
                self._tell(requests.exclude(action, seen.jobs[action.job]), action.id)
            case DrainNode():
                self._tell(requests.drain(action), action.id)
            case ResumeNode():
                self._tell(requests.resume(action), action.id)
            case RebootNode() | ReserveNode():
                message = requests.lacking(action, version)
                raise WriteError(WriteFault.UNSUPPORTED, action.id, message)
        return 0

    def _requeue(self, action: Requeue, job: ClusterJob) -> None:
        if not action.excluded:
            self._tell(requests.requeue(action), action.id)
            return
        steps = ElsewhereSteps(
            requests.requeue(action), partial(requests.exclude, action, pending=True),
            requests.release(action.job), requests.note,
        )  # fmt: skip
        held = partial(self._held, action)
        start_elsewhere(action, job, steps, held, lambda step, name, _: self._tell(step, name))

    def _held(self, action: Requeue) -> ClusterJob | None:
        """Return a job that was queued again once it waits, held: slurmrestd cannot do both at
        once, but Slurm starts a job again only when its credential is over (two minutes)."""
        path = f"job/{action.job}"
        job = once_waiting(lambda: documents.jobs_of(self._one(path, "queue")), self._limits.write)
        if job is not None and not job.held:
            self._tell(requests.hold_again(job.id), action.id)
        return job

    def _noted(
        self, action: Release | SignalJob | StartNow, seen: ClusterView, request: Request
    ) -> None:
        between_notes(action, seen.jobs[action.job], request, requests.note, self._tell)


def _submitted(told: Mapping[str, Any], action: str) -> int:
    """Return the number of the job; it stands at the top, or within ``result``."""
    result = told.get("result")
    number = told.get("job_id") or (result.get("job_id") if isinstance(result, dict) else None)
    if isinstance(number, bool) or not isinstance(number, int) or number <= 0:
        message = "slurmrestd returned no job id"
        raise WriteError(WriteFault.AMBIGUOUS, action, message)
    return number


def _believable(told: documents.Document, status: int, what: str) -> None:
    """Raise LookError for an answer that refuses or complains."""
    said = documents.complaints(told.value)
    if status in _DENIED:
        raise LookError(LookFault.NOT_PERMITTED, what, said or f"status {status}")
    if said or status != 200:
        fault = refusals.look_fault(said)
        raise LookError(fault, what, said or f"slurmrestd answers with status {status}")


@contextmanager
def _denied(status: int, what: str) -> Iterator[None]:
    """Say of an answer that cannot be read, and whose status refuses the user, that it does so."""
    try:
        yield
    except LookError as error:
        if status in _DENIED and error.fault is not LookFault.NOT_PERMITTED:
            message = f"slurmrestd refuses this user (status {status})"
            raise LookError(LookFault.NOT_PERMITTED, what, message) from None
        raise
