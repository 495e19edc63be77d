"""The certifier's rules of what `jobs.csv` and `hosts.csv` say of the stays and of availability."""

from __future__ import annotations

import numpy as np

from forestall.app.cycle.certify.facts import Facts
from forestall.app.cycle.certify.files import PARTS, SHARES, CycleRun, Spans
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sheet import NONE, Bool, Int, spelled
from forestall.app.kit.certify.sums import Said, per, unlike
from forestall.model.cycle import Fate, StayEnd

TOLERANCE = 1e-12


def jobs_and_stays(run: Facts, finding: Finding) -> str:
    """`jobs.csv` has every job once, as its stays tell it."""
    jobs, given = run.jobs, run.given
    line = np.arange(len(jobs)) + 2
    mine = _by_stays(run)
    text = "job {2}: {column} is {0} in jobs.csv (line {3}), {1} according to its stays"
    columns = (
        Said(name, getattr(jobs, name), values, PARTS if name == "lost" else 1)
        for name, values in mine.items()
        if name != "fate"
    )
    unlike(finding, text, columns, jobs.name, line)
    text = "job {2} is {0} in jobs.csv (line {3}), {1} according to its stays"
    fate = Said("outcome", jobs.fate, mine["fate"], words=spelled(Fate))
    unlike(finding, text, [fate], jobs.name, line)
    back = np.zeros(len(jobs), dtype=np.bool_)
    back[1:] = jobs.submit[1:] < jobs.submit[:-1]
    finding.where(back, "job {0} follows a job submitted later (line {1})", jobs.name, line)
    started = jobs.start != NONE
    early = started & (jobs.start < jobs.submit)
    finding.where(early, "job {0} starts before its submission (line {1})", jobs.name, line)
    late = jobs.submit >= given.end
    finding.where(
        late, "job {0} is submitted after the host traces end (line {1})", jobs.name, line
    )
    if given.length:
        other = jobs.runtime != given.length
        text = "job {0} runs {1} s, but job_length sets another run time (line {2})"
        finding.where(other, text, jobs.name, jobs.runtime, line)
    return f"{len(jobs)} jobs, each consistent with its stays"


def _by_stays(run: Facts) -> dict[str, Int]:
    """Return the columns of `jobs.csv` that follow from the stays.

    A job without a stay was given up, or waited for a host to the end of the traces: which of them
    is told by the tries.
    """
    jobs, stays = run.jobs, run.stays
    count = len(jobs)
    start, finish = np.full(count, NONE), np.full(count, NONE)
    start[stays.job[stays.first]] = stays.start[stays.first]
    done = stays.ended == StayEnd.COMPLETED
    finish[stays.job[done]] = stays.end[done]
    fate = np.where(start == NONE, jobs.fate, Fate.UNFINISHED)
    fate = np.where((start == NONE) & (jobs.fate == Fate.COMPLETED), Fate.UNSCHEDULED, fate)
    fate[stays.job[done]] = Fate.COMPLETED
    left = stays.left
    return {
        "fate": fate,
        "start": start,
        "finish": finish,
        "makespan": np.where(finish == NONE, NONE, finish - jobs.submit),
        "failures": per(stays.job[left], count),
        "lost": per(stays.job, count, stays.lost),
        "checkpoints": per(stays.job, count, stays.checkpoints),
    }


def useful_work(run: CycleRun) -> Int:
    """Return int64[stays]: work that helped to complete a job, in millionths."""
    stays = run.stays
    whole = np.zeros(len(run.jobs), dtype=np.bool_)
    whole[stays.job[stays.ended == StayEnd.COMPLETED]] = True
    return np.where(whole[stays.job], stays.work - stays.lost, 0)


def occurrences(spans: Spans) -> Bool:
    """Return in which rows a host leaves S1 or S2 for another state."""
    new = np.zeros(len(spans), dtype=np.bool_)
    here = spans.available
    new[1:] = ~here[1:] & here[:-1] & (spans.host[1:] == spans.host[:-1])
    return new


def hosts(run: Facts, finding: Finding) -> str:
    """`hosts.csv` tells of each host what availability and stays tell."""
    hosts, stays, spans = run.hosts, run.stays, run.spans
    count, length = len(hosts), max(run.end - run.start, 1)
    new = occurrences(spans)
    mine = {
        "unavailable": per(spans.host[new], count),
        **{f"s{k + 1}": per(spans.host[new & (spans.state == k)], count) for k in (2, 3, 4)},
        "guests": per(stays.host, count),
        "guest_seconds": per(stays.host, count, stays.end - stays.start),
        "useful": per(stays.host, count, useful_work(run)),
        "lost": per(stays.host, count, stays.lost),
    }
    line = hosts.number + 2
    text = "host {2}: {column} is {0} in hosts.csv (line {3}), {1} recomputed"
    columns = (
        Said(name, getattr(hosts, name), values, PARTS if name in ("useful", "lost") else 1)
        for name, values in mine.items()
    )
    unlike(finding, text, columns, hosts.number, line)
    for k, name in enumerate(SHARES):
        rows = spans.state == k
        share = per(spans.host[rows], count, (spans.end - spans.start)[rows]) / length
        off = np.abs(share - hosts.share[:, k]) > TOLERANCE
        text = f"host {{0}}: {name} is {{1}} in hosts.csv (line {{3}}), {{2}} recomputed"
        finding.where(off, text, hosts.number, hosts.share[:, k], share, line)
    least, most = _samples(run)
    text = "host {0} has {1} samples in hosts.csv (line {4}), but {2} to {3} fit its states"
    odd = (hosts.samples < least) | (hosts.samples > most)
    finding.where(odd, text, hosts.number, hosts.samples, least, most, line)
    return f"{count} hosts, each consistent with availability and stays"


def _samples(run: Facts) -> tuple[Int, Int]:
    """Return the least and the most samples that hosts can have given: none in S5, and at least the
    first one of S1, S2 and S4 (S3 can begin in a short gap)."""
    spans, given = run.spans, run.given
    first = (spans.start - given.begin) // given.period
    last = -(-(spans.end - given.begin) // given.period)
    there = spans.state != 4
    count = len(run.hosts)
    new = np.zeros(len(spans), dtype=np.bool_)
    begun = (spans.state[1:] != 4) & (spans.state[1:] != 2)
    new[1:] = (spans.host[1:] == spans.host[:-1]) & begun
    most = per(spans.host[there], count, (last - first)[there])
    return per(spans.host[new], count), most
