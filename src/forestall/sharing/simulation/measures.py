"""What a run of cycle sharing was worth: makespans, failures, work harvested, hosts' states."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.cycle import MILLION, Fate, StayEnd
from forestall.core.world.sums import exact_sum
from forestall.prediction.models.semi_markov.learning import MONDAY
from forestall.prediction.models.semi_markov.states import NAMES
from forestall.sharing.rules.entries import SCHEDULERS
from forestall.sharing.simulation.tables import (
    ENDED,
    Availability,
    availability,
    span_of,
    sums,
    useful_work,
)

with lazily():
    from scipy import special

if TYPE_CHECKING:
    from forestall.sharing.simulation.outcome import CycleOutcome

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

DAY = 86_400
FEWEST_DAYS = 20
"""So many days with jobs, and intervals are over days; with fewer, over jobs."""
FEW_LENGTHS = 12
"""Up to so many run times are told one by one; more, in classes."""
HOUR = 3600


def mean(values: npt.NDArray[Any]) -> float | None:
    """Return the mean of whole numbers, None without any."""
    return exact_sum(values) / len(values) if len(values) else None


def share(part: int | float, whole: int | float) -> float | None:
    """Return part / whole, None where the whole is 0."""
    return part / whole if whole else None


# ------------------------------------------------------------------------------------ intervals


def interval(values: Int, unit: Int) -> list[float] | None:
    """Return the 95 % interval [low, high] of a mean over jobs of what cannot be negative.

    Units are what is drawn: days or jobs, see `units_of`. The mean is a ratio of sums over units
    (Kish, Survey Sampling, 1965), and the ends are Student's t times its standard error, the lower
    one at least 0. None where there are fewer than two units, or where all values are alike, so
    that nothing tells the spread.

    Parameters
    ----------
    values, unit : int64[n], the value of each job and its unit
    """
    if len(values) < 2 or int(values.min()) == int(values.max()):
        return None
    place = np.unique(unit, return_inverse=True)[1]
    units = int(place.max()) + 1
    if units < 2:
        return None
    n = np.bincount(place, minlength=units)
    middle = exact_sum(values) / len(values)
    off = sums(place, values, units) - middle * n
    variance = math.fsum((off * off).tolist()) * units / (units - 1) / len(values) ** 2
    half = float(special.stdtrit(units - 1, 0.975)) * math.sqrt(variance)
    return [max(middle - half, 0.0), middle + half]


def units_of(submit: Int) -> tuple[str, Int]:
    """Return what intervals draw, "days" or "jobs", and int64[n], the unit of each job.

    Jobs of one day share hosts, and so their fate: days (of the jobs' clock) are drawn where jobs
    come on 20 of them or more, else jobs.
    """
    day = submit // DAY
    if len(np.unique(day)) >= FEWEST_DAYS:
        return "days", day
    return "jobs", np.arange(len(submit))


# ------------------------------------------------------------------------------------- by length


def length_classes(runtime: Int) -> Int:
    """Return int64[n]: the class of each run time.

    Up to 12 different run times are classes of their own; more fall in classes that double: up to
    60 s, and then with upper ends of an hour times or by a power of two.
    """
    if len(np.unique(runtime)) <= FEW_LENGTHS:
        return runtime
    hours = np.maximum(runtime, 60) / HOUR
    return np.ceil(np.log2(hours) - 1e-12).astype(np.int64)


def by_length(outcome: CycleOutcome) -> list[dict[str, Any]]:
    """Return the measures of jobs of each run time, or class of run times, the short ones first.

    `length` is their mean run time, `shortest` and `longest` its range, s; what follows as for all
    jobs.
    """
    runtime = outcome.workload.jobs.runtime
    classes = length_classes(runtime)
    found = []
    for number in np.unique(classes).tolist():
        mine = classes == number
        told = job_measures(outcome, mine)
        found.append(
            {
                "length": mean(runtime[mine]),
                "shortest": int(runtime[mine].min()),
                "longest": int(runtime[mine].max()),
                "jobs": int(mine.sum()),
                **{name: told[name] for name in LENGTH_MEASURES},
            }
        )
    return found


LENGTH_MEASURES = (
    *("makespan", "makespan_interval", "stretch", "failures_per_job", "failures_per_job_interval"),
    *("unscheduled_share", "unfinished_share"),
)


# ------------------------------------------------------------------------------------- measures


def job_measures(outcome: CycleOutcome, chosen: Bool | None = None) -> dict[str, Any]:
    """Return what became of jobs (of those `chosen`), their times and failures; see `measures`."""
    jobs, fate = outcome.workload.jobs, outcome.jobs
    submit, runtime, unit = jobs.submit, jobs.runtime, units_of(jobs.submit)[1]
    if chosen is not None:
        submit, runtime, unit, fate = submit[chosen], runtime[chosen], unit[chosen], fate[chosen]
    count = len(fate)
    done = fate["outcome"] == Fate.COMPLETED
    ran = (fate["outcome"] != Fate.UNSCHEDULED) & (fate["start"] >= 0)
    taken = (fate["finish"] - submit)[done]
    stretch = (taken / runtime[done]).tolist()
    failures = fate["failures"]
    by = np.bincount(fate["outcome"], minlength=len(Fate)).tolist()
    return {
        "jobs_simulated": count,
        "jobs_started": int(ran.sum()),
        "jobs_completed": by[Fate.COMPLETED],
        "jobs_unscheduled": by[Fate.UNSCHEDULED],
        "jobs_unfinished": by[Fate.UNFINISHED],
        "makespan": mean(taken),
        "makespan_interval": interval(taken, unit[done]),
        "makespan_median": float(np.median(taken)) if len(taken) else None,
        "makespan_p95": float(np.percentile(taken, 95)) if len(taken) else None,
        "stretch": math.fsum(stretch) / len(stretch) if stretch else None,
        "wait": mean((fate["start"] - submit)[ran]),
        "failures_per_job": mean(failures),
        "failures_per_job_interval": interval(failures, unit),
        "jobs_failed_share": share(int((failures > 0).sum()), count),
        "unscheduled_share": share(by[Fate.UNSCHEDULED], count),
        "unfinished_share": share(by[Fate.UNFINISHED], count),
        "failures": exact_sum(failures),
        "tries": exact_sum(fate["tries"]),
        "checkpoints": exact_sum(fate["checkpoints"]),
    }


PROMISES = (
    *("stays_promised", "promised_mean", "foreseen_mean", "kept_share", "brier"),
    *("foreseen_brier", "calibration"),
)
BINS = 10


def promises(outcome: CycleOutcome) -> dict[str, Any]:
    """Return how far stays ended as it was said: None for a scheduler that says nothing.

    Stays that the end of the traces cut off do not count; a promise is kept where the job was
    completed in the stay. Promises are those corrected by the record; what the scheduler had
    foreseen without it is `foreseen_mean` and `foreseen_brier`. `calibration` has a row for each
    tenth of probability, [low, high), the last one with 1: how many `stays`, the mean that was
    `said`, and the share `kept`.
    """
    if not SCHEDULERS.chosen(outcome.parameters.scheduler).foretells:
        return dict.fromkeys(PROMISES)
    stays = outcome.stays[outcome.stays["ended"] != StayEnd.UNFINISHED]
    said, kept = stays["promise"], stays["ended"] == StayEnd.COMPLETED
    found = np.minimum(said * BINS // MILLION, BINS - 1)
    rows = []
    for k in range(BINS):
        mine = found == k
        said_mean = _mean_of(said[mine], MILLION)
        count = {"low": k / BINS, "high": (k + 1) / BINS, "stays": int(mine.sum())}
        rows.append({**count, "said": said_mean, "kept": mean(kept[mine])})
    return {
        "stays_promised": len(stays),
        "promised_mean": _mean_of(said, MILLION),
        "foreseen_mean": _mean_of(stays["chance"], MILLION),
        "kept_share": mean(kept),
        "brier": _mean_of((said - MILLION * kept) ** 2, MILLION**2),
        "foreseen_brier": _mean_of((stays["chance"] - MILLION * kept) ** 2, MILLION**2),
        "calibration": rows,
    }


def _mean_of(values: Int, parts: int) -> float | None:
    """Return the mean of values that are counted in parts of one; None without any."""
    return exact_sum(values) / (len(values) * parts) if len(values) else None


def _stay_measures(outcome: CycleOutcome, span: Availability) -> dict[str, Any]:
    stays = outcome.stays
    done, lost = exact_sum(stays["work"]), exact_sum(stays["lost"])
    useful = exact_sum(useful_work(outcome))
    offered = exact_sum(span.work)
    held = exact_sum(stays["end"] - stays["start"])
    free = exact_sum(span.seconds[span.available])
    kinds = len(StayEnd) if outcome.parameters.moves else int(StayEnd.MOVED)
    by = np.bincount(stays["ended"], minlength=kinds).tolist()
    return {
        "stays_count": len(stays),
        "stays_ended": dict(zip(ENDED[:kinds], by, strict=True)),
        "useful_work": useful / MILLION,
        "lost_work": lost / MILLION,
        "unfinished_work": (done - lost - useful) / MILLION,
        "offered_work": offered / MILLION,
        "harvested": share(useful, offered),
        "guest_seconds": held,
        "occupied": share(held, free),
    }


def _host_measures(outcome: CycleOutcome, span: Availability) -> dict[str, Any]:
    count, (begin, end) = len(outcome.hosts), span_of(outcome)
    seconds = sums(span.state, span.seconds, len(NAMES)).tolist()
    entered = np.bincount(span.state[span.entered], minlength=len(NAMES)).tolist()
    uec, urr = entered[2] + entered[3], entered[4]
    whole = count * (end - begin)
    return {
        "hosts_count": count,
        "state_shares": {
            name.lower(): share(part, whole) for name, part in zip(NAMES, seconds, strict=True)
        },
        "unavailable_per_host": share(uec + urr, count),
        "uec_per_host": share(uec, count),
        "urr_per_host": share(urr, count),
        "unavailable": {NAMES[k].lower(): entered[k] for k in range(2, len(NAMES))},
    }


def measures(outcome: CycleOutcome, span: Availability | None = None) -> dict[str, Any]:
    """Return all measures of a run; times in s, work in s of a host of speed 1, shares from 0 to 1.
    None where there is nothing to average.

    `span` is the run's `availability`, where it is at hand. Hosts are told from the first
    submission to the end of the run, the last second in which something happened to a job.

    jobs_simulated, jobs_started, jobs_completed, jobs_unscheduled, jobs_unfinished : counts
    makespan, makespan_median, makespan_p95 : of completed jobs, from submission to finish
    stretch : mean of makespan / run time of completed jobs
    wait : mean from submission to the first start, of jobs started
    failures_per_job : times that a job lost its host, mean over all jobs simulated
    jobs_failed_share, unscheduled_share, unfinished_share : of all jobs simulated; those that lost
        a host at least once, those given up, those that the traces' end left
    makespan_interval, failures_per_job_interval : 95 %, see `interval`; interval_over: of what
    failures, tries, checkpoints : sums over jobs
    stays_count, stays_ended : stays of guests on hosts, and by how they ended
    useful_work, lost_work, unfinished_work : what guests did for jobs that were completed; what the
        leaving of hosts took; the rest, of jobs that were not completed
    offered_work, harvested : work that the hosts could have done; useful work as a share of it
    guest_seconds, occupied : time of guests on hosts; as a share of the time in S1 and S2
    stays_promised, promised_mean, foreseen_mean, kept_share, brier, foreseen_brier, calibration :
        see `promises`; a Brier score is the mean squared difference of what was said and 1 (kept)
        or 0
    hosts_count, state_shares : hosts, and the share of their time in each state
    unavailable, unavailable_per_host, uec_per_host, urr_per_host : how often S1 or S2 was left, by
        the state entered; a host; for S3 and S4; for S5
    by_length : see there
    span, origin : s from the first submission to the end; Unix time of the jobs' time 0 on the
        hosts' clock (that of traces without dates begins on a Monday at midnight)
    events, forecasts : events played; times that the hosts' forecasts were asked for
    """
    span = availability(outcome) if span is None else span
    begin, end = span_of(outcome)
    origin = MONDAY if outcome.hosts.origin is None else outcome.hosts.origin
    return {
        **job_measures(outcome),
        "interval_over": units_of(outcome.workload.jobs.submit)[0],
        **_stay_measures(outcome, span),
        **promises(outcome),
        **_host_measures(outcome, span),
        "by_length": by_length(outcome),
        "span": end - begin,
        "origin": origin - outcome.states.begin,
        "events": outcome.events,
        "forecasts": outcome.forecasts,
    }
