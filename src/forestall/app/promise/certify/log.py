"""The certifier's rules of `events.csv`, `decisions.csv` and `foreseen.csv`: what was told, decided
and foreseen is what jobs, runs and failures tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final, Self

import numpy as np

from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import spread
from forestall.app.kit.certify.sheet import Int, Reals, Rows, Sheet
from forestall.app.kit.certify.sums import passes, per, unlike_rows
from forestall.app.promise.certify.files import FailureRows, PromiseRun, Texts, probability
from forestall.app.promise.certify.pieces import outages_of
from forestall.model.decisions import DecisionKind
from forestall.model.events import EventKind
from forestall.model.units import MAX_SECONDS

FILES: Final = ("events.csv", "decisions.csv")
OF_NODES: Final = (EventKind.NODE_FAILED, EventKind.NODE_RECOVERED)


@dataclass(frozen=True)
class PromiseEventRows(Rows):
    """`events.csv`; fields that an event does not tell of are NONE."""

    FILE: ClassVar = "events.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(EventKind), "event")
    job: Int = read.job(empty=True)
    node: Int = read.whole(0, "nodes", empty=True)
    until: Int = read.seconds(empty=True)
    size: Int = read.whole(1, read.MAX_NODES, empty=True)
    estimate: Int = read.whole(1, MAX_SECONDS, empty=True)
    interval: Int = read.whole(0, MAX_SECONDS, empty=True)
    decisions: Int = read.whole()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        of_node = np.isin(self.kind, OF_NODES)
        asked = self.kind == EventKind.SUBMITTED
        there = {
            "job": ~of_node & (self.kind != EventKind.PASS),
            "node": of_node,
            "until": self.kind == EventKind.NODE_FAILED,
            **dict.fromkeys(("size", "estimate", "interval"), asked),
        }
        for name, wanted in there.items():
            sheet.refuse(sheet.empty(name) == wanted, name, "allowed in such an event")


@dataclass(frozen=True)
class PromiseDecisionRows(Rows):
    """`decisions.csv`; fields that are empty are NONE."""

    FILE: ClassVar = "decisions.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(DecisionKind), "decision")
    job: Int = read.job()
    start: Int = read.seconds(empty=True)
    end: Int = read.seconds(empty=True)
    deadline: Int = read.seconds(empty=True)
    probability: Reals = read.column(probability)
    nodes: Texts = read.column(
        lambda sheet, name: sheet.frame[name].fill_null("").to_numpy().astype(object)
    )
    line: Int = read.line()


@dataclass(frozen=True)
class ForeseenRows(Rows):
    """`foreseen.csv`."""

    FILE: ClassVar = "foreseen.csv"
    time: Int = read.seconds()
    node: Int = read.whole(0, "nodes")
    downtime: Int = read.whole(0, MAX_SECONDS)
    detectability: Reals = read.column(probability)


@dataclass(frozen=True)
class LoggedPromises:
    """A run, and the log beside it."""

    run: PromiseRun
    events: PromiseEventRows
    decisions: PromiseDecisionRows
    foreseen: ForeseenRows | None

    @classmethod
    def of(cls, folder: Path, run: PromiseRun) -> Self | None:
        """Return what the log of a folder says; None where there is none."""
        if not any((folder / name).exists() for name in FILES):
            return None
        known = {"ids": run.jobs.name, "nodes": run.given.nodes}
        traced = run.summary.held.get("parameters", {}).get("predictor") == "trace"
        foreseen = ForeseenRows.read(folder, **known) if traced else None
        return cls(
            run,
            PromiseEventRows.read(folder, **known),
            PromiseDecisionRows.read(folder, **known),
            foreseen,
        )

    @cached_property
    def end(self) -> int:
        """When the last job finished."""
        return int(self.run.jobs.finish.max())

    # ---------------------------------------------------------------------------------- events

    def check_events(self, _: PromiseRun, finding: Finding) -> str:
        """Events are what jobs, runs and failures tell, in their order."""
        events, run = self.events, self.run
        jobs, failures, names = run.jobs, run.failures, run.jobs.name
        line = np.arange(len(events)) + 2
        back = np.zeros(len(events), dtype=np.bool_)
        back[1:] = events.time[1:] < events.time[:-1]
        finding.where(back, "events.csv, line {0}: earlier than the event above it", line)
        asked = events.take(events.kind == EventKind.SUBMITTED)
        text = "job {0}: submission (time, nodes) {1} is in only one of events.csv and jobs.csv"
        every = np.arange(len(jobs))
        said = [asked.job, asked.time, asked.size]
        unlike_rows(finding, text, said, [every, jobs.submit, jobs.size], names)
        self._asked(asked, finding)
        done = events.take(events.kind == EventKind.FINISHED)
        text = "job {0}: finish {1} is in only one of events.csv and jobs.csv"
        unlike_rows(finding, text, [done.job, done.time], [every, jobs.finish], names)
        failed = events.take(events.kind == EventKind.NODE_FAILED)
        text = "node {0}: failure (time, end) {1} is in only one of events.csv and failures.csv"
        nodes, until = np.arange(run.given.nodes), failures.time + failures.downtime
        said = [failed.node, failed.time, failed.until]
        played = [failures.node, failures.time, until]
        unlike_rows(finding, text, said, played, nodes, once=False)
        self._recovered(events.take(events.kind == EventKind.NODE_RECOVERED), finding)
        if run.given.stores is None:  # what becomes known of a save makes passes between events
            raised = run.summary.held["parameters"].get("overrun") == "extend"
            passes(finding, events.time, events.kind == EventKind.PASS, each=True, alone=raised)
        for kind, mine, what in (
            (EventKind.CHECKPOINT_REQUESTED, jobs.checkpoints + jobs.skipped, "requests"),
            (EventKind.CHECKPOINT_FINISHED, run.of_jobs(run.runs.completed), "ends"),
        ):
            told = per(events.job[events.kind == kind], len(jobs))
            text = "job {0}: {1} " + what + " of checkpoints in events.csv, {2} in the tables"
            finding.where(told != mine, text, names, told, mine)
        self._saved(events.take(events.kind == EventKind.CHECKPOINT_FINISHED), finding)
        return f"{len(events)} events, consistent with jobs, runs and failures"

    def _saved(self, ended: PromiseEventRows, finding: Finding) -> None:
        """Checkpoints end when their decisions say so."""
        begun = self.decisions.take(self.decisions.kind == DecisionKind.CHECKPOINT)
        due = set(zip(begun.job.tolist(), begun.end.tolist(), strict=True))
        here = zip(ended.job.tolist(), ended.time.tolist(), strict=True)
        odd = np.array([one not in due for one in here], dtype=np.bool_)
        text = "job {0}: a checkpoint ends at {1} in events.csv, but not in decisions.csv"
        finding.where(odd, text, self.run.jobs.name[ended.job], ended.time)

    def _recovered(self, back: PromiseEventRows, finding: Finding) -> None:
        """Nodes come back as their failures, prolonged by those meanwhile, have it."""
        failures = self.run.failures
        told = (failures.node.tolist(), failures.time.tolist(), failures.downtime.tolist())
        outages = outages_of(*told, joined=False)  # a node comes back, and fails in that second
        ends = [(node, end) for node, (_, all_of) in outages.items() for end in all_of]
        due = np.array([one for one in sorted(ends) if one[1] < self.end], dtype=np.int64)
        due = due.reshape(-1, 2)
        here = back.time < self.end
        text = "node {0}: recovery {1} is in only one of events.csv and failures.csv"
        said = [back.node[here], back.time[here]]
        unlike_rows(finding, text, said, [due[:, 0], due[:, 1]], np.arange(self.run.given.nodes))

    def _asked(self, asked: PromiseEventRows, finding: Finding) -> None:
        """What jobs asked for, as the parameters have it."""
        said, jobs = self.run.summary.held["parameters"], self.run.jobs
        names = jobs.name[asked.job]
        if said.get("estimates") == "runtime":
            text = "job {0} has an estimate of {1} s, but runs {2} s"
            real = jobs.runtime[asked.job]
            finding.where(asked.estimate != real, text, names, asked.estimate, real)
        every = said.get("checkpoint_interval")
        if said.get("checkpoint") != "daly" and isinstance(every, int):
            text = "job {0} has a checkpoint interval of {1} s instead of {2} s"
            odd = asked.interval != every
            finding.where(odd, text, names, asked.interval, np.full(len(asked), every))

    # ------------------------------------------------------------------------------- decisions

    def check_decisions(self, _: PromiseRun, finding: Finding) -> str:
        """Decisions answer events, and are what became of the jobs."""
        run, told, jobs = self.run, self.decisions, self.run.jobs
        owner = spread(self.events.decisions)[0]
        if len(owner) != len(told):
            text = "events.csv counts {0} decisions, but decisions.csv has {1}"
            finding.wrong(text, len(owner), len(told))
        else:
            odd = self.events.time[owner] != told.time
            finding.where(odd, "decisions.csv, line {0}: not at its event's time", told.line)
        started = told.take(told.kind == DecisionKind.START)
        text = "job {0}: start {1} is in only one of decisions.csv and the runs"
        rows = [started.job, started.start]
        if run.complete:
            unlike_rows(finding, text, rows, [run.runs.job, run.runs.start], jobs.name)
            self._nodes(started, finding)
        for kind, mine, name in (
            (DecisionKind.CHECKPOINT, jobs.checkpoints, "checkpoints"),
            (DecisionKind.SKIP, jobs.skipped, "skipped"),
            (DecisionKind.REQUEUE, jobs.restarts, "restarts"),
        ):
            here = per(told.job[told.kind == kind], len(jobs))
            text = "job {0}: {1} " + name + " in jobs.csv, {2} in decisions.csv"
            finding.where(here != mine, text, jobs.name, mine, here)
        self._promised(finding)
        return f"{len(told)} decisions, consistent with jobs and runs"

    def _nodes(self, started: PromiseDecisionRows, finding: Finding) -> None:
        """Jobs start on the nodes that they run on."""
        runs = self.run.runs
        rows = {
            (job, start): nodes
            for job, start, nodes in zip(
                runs.job.tolist(), runs.start.tolist(), runs.nodes.tolist(), strict=True
            )
        }
        other = np.array(
            [
                rows.get((job, start), nodes) != nodes
                for job, start, nodes in zip(
                    started.job.tolist(),
                    started.start.tolist(),
                    started.nodes.tolist(),
                    strict=True,
                )
            ],
            dtype=np.bool_,
        )
        text = "job {0} starts on nodes other than those it runs on (decisions.csv, line {1})"
        finding.where(other, text, self.run.jobs.name[started.job], started.line)

    def _promised(self, finding: Finding) -> None:
        """What is promised when a job comes is its promise, and holds for all that follows."""
        jobs, told = self.run.jobs, self.decisions
        made = told.take(np.isin(told.kind, (DecisionKind.RESERVE, DecisionKind.START)))
        labels = (jobs.name[made.job], made.deadline, jobs.deadline[made.job], made.line)
        text = "job {0}: deadline {1} in decisions.csv (line {3}), {2} in jobs.csv"
        finding.where(made.deadline != jobs.deadline[made.job], text, *labels)
        first = np.full(len(jobs), -1, dtype=np.int64)
        rows = np.flatnonzero(told.kind == DecisionKind.RESERVE)[::-1]
        first[told.job[rows]] = rows
        here = jobs.promised & (first >= 0)
        said = told.probability[np.maximum(first, 0)] if len(told) else jobs.promise
        text = "job {0}: promised with {1} in decisions.csv, {2} in jobs.csv"
        finding.where(here & (said != jobs.promise), text, jobs.name, said, jobs.promise)
        text = "job {0} has a promise in jobs.csv, but none in decisions.csv"
        finding.where(jobs.promised & (first < 0), text, jobs.name)

    # -------------------------------------------------------------------------------- foreseen

    def check_foreseen(self, _: PromiseRun, finding: Finding) -> str:
        """Failures that could be foreseen were, and no others, as far as they were played."""
        known, failures = self.foreseen, self.run.failures
        assert known is not None, "only runs with the trace predictor are asked"
        accuracy = self.run.summary.number("parameters.accuracy", 0, 1 + 1e-12)
        line = np.arange(len(known)) + 2
        back = np.zeros(len(known), dtype=np.bool_)
        back[1:] = known.time[1:] < known.time[:-1]
        finding.where(back, "foreseen.csv, line {0}: earlier than the failure above it", line)
        beyond = known.detectability > accuracy
        finding.where(beyond, "foreseen.csv, line {0}: could not be foreseen", line)
        if self.run.summary.held.get("repeat_period") or not len(failures):
            return f"{len(known)} failures, all foreseeable with an accuracy of {accuracy:g}"
        mine = failures.take(~failures.planned & (failures.detectability <= accuracy))
        first, last = int(failures.time.min()), int(failures.time.max())
        within = known.take((known.time >= first) & (known.time <= last))
        text = "node {0}: failure (time, down time, detectability) {1} is in only one of "
        text += "foreseen.csv and failures.csv"
        nodes = np.arange(self.run.given.nodes)

        def rows(table: ForeseenRows | FailureRows) -> list[Int]:
            exactly = table.detectability.view(np.int64)
            return [table.node, table.time, table.downtime, exactly]

        unlike_rows(finding, text, rows(within), rows(mine), nodes, once=False)
        return f"{len(known)} failures, {len(within)} of them played"
