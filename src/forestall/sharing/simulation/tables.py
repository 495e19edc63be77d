"""What happened to guests on shared hosts, as tables: jobs, stays, hosts, availability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.model.cycle import MILLION, S2, S5, Fate, StayEnd
from forestall.core.world.columns import in_units, known, whole, words
from forestall.prediction.models.semi_markov.states import NAMES

if TYPE_CHECKING:
    from forestall.sharing.simulation.outcome import CycleOutcome, HostRuns

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

FATES = tuple(one.name.lower() for one in Fate)
ENDED = tuple(one.name.lower() for one in StayEnd)


@dataclass(frozen=True)
class Availability:
    """What hosts were from the first submission to the end of the run, in order of (host, start);
    all arrays int64[m].

    Attributes
    ----------
    host, state : number of the host; 0 (S1) to 4 (S5)
    start, end : s of the jobs' clock
    work : that the host could have done for guests, millionths of a second
    """

    host: Int
    state: Int
    start: Int
    end: Int
    work: Int

    @property
    def available(self) -> Bool:
        """Whether a guest can run."""
        return self.state <= S2

    @property
    def entered(self) -> Bool:
        """Whether a row begins with a host that leaves S1 or S2: an occurrence of unavailability.

        Hosts that are unavailable from the first row on left before.
        """
        fails = ~self.available
        fresh = np.zeros(len(fails), dtype=np.bool_)
        fresh[1:] = fails[1:] & ~fails[:-1] & (self.host[1:] == self.host[:-1])
        return fresh

    @property
    def seconds(self) -> Int:
        """Length of each row, s."""
        return self.end - self.start


def span_of(outcome: CycleOutcome) -> tuple[int, int]:
    """Return the first submission and the last second in which something happened to a job, s."""
    submit = outcome.workload.jobs.submit
    start = int(submit[0]) if len(submit) else outcome.end
    start = max(start, outcome.states.begin)
    return start, max(min(outcome.end, outcome.states.end), start)


def done_by(states: HostRuns, host: Int, time: Int) -> Int:
    """Return int64[n]: the work that hosts could have done from their first sample up to times
    within the traces, millionths of a second. Within a sample it grows evenly."""
    since = time - states.begin
    sample = np.minimum(since // states.period, states.done.shape[1] - 2)
    before = states.done[host, sample]
    rate = (states.done[host, sample + 1] - before) // states.period
    done: Int = before + rate * (since - sample * states.period)
    return done


def states_at(states: HostRuns, time: int) -> Int:
    """Return int64[hosts]: the state of each host at a time within the traces."""
    come = states.runs["start"] <= time
    runs = np.add.reduceat(come.astype(np.int64), states.first[:-1])
    return states.runs["state"][states.first[:-1] + runs - 1].astype(np.int64)


def availability(outcome: CycleOutcome) -> Availability:
    """Return what hosts were from the first submission to the end of the run."""
    states, (begin, end) = outcome.states, span_of(outcome)
    runs = states.runs
    start = runs["start"].astype(np.int64)
    until = np.append(start[1:], states.end)
    until[states.first[1:][np.diff(states.first) > 0] - 1] = states.end
    kept = (start < end) & (until > begin) & (begin < end)
    host, state = (runs[name][kept].astype(np.int64) for name in ("host", "state"))
    start, until = np.maximum(start[kept], begin), np.minimum(until[kept], end)
    work = done_by(states, host, until) - done_by(states, host, start)
    return Availability(host, state, start, until, work)


def millionths(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return values counted in millionths in their unit."""
    return in_units(values, MILLION)


def sums(owner: Int, values: Int, count: int) -> Int:
    """Return int64[count]: the exact sum of the values of each owner."""
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, owner, values)
    return total


def jobs_table(outcome: CycleOutcome) -> pl.DataFrame:
    """Return one row per job, in submit order; times in s, `lost` in s of a host of speed 1.

    `makespan` is from submission to finish. `start` is null where a job was never started; `finish`
    and `makespan` where it was not completed.
    """
    jobs, fate = outcome.workload.jobs, outcome.jobs
    completed, started = fate["outcome"] == Fate.COMPLETED, fate["start"] >= 0
    started = started & (fate["outcome"] != Fate.UNSCHEDULED)
    return pl.DataFrame(
        {
            "job": jobs.job,
            "submit": jobs.submit,
            "runtime": jobs.runtime,
            "start": known(fate["start"], started),
            "finish": known(fate["finish"], completed),
            "makespan": known(fate["finish"] - jobs.submit, completed),
            "outcome": words(FATES, fate["outcome"]),
            **whole(fate, "tries", "failures"),
            "lost": millionths(fate["lost"]),
            **whole(fate, "checkpoints"),
        }
    )


def stays_table(outcome: CycleOutcome) -> pl.DataFrame:
    """Return every stay of a guest on a host, in order of their ends.

    `start` and `end` in s; `work` done in it, work of the job `saved` when it ended (of all its
    stays so far), and `lost` at its end, in s of a host of speed 1; `ended` tells how. `chance` is
    the probability to end there that was foreseen as it began, `promise` that corrected by how
    earlier ones came true; null where the scheduler says none. With a vault, `resumed` is the work
    of the job that the stay began with, s of a host of speed 1, and `lost` also what had been saved
    by then and could not be recovered. Where guests move, `asked` is when it was decided that this
    one moves, s; null where it was not.
    """
    stays = outcome.stays
    asked = {"asked": known(stays["asked"], stays["asked"] >= 0)}
    resumed = {} if outcome.stored is None else {"resumed": millionths(stays["resumed"])}
    return pl.DataFrame(
        {
            "job": outcome.workload.jobs.job[stays["job"]],
            **whole(stays, "host", "start", "end"),
            "ended": words(ENDED, stays["ended"]),
            **{name: millionths(stays[name]) for name in ("work", "saved", "lost")},
            **whole(stays, "checkpoints"),
            **resumed,
            **(asked if outcome.parameters.moves else {}),
            **{n: known(millionths(stays[n]), stays[n] >= 0) for n in ("chance", "promise")},
        }
    )


def useful_work(outcome: CycleOutcome) -> Int:
    """Return int64[stays]: work of each stay that helped to complete its job, millionths of a
    second. What a host's leaving took is always of the stay that it ends."""
    stays = outcome.stays
    completed = outcome.jobs["outcome"][stays["job"]] == Fate.COMPLETED
    return np.where(completed, stays["work"] - stays["lost"], 0)


def samples_given(outcome: CycleOutcome) -> Int:
    """Return int64[hosts]: samples that each host gave for the span of the run."""
    states, (begin, end) = outcome.states, span_of(outcome)
    first, last = (begin - states.begin) // states.period, -(-(end - states.begin) // states.period)
    last = last if begin < end else first  # no time has no samples, also within one of them
    given: Int = np.count_nonzero(~np.isnan(outcome.hosts.load[:, first:last]), axis=1)
    return given


def hosts_table(outcome: CycleOutcome, span: Availability) -> pl.DataFrame:
    """Return one row per host, of the time from the first submission to the end of the run.

    `speed` is the clock rate ratio; `samples`, those that it gave; `share_s1` to `share_s5` shares
    of the time; `unavailable` how often S1 or S2 was left, `s3`, `s4` and `s5` for which state;
    `guests` stays of guests, `guest_seconds` their lengths in all, s; `useful` work of theirs that
    helped to complete a job, and work `lost`, in s of a host of speed 1.
    """
    hosts, stays = outcome.hosts, outcome.stays
    count, states = len(hosts), S5 + 1
    begin, end = span_of(outcome)
    seconds = sums(span.host * states + span.state, span.seconds, count * states)
    share = seconds.reshape(count, states) / max(end - begin, 1)
    new = span.entered
    found = np.bincount(span.host[new] * states + span.state[new], minlength=count * states)
    entered = found.reshape(count, states).astype(np.int64)
    host = stays["host"].astype(np.int64)
    shares = {f"share_{name.lower()}": share[:, k].copy() for k, name in enumerate(NAMES)}
    failing = [(k, NAMES[k].lower()) for k in range(S2 + 1, states)]
    return pl.DataFrame(
        {
            "host": np.arange(count),
            "name": pl.Series(list(hosts.names), dtype=pl.String),
            "speed": hosts.speed,
            "samples": samples_given(outcome),
            **shares,
            "unavailable": entered.sum(axis=1),
            **{name: entered[:, k].copy() for k, name in failing},
            "guests": np.bincount(host, minlength=count).astype(np.int64),
            "guest_seconds": sums(host, stays["end"] - stays["start"], count),
            "useful": millionths(sums(host, useful_work(outcome), count)),
            "lost": millionths(sums(host, stays["lost"], count)),
        }
    )


def availability_table(span: Availability) -> pl.DataFrame:
    """Return what hosts were, in order of (host, start): from `start` to `end`, s, in which state;
    `work` that the host could do for a guest meanwhile, s of a host of speed 1."""
    return pl.DataFrame(
        {
            "host": span.host,
            "start": span.start,
            "end": span.end,
            "state": words(NAMES, span.state),
            "work": millionths(span.work),
        }
    )
