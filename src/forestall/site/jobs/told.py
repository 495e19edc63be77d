"""The four sections on a job: its use, its waits, its promises, and what hit it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.core.model.hostlist import expand
from forestall.core.model.job_records import NEVER
from forestall.core.model.ledger import OUTCOMES
from forestall.core.show.blocks import Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.quantities import counted, duration, number, percent, said
from forestall.core.show.report import Section
from forestall.site.jobs.answers import wait_answers
from forestall.site.jobs.used import columns, used_by
from forestall.site.losses.amounts import HOUR, every
from forestall.site.promises.study import Question, study
from forestall.slurm.records.accounting import UNLIMITED
from forestall.slurm.records.node_events import NATURES
from forestall.slurm.records.run_ends import CAUSES, LABELS, LOST
from forestall.slurm.sources.swf_jobs import waits_told
from forestall.slurm.sources.windows import spoken

if TYPE_CHECKING:
    from forestall.core.model.arrays import Ints
    from forestall.site.learning.turnaround.answer import WaitAnswer
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.node_events import NodeEvents
    from forestall.slurm.records.run_ends import Ends
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

CHANCE: Final = 0.9
"""The probability of the deadline that a job would have been promised."""
LATEST: Final = 100_000
"""Of earlier jobs the latest so many are replayed for its promise."""
FEWEST: Final = 20
"""Waits in its partition from which a job's wait is set beside them."""
MOST_OUTAGES: Final = 20
NAMED: Final = ("end", "start", "submit", "eligible")


def use(records: Accounting, ends: Ends, rows: Ints, asked: Asked) -> Section:
    """Return what the job used: a row for each run, and their sum."""
    interval = asked.checkpoint_interval
    code = np.full(len(records), -1, dtype=np.int64)
    code[rows] = np.arange(len(rows))
    names = [f"run {k + 1}" for k in range(len(rows))]
    runs = used_by(records, ends, code, names, interval)
    code[rows] = 0
    (whole,) = used_by(records, ends, code, ["all"], interval)
    shown = [{**row, **_run(records, ends, int(at))} for row, at in zip(runs, rows, strict=True)]
    tables = [
        Table.by(
            "runs",
            [("Run", "name", str), ("State", "state", lambda text: clean(text, 40)),
             ("Started", "started", str), ("Ran", "elapsed_seconds", duration),
             ("Nodes", "nodes", _whole), ("CPUs", "cpus", _whole), ("GPUs", "gpus", _whole)],
            shown, title="Its runs", right=(3, 4, 5, 6),
        ),
        Table.by(
            "used",
            columns("Run", interval, waits=waits_told(records)),
            runs if len(runs) == 1 else [whole, *runs],
            title="What the runs used", summed=len(runs) > 1,
        ),
    ]  # fmt: skip
    facts = (
        Fact("node_hours", "node-hours", whole["node_hours"], "node_hours", len(rows)),
        *_share(whole["time_limit_used_ratio"]),
        Fact("lost_work", "lost, no checkpoints", whole["lost_node_hours"], "node_hours",
             len(rows), "The job keeps nothing of a run that did not complete.",
             labels={"bound": "upper"}),
        Fact("lost_work", f"lost, checkpoint every {every(interval)}",
             whole["lost_after_checkpoint_node_hours"], "node_hours", len(rows),
             f"The job writes a checkpoint every {every(interval)}; a stopped run loses half of "
             "that on average.", labels={"bound": "lower"}),
    )  # fmt: skip
    why = "sacct's TotalCPU and MaxRSS are not among the records that are read"
    untold = (Untold("CPU and memory efficiency", why, "the output of seff where the job ran"),)
    lead = (
        f"{counted(len(rows), 'runs')}, {said(whole['node_hours'], 'node_hours')}"
        f"{_of_limit(whole['time_limit_used_ratio'])}. {_ended(records, ends, int(rows[-1]))}"
    )
    return Section("used", "What it used", lead, facts, tuple(tables), untold=untold)


def _ended(records: Accounting, ends: Ends, last: int) -> str:
    """Return how its last run ended, in Slurm's word and by the rules of the report."""
    label, state = LABELS[CAUSES[ends.causes[last]]], clean(records.state[last], 40)
    if not state:
        return f"How it ended: {label}."
    return f"It ended {state}{f' ({label})' if label != state.lower() else ''}."


def _run(records: Accounting, ends: Ends, at: int) -> dict[str, Any]:
    start = int(records.start[at])
    return {
        "state": records.state[at],
        "cause": CAUSES[ends.causes[at]],
        "started": spoken(start, records.dated) if start < NEVER else "never",
        "elapsed_seconds": int(ends.elapsed[at]),
        "nodes": _known(int(records.nodes[at])),
        "cpus": _known(int(records.cpus[at])),
        "gpus": _known(int(records.gpus[at])),
        **{f"{name}_s": _time(int(getattr(records, name)[at])) for name in NAMED},
        "limit_seconds": _limit(int(records.limit[at])),
        "nodelist": records.nodelist[at],
    }


def _known(value: int) -> int | None:
    return None if value < 0 else value


def _time(value: int) -> int | None:
    return None if value < 0 or value >= NEVER else value


def _limit(value: int) -> int | None:
    return None if value < 0 or value >= UNLIMITED else value


def _whole(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _share(ratio: float) -> tuple[Fact, ...]:
    if not math.isfinite(ratio):
        return ()
    return (Fact("time_limit_used", "of its time limit used", ratio, "ratio"),)


def _of_limit(ratio: float) -> str:
    return f", {percent(ratio)} of its time limit" if math.isfinite(ratio) else ""


def waits(site: SiteRecords, rows: Ints, seed: int = 1) -> Section:
    """Return what the job waited for, and how long beside the jobs of its partition and what was to
    be expected."""
    records = site.accounting
    assert records is not None
    title, first = "What it waited for", int(rows[0])
    if not waits_told(records):
        why = "the job log says when jobs were submitted, but not how long they waited"
        return Section("waited", title, "", untold=(Untold(title, why, "records with starts"),))
    wait = int(records.wait[first])
    then, now = wait_answers(records, first, seed)
    facts = [*_expected(then, "submission"), *_expected(now, "now")]
    if wait < 0:
        reason = clean(records.reason[first], 60)
        text = "It has not started." + (f" Slurm's reason: {reason}." if reason else "")
        text += _answered(then, "At its submission it") + _answered(now, "From now on it")
        return Section("waited", title, text, tuple(facts))
    text = f"It waited {duration(wait)}"
    held = int(records.eligible[first]) - int(records.submit[first])
    if records.eligible[first] >= 0 and held > 0:
        text += f", after {duration(held)} during which it could not start (a dependency or a hold)"
    reason = clean(records.reason[first], 60)
    text += f"; Slurm's last reason: {reason}." if reason and reason != "None" else "."
    alike = (records.partition.code == records.partition.code[first]) & (records.attempt == 0)
    others = records.wait[alike & (records.wait >= 0)]
    text += _answered(then, "At its submission it")
    facts.insert(0, Fact("wait", "waited", wait, "seconds"))
    if len(others) >= FEWEST:
        median, longer = float(np.median(others)), float(np.mean(others > wait))
        text += (
            f" The median wait of {counted(len(others), 'jobs')} in its partition is "
            f"{duration(median)}; {percent(longer)} of them waited longer."
        )
        facts.append(Fact("wait_median", "median in its partition", median, "seconds",
                          len(others)))  # fmt: skip
    return Section("waited", title, text, tuple(facts), _estimates(site, rows))


def _answered(answer: WaitAnswer | None, begin: str) -> str:
    """Return in words how long a job was to wait."""
    if answer is None:
        return ""
    low, high = answer.interval(0.9)
    return (
        f" {begin} was to wait {duration(answer.quantile(0.5))} or less with 50 % probability, "
        f"{duration(low)} to {duration(high)} with 90 %; "
        f"to start within an hour with {percent(answer.chance_within(HOUR))}."
    )


def _expected(answer: WaitAnswer | None, asked: str) -> list[Fact]:
    """Return how long a job was to wait."""
    if answer is None:
        return []
    assumes = "Learned from earlier jobs; it was not said at the time."
    quantiles = [
        Fact("wait_expected", f"wait expected with {100 * level:g} %", answer.quantile(level),
             "seconds", assumes=assumes, labels={"asked": asked, "quantile": f"{level:g}"})
        for level in (0.05, 0.5, 0.9, 0.95)
    ]  # fmt: skip
    chances = [
        Fact("wait_chance", f"chance to start within {duration(time)}" if time else
             "chance to start at once", answer.chance_within(time), "ratio", assumes=assumes,
             labels={"asked": asked, "within": f"{time}"})
        for time in (0, 60, 3600)
    ]  # fmt: skip
    return quantiles + chances


def _estimates(site: SiteRecords, rows: Ints) -> tuple[Table, ...]:
    """Return what Slurm said of its start, each time it was asked."""
    records, told = site.accounting, site.estimates
    assert records is not None
    if told is None:
        return ()
    first = int(rows[0])
    names = [int(one[first]) for one in (records.job, records.task, records.array)]
    mine = np.isin(told.job, names) & (told.start < NEVER)
    mine &= (told.submit < 0) | (told.submit == records.submit[first])
    start = int(records.start[first])
    lines = [
        {"asked_s": when, "start_s": said_start,
         "late_seconds": start - said_start if start < NEVER else None}
        for when, said_start in zip(told.asked[mine].tolist(), told.start[mine].tolist(),
                                    strict=True)
    ]  # fmt: skip
    if not lines:
        return ()
    dated = records.dated
    return (
        Table.by(
            "estimates",
            [("Asked", "asked_s", lambda time: spoken(time, dated)),
             ("Slurm's start", "start_s", lambda time: spoken(time, dated)),
             ("Started later by", "late_seconds", _late)],
            lines, title="What Slurm said of its start",
        ),
    )  # fmt: skip


def _late(seconds: int | None) -> str:
    return "-" if seconds is None else duration(seconds)


def promises(records: Accounting, rows: Ints, asked: Asked) -> Section:
    """Return what the job would have been promised at its submission, by the jobs before it, and
    what became of that."""
    title = "What it was promised"
    first = int(rows[0])
    limit = _limit(int(records.limit[first]))
    text = (
        f"Its time limit was {duration(limit)}." if limit is not None else "It had no time limit."
    )
    limits = () if limit is None else (Fact("time_limit", "time limit", limit, "seconds"),)
    last = records.end[rows][records.end[rows] < NEVER]
    upto = int(last.max()) if len(last) else records.until
    earlier = np.flatnonzero(records.submit <= upto)
    question = Question(("deadline",), chance=CHANCE, seed=asked.seed, latest=LATEST)
    found = study(records.take(earlier), question)
    entry = None
    if found.answers:
        ledger = found.answers[0].ledger
        firsts = _first_runs(records.which[earlier])
        at = np.flatnonzero(earlier[firsts[ledger.job]] == first)
        entry = ledger.take(at[:1]) if len(at) else None
    if entry is None:
        why = found.why or "too few similar jobs came before it for a quote"
        untold = Untold("A promise of its end", why, found.remedy or "a longer period of records")
        return Section("promised", title, text, limits, untold=(untold,))
    deadline, stated = int(entry.deadline[0]), float(entry.stated[0])
    outcome = OUTCOMES[int(entry.outcome[0])]
    text += (
        " Based on earlier jobs, a quote at its submission would have promised that it ends "
        f"within {duration(deadline - int(entry.quoted[0]))} "
        f"({spoken(deadline, records.dated)}) with probability {number(stated)}. That promise "
        f"{_became(outcome)}."
    )
    facts = (
        *limits,
        Fact("promised_in", "promised end after submission",
             deadline - int(entry.quoted[0]), "seconds",
             assumes="Computed from jobs that had ended by then; it was not given at the time."),
        Fact("promised_probability", "with probability", stated, "ratio",
             labels={"outcome": outcome}),
    )  # fmt: skip
    return Section("promised", title, text, facts)


def _first_runs(which: Ints) -> Ints:
    """Return the place of the first run of each job."""
    first = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]
    return first


def _became(outcome: str) -> str:
    return {
        "kept": "would have been kept",
        "missed": "would have been missed",
        "void": "would have been void: the job was canceled before",
        "open": "is still open",
    }[outcome]


def hits(site: SiteRecords, ends: Ends, rows: Ints) -> Section:
    """Return what hit the job: how each run was ended, and outages of its nodes meanwhile."""
    records = site.accounting
    assert records is not None
    title = "What hit it"
    stopped = [int(at) for at in rows if CAUSES[ends.causes[at]] in LOST]
    texts = []
    for at in stopped:
        when = spoken(int(records.end[at]), records.dated)
        node = clean(records.failed_node[at], 60)
        lost = max(int(records.nodes[at]), 0) * int(ends.elapsed[at]) / HOUR
        texts.append(
            f"{when}: {LABELS[CAUSES[ends.causes[at]]]}{f' (node {node})' if node else ''}, "
            f"{number(lost)} node-hours into the run."
        )
    lead = " ".join(texts) or "None of its runs was stopped."
    facts = (Fact("stopped", "runs that were stopped", len(stopped), "count", len(rows)),)
    if site.events is None:
        why = "there are no records of outages"
        untold = (Untold("Outages of its nodes", why, "sacctmgr's events of nodes"),)
        return Section("hit", title, lead, facts, untold=untold)
    return Section("hit", title, lead, facts, body=_outages(records, site.events, ends, rows))


def _outages(records: Accounting, events: NodeEvents, ends: Ends, rows: Ints) -> tuple[Table, ...]:
    place = {name: k for k, name in enumerate(events.names)}
    lines: list[dict[str, Any]] = []
    for run, at in enumerate(rows.tolist()):
        start = int(records.start[at])
        if start >= NEVER:
            continue
        try:
            hosts = expand(records.nodelist[at])
        except ParameterError:  # a list that nobody can read names no node
            continue
        mine = [place[host] for host in dict.fromkeys(hosts) if host in place]
        end = min(int(records.end[at]), records.until)
        near = np.isin(events.node, mine) & (events.begin <= end + 60) & (events.end > start)
        lines += [
            {
                "run": run + 1,
                "node": events.names[int(events.node[k])],
                "begin_s": int(events.begin[k]),
                "state": events.state[k],
                "reason": events.reason[k],
                "nature": NATURES[int(events.nature[k])],
            }
            for k in np.flatnonzero(near).tolist()
        ]
    if not lines:
        return ()
    dated = records.dated
    return (
        Table.by(
            "outages",
            [("Run", "run", str), ("Node", "node", lambda text: clean(text, 60)),
             ("Out from", "begin_s", lambda time: spoken(time, dated)),
             ("State", "state", lambda text: clean(text, 40)),
             ("Reason", "reason", lambda text: clean(text, 80))],
            lines, title="Outages of its nodes while it ran", right=(), most=MOST_OUTAGES,
        ),
    )  # fmt: skip
