"""What looks as if the user of a run on shared hosts meant something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.model.cycle import Fate
from forestall.core.model.units import format_duration
from forestall.prediction.models.semi_markov.learning import MONDAY, weekend
from forestall.sharing.rules.entries import SCHEDULERS

if TYPE_CHECKING:
    from forestall.core.model.jobs import Jobs
    from forestall.sharing.simulation.outcome import CycleOutcome

DAY: Final = 86_400


MOST_WARM_UP: Final = 1 / 3
"""Share of the host traces above which a warm-up is worth a hint."""


MOST_NOT_COMPLETED: Final = 0.05
"""Share of jobs without a makespan from which on a hint says so."""


NAMED: Final = 3
"""Hosts that a hint names."""


def on_hosts(jobs: Jobs, outcome: CycleOutcome) -> list[str]:
    """Return what is odd about a run of guests on shared hosts; `jobs` are those of the log."""
    found = [
        _on_moves(outcome),
        _on_late(jobs, outcome),
        _on_not_completed(outcome),
        _on_warm_up(outcome),
        _on_first_moment(outcome),
        _on_unlearnt(outcome),
        _on_idle_hosts(outcome),
        _on_short_outages(outcome),
    ]
    return [hint for hint in found if hint]


def _on_moves(outcome: CycleOutcome) -> str:
    """Return that guests were to move, by a scheduler that foresees nothing."""
    given = outcome.parameters
    if given.move_below is None or given.restart != "checkpoint" or given.moves:
        return ""
    return "{move_below} has no effect without {scheduler} falcon or falcon-slides"


def _on_late(jobs: Jobs, outcome: CycleOutcome) -> str:
    """Return that jobs come after the traces' end."""
    end = outcome.states.end
    late = int(np.count_nonzero(jobs.submit >= end))
    if not late:
        return ""
    which = "1 job is" if late == 1 else f"{late:,} jobs are"
    said = f"{which} submitted after {format_duration(end)}, when the host traces end"
    warm_up = outcome.parameters.warm_up
    if not warm_up:
        return said
    learned = format_duration(warm_up)
    return f"{said}; the first {learned} of the traces are used for learning ({{warm_up}})"


def _on_not_completed(outcome: CycleOutcome) -> str:
    """Return that so many jobs were not completed that the makespans of the others mislead."""
    fates = outcome.jobs["outcome"]
    share = float(np.mean(fates != Fate.COMPLETED)) if len(fates) else 0.0
    if share < MOST_NOT_COMPLETED:
        return ""
    return (
        f"{100 * share:.0f} % of jobs were not completed; makespans cover only the others, so "
        "compare them only with runs that complete the same jobs"
    )


def _on_warm_up(outcome: CycleOutcome) -> str:
    """Return that much of the traces is only learnt from."""
    warm_up, whole = outcome.parameters.warm_up, outcome.hosts.end
    if warm_up <= MOST_WARM_UP * whole:
        return ""
    return (
        f"{100 * warm_up / whole:.0f} % of the host traces come before the jobs and are only "
        "learned from; a shorter {warm_up} leaves more for jobs"
    )


def _on_first_moment(outcome: CycleOutcome) -> str:
    """Return that the jobs' time 0 is no midnight of the hosts' clock, so that hours of the day
    that a job log means are others."""
    origin = outcome.hosts.origin
    if origin is None and outcome.parameters.warm_up % DAY == 0:
        return ""
    first = (origin or 0) + outcome.parameters.warm_up
    if first % DAY == 0:
        return ""
    clock = f"{first % DAY // 3600}:{first % 3600 // 60:02d}"
    said = f" of {np.datetime64(first, 's').astype('datetime64[D]')}" if origin is not None else ""
    return (
        f"time 0 of the jobs is {clock}{said} on the hosts' clock; {{from}} sets when the host "
        "traces begin, {warm_up} how much later the jobs begin"
    )


def _on_unlearnt(outcome: CycleOutcome) -> str:
    """Return that Falcon had no day to learn from of a kind on which jobs came."""
    if not SCHEDULERS.chosen(outcome.parameters.scheduler).foretells:
        return ""
    origin = MONDAY if outcome.hosts.origin is None else outcome.hosts.origin
    submit = outcome.workload.jobs.submit + origin + outcome.parameters.warm_up
    days = np.unique(submit // DAY)
    for kind, words in ((False, "weekdays"), (True, "weekends")):
        mine = days[weekend(days * DAY) == kind]
        if len(mine) == 0:
            continue
        before = np.arange(-(-origin // DAY), int(mine[0]), dtype=np.int64)
        if not bool(np.any(weekend(before * DAY) == kind)):
            return (
                f"the host traces have no whole day of {words} before the first job on one, so "
                f"Falcon learned nothing about {words} (use a longer {{warm_up}})"
            )
    return ""


def _on_idle_hosts(outcome: CycleOutcome) -> str:
    """Return that hosts were never available while jobs were there."""
    runs, first = outcome.states.runs, int(outcome.workload.jobs.submit[0])
    stop = np.append(runs["start"][1:], outcome.states.end)
    stop[outcome.states.first[1:] - 1] = outcome.states.end
    useful = (runs["state"] <= 1) & (stop > first) & (runs["start"] <= outcome.end)
    never = sorted(set(range(len(outcome.hosts))) - set(runs["host"][useful].tolist()))
    if not never:
        return ""
    some = ", ".join(outcome.hosts.names[k] for k in never[:NAMED])
    more = f" and {len(never) - NAMED:,} more" if len(never) > NAMED else ""
    return f"hosts never available during the run: {some}{more}"


def _on_short_outages(outcome: CycleOutcome) -> str:
    """Return that outages of an up-and-down log are no longer than the hold time."""
    hosts, hold = outcome.hosts, outcome.parameters.hold
    if bool(np.nanmax(hosts.load, initial=0.0) > 0):
        return ""
    gone = np.isnan(hosts.load)
    edge = np.zeros((len(hosts), 1), dtype=np.bool_)
    change = np.diff(np.concatenate((edge, gone, edge), axis=1).astype(np.int8), axis=1)
    lasts = np.nonzero(change == -1)[1] - np.nonzero(change == 1)[1]
    short = int(np.count_nonzero(lasts * hosts.period <= hold))
    if not short:
        return ""
    return (
        f"{short:,} of {len(lasts):,} outages are no longer than the hold time, {hold} s, and end "
        "no guest; {hold} 0 makes all of them count"
    )
