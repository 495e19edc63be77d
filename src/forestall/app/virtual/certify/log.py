"""The certifier's rules of `events.csv` and `decisions.csv`: what was told and decided is what
jobs, stays, moves and failures tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final, Self

import numpy as np

from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import spread
from forestall.app.kit.certify.sheet import NONE, Int, Rows, Sheet
from forestall.app.kit.certify.sums import passes, unlike_rows
from forestall.app.virtual.certify.facts import Facts
from forestall.model.virtual import FAR, TaskDecisionKind, TaskEventKind
from forestall.model.virtual_books import Begun, Ended
from forestall.traces.predictions import PERFECT, RECORDED

FILES: Final = ("events.csv", "decisions.csv")


def _index(sheet: Sheet, _: str) -> Int:
    """Return the number of each row's task among all tasks, NONE where it tells of none."""
    job = sheet.jobs("job", sheet.given["ids"], empty=True)
    number = sheet.whole("task", empty=True)
    first, size = sheet.given["first"], sheet.given["size"]
    there = (job != NONE) & (number != NONE)
    sheet.refuse(there & (number >= size[np.maximum(job, 0)]), "task", "a task of its job")
    return np.where(there, first[np.maximum(job, 0)] + number, NONE)


@dataclass(frozen=True)
class TaskEventRows(Rows):
    """`events.csv`; fields that are empty are NONE."""

    FILE: ClassVar = "events.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(TaskEventKind), "event")
    job: Int = read.job(empty=True)
    index: Int = read.column(_index, "task")
    node: Int = read.whole(0, "nodes", empty=True)
    at: Int = read.whole(-read.MAX_AMOUNT, read.MAX_AMOUNT, empty=True)
    size: Int = read.whole(1, empty=True)
    work: Int = read.parts(3, empty=NONE)
    deadline: Int = read.seconds(empty=True)
    decisions: Int = read.whole()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        of_node = np.isin(self.kind, [kind for kind in TaskEventKind if kind.about_node])
        asked = self.kind == TaskEventKind.SUBMITTED
        there = {"node": of_node, **dict.fromkeys(("size", "work", "deadline"), asked)}
        there["job"] = ~of_node & (self.kind != TaskEventKind.PASS)
        of_job = np.isin(self.kind, [kind for kind in TaskEventKind if kind.about_job])
        there["task"] = there["job"] & ~of_job
        for name, wanted in there.items():
            sheet.refuse(sheet.empty(name) == wanted, name, "allowed in such an event")


@dataclass(frozen=True)
class TaskDecisionRows(Rows):
    """`decisions.csv`; fields that are empty are NONE."""

    FILE: ClassVar = "decisions.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(TaskDecisionKind), "decision")
    job: Int = read.job()
    index: Int = read.column(_index, "task")
    source: Int = read.whole(0, "nodes", empty=True)
    node: Int = read.whole(0, "nodes", empty=True)
    rate: Int = read.parts(3, empty=0)
    deadline: Int = read.seconds(empty=True)
    line: Int = read.line()


@dataclass(frozen=True)
class LoggedTasks(Facts):
    """The files of a run, and those of its log, which are read where a rule asks for them."""

    folder: Path = Path()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what the files of this folder say."""
        run = Facts.read(folder)
        return cls(**vars(run), folder=folder)

    @property
    def _known(self) -> dict[str, object]:
        jobs = self.jobs
        first = jobs.first
        return {"ids": jobs.name, "nodes": self.given.nodes, "first": first, "size": jobs.size}

    @cached_property
    def events(self) -> TaskEventRows:
        """What the engine was told."""
        return TaskEventRows.read(self.folder, **self._known)

    @cached_property
    def decisions(self) -> TaskDecisionRows:
        """What it answered."""
        return TaskDecisionRows.read(self.folder, **self._known)


def events(run: LoggedTasks, finding: Finding) -> str:
    """Events are what jobs, stays and failures tell, in their order."""
    told, jobs, names = run.events, run.jobs, run.jobs.name
    line = np.arange(len(told)) + 2
    back = np.zeros(len(told), dtype=np.bool_)
    back[1:] = told.time[1:] < told.time[:-1]
    finding.where(back, "events.csv, line {0}: earlier than the event above it", line)
    passes(finding, told.time, told.kind == TaskEventKind.PASS)
    asked, every = told.take(told.kind == TaskEventKind.SUBMITTED), np.arange(len(jobs))
    text = "job {0}: submission (time, tasks, work in thousandths, deadline) {1} is in only one of "
    text += "events.csv and jobs.csv"
    said = [asked.job, asked.time, asked.size, asked.work, asked.deadline]
    whole = jobs.runtime * run.given.most
    unlike_rows(finding, text, said, [every, jobs.submit, jobs.size, whole, jobs.deadline], names)
    stays = run.chain.stays
    done = (stays.ended == Ended.COMPLETED) | (stays.ended == Ended.LATE)
    ended = told.take(told.kind == TaskEventKind.TASK_ENDED)
    text = "job {0}: the end (task, time) {1} is in only one of events.csv and runs.csv"
    mine = [stays.job[done], stays.index[done], stays.end[done]]
    unlike_rows(finding, text, [ended.job, ended.index, ended.time], mine, names)
    _copied(run, finding)
    failed = told.take(told.kind == TaskEventKind.NODE_FAILED)
    text = "node {0}: failure {1} is in only one of events.csv and failures.csv"
    nodes, failures = np.arange(run.given.nodes), run.failures
    until = failures.time + failures.downtime
    mine = [failures.node, failures.time, until]
    unlike_rows(finding, text, [failed.node, failed.time, failed.at], mine, nodes, once=False)
    back_up, end = told.take(told.kind == TaskEventKind.NODE_RECOVERED), int(told.time.max())
    text = "node {0}: recovery {1} is in only one of events.csv and failures.csv"
    here, due = back_up.time < end, run.down.end < end
    mine = [run.down.node[due], run.down.end[due]]
    unlike_rows(finding, text, [back_up.node[here], back_up.time[here]], mine, nodes)
    _foreseen(run, finding)
    _asked(run, finding)
    _leaving(run, finding)
    return f"{len(told)} events, consistent with jobs, stays and failures"


def _copied(run: LoggedTasks, finding: Finding) -> None:
    """A live migration stops its machine at the source when it is told that its memory is there."""
    told, stays = run.events, run.chain.stays
    live = run.summary.held["parameters"].get("migration") == "pre-copy"
    here = told.take(told.kind == TaskEventKind.MIGRATION_ENDED)
    moved = stays.ended == (Ended.MOVED if live else NONE)
    text = "job {0}: the end of a copy (task, time) {1} is in only one of events.csv and runs.csv"
    mine = [stays.job[moved], stays.index[moved], stays.end[moved]]
    unlike_rows(finding, text, [here.job, here.index, here.time], mine, run.jobs.name)


def _foreseen(run: LoggedTasks, finding: Finding) -> None:
    """What was foreseen when a failure came is what was told last of its node."""
    told, failures = run.events, run.failures
    force: dict[int, int] = {}
    due: dict[tuple[int, int], list[int]] = {}
    for time, kind, node, at in zip(
        told.time.tolist(), told.kind.tolist(), told.node.tolist(), told.at.tolist(), strict=True
    ):
        if kind == TaskEventKind.FORESEEN:
            force[node] = at
        elif kind == TaskEventKind.NODE_FAILED:
            due.setdefault((node, time), []).append(force.pop(node, NONE))
    text = (
        "failure of node {0} at {1}: predicted is {2} in failures.csv, {3} according to events.csv"
    )
    for node, time, said in zip(
        failures.node.tolist(), failures.time.tolist(), failures.predicted.tolist(), strict=True
    ):
        known = due.get((node, time), [said])
        if said not in known:
            words = ["nothing" if one == NONE else str(one) for one in (said, known[0])]
            finding.wrong(text, node, time, *words)


def _asked(run: LoggedTasks, finding: Finding) -> None:
    """Predictions are told as the run begins, when their node fails, and as often as was asked."""
    told, held = run.events, run.summary.held
    name = str((held.get("predictor") or {}).get("name"))
    if not (name in (RECORDED, PERFECT) or name.startswith("synthetic, ") or ", asked " in name):
        return  # made beforehand: they may come at any time
    begin, every = int(told.time.min()), held["parameters"].get("predict_every")
    failed = told.kind == TaskEventKind.NODE_FAILED
    known = set(zip(told.node[failed].tolist(), told.time[failed].tolist(), strict=True))
    here = told.take(told.kind == TaskEventKind.FORESEEN)
    regular = (here.time - begin) % (every or FAR) == 0
    pairs = zip(here.node.tolist(), here.time.tolist(), strict=True)
    odd = ~regular & np.array([one not in known for one in pairs], dtype=np.bool_)
    text = "node {0}: events.csv has a prediction at {1}, when none was due"
    finding.where(odd, text, here.node, here.time)
    rows, times = np.unique(np.stack((here.node, here.time)), axis=1, return_counts=True)
    finding.where(times > 1, "node {0}: two predictions at {1} (events.csv)", *rows)


def _leaving(run: LoggedTasks, finding: Finding) -> None:
    """Nodes are to be left `lead` seconds before the time predicted, or at once, unless they fail
    or are foreseen to fail at another time before; and moves flee what was predicted."""
    told, given, moves = run.events, run.given, run.moves
    known: dict[int, tuple[int, int]] = {}
    lead = 0 if run.summary.held["parameters"].get("migration") == "none" else given.lead
    due, end = [], int(told.time.max())
    rows = zip(told.time.tolist(), told.kind.tolist(), told.node.tolist(), told.at.tolist(),
               strict=True)  # fmt: skip
    fled = {}
    for time, kind, node, at in rows:
        if kind not in (TaskEventKind.FORESEEN, TaskEventKind.NODE_FAILED):
            fled.update({(time, node): known[node][1]} if node in known else {})
            continue
        if node in known and known[node][0] < time:
            due.append((node, known[node][0]))
        known.pop(node, None)
        if kind == TaskEventKind.FORESEEN and at != NONE:
            known[node] = (max(time, at - lead), at)
    due += [(node, when) for node, (when, _) in known.items()]
    if "tau" not in run.summary.held["parameters"]:  # learnt: what moves take is not told here
        here = np.array([one for one in due if one[1] < end], dtype=np.int64).reshape(-1, 2)
        left = told.take((told.kind == TaskEventKind.LEAVE_DUE) & (told.time < end))
        text = (
            "node {0} is to be left at {1} according to only one of the predictions and events.csv"
        )
        mine = [here[:, 0], here[:, 1]]
        unlike_rows(finding, text, [left.node, left.time], mine, np.arange(given.nodes))
    text = (
        "the move at {0} off node {1} is for a failure at {2}, but {3} was predicted "
        "(migrations.csv)"
    )
    for time, node, said in zip(
        moves.time.tolist(), moves.source.tolist(), moves.predicted.tolist(), strict=True
    ):
        if said != NONE and fled.get((time, node), said) != said:
            finding.wrong(text, time, node, said, fled[time, node])


def decisions(run: LoggedTasks, finding: Finding) -> str:
    """Decisions answer events, and are what became of the tasks."""
    told, names, moves = run.decisions, run.jobs.name, run.moves
    owner = spread(run.events.decisions)[0]
    if len(owner) != len(told):
        text = "events.csv counts {0} decisions, but decisions.csv has {1}"
        finding.wrong(text, len(owner), len(told))
    else:
        odd = run.events.time[owner] != told.time
        finding.where(odd, "decisions.csv, line {0}: not at its event's time", told.line)
    stays = run.stays
    for kind, begun in (
        (TaskDecisionKind.START, Begun.PLACED),
        (TaskDecisionKind.RESTART, Begun.RESTARTED),
        (TaskDecisionKind.MIGRATE, Begun.MIGRATED),
    ):
        here, mine = told.take(told.kind == kind), stays.take(stays.begun == begun)
        text = f"job {{0}}: {kind.name.lower()} (task, time, node, rate in thousandths) {{1}} is "
        text += "in only one of decisions.csv and runs.csv"
        said = [here.job, here.index, here.time, here.node, here.rate]
        theirs = [mine.job, mine.index, mine.start, mine.node, mine.rate]
        unlike_rows(finding, text, said, theirs, names, once=False)
    here = told.take(told.kind == TaskDecisionKind.MIGRATE)
    text = "job {0}: move (task, time, source, target) {1} is in only one of decisions.csv and "
    text += "migrations.csv"
    said = [here.job, here.index, here.time, here.source, here.node]
    theirs = [moves.job, moves.index, moves.time, moves.source, moves.target]
    unlike_rows(finding, text, said, theirs, names, once=False)
    odd = (told.deadline != NONE) & (told.deadline != run.jobs.deadline[told.job])
    text = "job {0}: deadline {1} in decisions.csv (line {2}), {3} in jobs.csv"
    labels = (names[told.job], told.deadline, told.line, run.jobs.deadline[told.job])
    finding.where(odd, text, *labels)
    return f"{len(told)} decisions, consistent with stays and moves"
