"""The certifier's look at what `jobs.csv` and `hosts.csv` say of the stays and of availability."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.app.cycle.certify.files import (
    COMPLETED,
    DONE,
    JOB_FATES,
    SHARES,
    UNFINISHED,
    UNSCHEDULED,
    CycleFolder,
    Spans,
)
from forestall.app.cycle.certify.sheet import PARTS
from forestall.app.kit.finding import Check, Finding
from forestall.app.kit.sheet import NONE, Bool, Int

TOLERANCE = 1e-12


def per(owner: Int, count: int, values: Int | None = None) -> Int:
    """Return the sum of values (or how many there are) of each owner."""
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, owner, 1 if values is None else values)
    return total


class _Told:
    """Values as they stand in a file: empty fields as such, work in seconds."""

    def __init__(self, values: npt.NDArray[Any], parts: int) -> None:
        self.values, self.parts = values, parts

    def __getitem__(self, row: int) -> str:
        value = self.values[row]
        if value == NONE:
            return "nothing"
        return f"{value}" if self.parts == 1 else f"{value / self.parts}"


def check_jobs(folder: CycleFolder) -> Check:
    """`jobs.csv` has every job once, as its stays tell it."""
    jobs, given = folder.jobs, folder.given
    finding = Finding("jobs and their stays")
    line = np.arange(len(jobs)) + 2
    for column, mine in _by_stays(folder).items():
        said, parts = getattr(jobs, column), PARTS if column == "lost" else 1
        text = f"job {{0}}: {column} is {{1}} in jobs.csv (line {{3}}), {{2}} by its stays"
        told: tuple[Any, Any] = (_Told(said, parts), _Told(mine, parts))
        if column == "fate":
            text = "job {0} is {1} in jobs.csv (line {3}), {2} by its stays"
            words = np.array(JOB_FATES)
            told = (words[said], words[mine])
        finding.where(said != mine, text, jobs.name, *told, line)
    back = np.zeros(len(jobs), dtype=np.bool_)
    back[1:] = jobs.submit[1:] < jobs.submit[:-1]
    finding.where(back, "job {0} stands after one submitted later (line {1})", jobs.name, line)
    started = jobs.start != NONE
    early = started & (jobs.start < jobs.submit)
    finding.where(early, "job {0} starts before its submission (line {1})", jobs.name, line)
    late = jobs.submit >= given.end
    finding.where(late, "job {0} comes after the host traces end (line {1})", jobs.name, line)
    if given.length:
        unlike = jobs.runtime != given.length
        text = "job {0} runs {1} s, and all are to run as long (line {2})"
        finding.where(unlike, text, jobs.name, jobs.runtime, line)
    return finding.check(f"{len(jobs)} jobs, each as its stays tell")


def _by_stays(folder: CycleFolder) -> dict[str, Int]:
    """Return the columns of `jobs.csv` that follow from the stays.

    A job without a stay was given up, or waited for a host to the end of the traces: which of them
    is told by the tries.
    """
    jobs, stays = folder.jobs, folder.stays
    count = len(jobs)
    start, finish = np.full(count, NONE), np.full(count, NONE)
    start[stays.job[stays.first]] = stays.start[stays.first]
    done = stays.ended == DONE
    finish[stays.job[done]] = stays.end[done]
    fate = np.where(start == NONE, jobs.fate, UNFINISHED)
    fate = np.where((start == NONE) & (jobs.fate == COMPLETED), UNSCHEDULED, fate)
    fate[stays.job[done]] = COMPLETED
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


def useful_work(folder: CycleFolder) -> Int:
    """Return int64[stays]: work that helped to complete a job, in millionths."""
    stays = folder.stays
    whole = np.zeros(len(folder.jobs), dtype=np.bool_)
    whole[stays.job[stays.ended == DONE]] = True
    useful: Int = np.where(whole[stays.job], stays.work - stays.lost, 0)
    return useful


def occurrences(spans: Spans) -> Bool:
    """Return in which rows a host leaves S1 or S2 for another state."""
    new = np.zeros(len(spans), dtype=np.bool_)
    here = spans.available
    new[1:] = ~here[1:] & here[:-1] & (spans.host[1:] == spans.host[:-1])
    return new


def check_hosts(folder: CycleFolder) -> Check:
    """`hosts.csv` tells of each host what availability and stays tell."""
    hosts, stays, spans = folder.hosts, folder.stays, folder.spans
    finding = Finding("hosts")
    count, length = len(hosts), max(folder.end - folder.start, 1)
    new = occurrences(spans)
    mine = {
        "unavailable": per(spans.host[new], count),
        **{f"s{k + 1}": per(spans.host[new & (spans.state == k)], count) for k in (2, 3, 4)},
        "guests": per(stays.host, count),
        "guest_seconds": per(stays.host, count, stays.end - stays.start),
        "useful": per(stays.host, count, useful_work(folder)),
        "lost": per(stays.host, count, stays.lost),
    }
    line = hosts.number + 2
    for column, values in mine.items():
        said, parts = getattr(hosts, column), PARTS if column in ("useful", "lost") else 1
        text = f"host {{0}}: {column} is {{1}} in hosts.csv (line {{3}}), {{2}} here"
        labels = (hosts.number, _Told(said, parts), _Told(values, parts), line)
        finding.where(said != values, text, *labels)
    for k, name in enumerate(SHARES):
        rows = spans.state == k
        share = per(spans.host[rows], count, (spans.end - spans.start)[rows]) / length
        off = np.abs(share - hosts.share[:, k]) > TOLERANCE
        text = f"host {{0}}: {name} is {{1}} in hosts.csv (line {{3}}), {{2}} here"
        finding.where(off, text, hosts.number, hosts.share[:, k], share, line)
    least, most = _samples(folder)
    text = "host {0} gave {1} samples by hosts.csv (line {4}), and {2} to {3} fit its states"
    odd = (hosts.samples < least) | (hosts.samples > most)
    finding.where(odd, text, hosts.number, hosts.samples, least, most, line)
    return finding.check(f"{count} hosts, each as availability and stays tell")


def _samples(folder: CycleFolder) -> tuple[Int, Int]:
    """Return the least and the most samples that hosts can have given: none in S5, and at least the
    first one of S1, S2 and S4 (S3 can begin in a short gap)."""
    spans, given = folder.spans, folder.given
    first = (spans.start - given.begin) // given.period
    last = -(-(spans.end - given.begin) // given.period)
    there = spans.state != 4
    count = len(folder.hosts)
    new = np.zeros(len(spans), dtype=np.bool_)
    begun = (spans.state[1:] != 4) & (spans.state[1:] != 2)
    new[1:] = (spans.host[1:] == spans.host[:-1]) & begun
    most = per(spans.host[there], count, (last - first)[there])
    return per(spans.host[new], count), most
