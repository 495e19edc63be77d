"""Rules of `availability.csv` and `hosts.csv`: what hosts were, and who was on them."""

from __future__ import annotations

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import Axis, firsts, lasts, overlapping
from forestall.core.certify.sheet import Int
from forestall.core.certify.sums import per
from forestall.sharing.certify.facts import Facts
from forestall.sharing.certify.files import SHARES, STATES

EXACT = 1e-12


def covered(run: Facts, finding: Finding) -> str:
    """Each host is in one state at any time of the run, and does no more than its speed allows."""
    spans, given, count = run.spans, run.given, len(run.hosts)
    fresh = firsts(spans.host)
    before = spans.take(np.maximum(np.arange(len(spans)) - 1, 0))
    for bad, text in (
        (spans.end <= spans.start, ""),
        (fresh & (spans.start != run.start), ", but not from the run's start"),
        (lasts(fresh) & (spans.end != run.end), ", but not to the run's end"),
        (
            ~fresh & (spans.start != before.end),
            ", but not from the end of its previous state",
        ),
        (~fresh & (spans.state == before.state), ", the same state as before"),
        (
            ~fresh & ((spans.start - given.begin) % given.period != 0),
            ", but no sample begins then",
        ),
        (spans.line != np.arange(len(spans)) + 2, ", out of order of hosts and starts"),
    ):
        spans.where(finding, bad, "host {host} is {state} from {start} to {end}" + text)
    odd = spans.work > (spans.end - spans.start) * run.axis.cap
    text = "host {host} can do {work} of work from {start} to {end}, too much for its speed"
    spans.where(finding, odd, text)
    missing = (np.bincount(spans.host, minlength=count) == 0) & (run.end > run.start)
    run.hosts.where(finding, missing, "host {number} is not in availability.csv")
    if given.begin != -given.warm_up or (given.end - given.begin) % given.period:
        text = "host traces from {0} to {1}, sampled every {2} s, do not fit a warm-up of {3} s"
        finding.wrong(text, given.begin, given.end, given.period, given.warm_up)
    if not given.begin <= run.end <= given.end:
        finding.wrong("the run ends at {0}, outside the host traces", run.end)
    return f"{len(spans)} periods of {count} hosts cover the run"


def alone(run: Facts, finding: Finding) -> str:
    """No host has two guests at once, and no job is on two hosts at once."""
    stays = run.stays
    by_host = stays.take(np.lexsort((stays.end, stays.start, stays.host)))
    axis = Axis.over(stays.start, stays.end)
    keys = axis.key(by_host.host, by_host.start), axis.key(by_host.host, by_host.end)
    text = "job {job} starts on host {host} at {start}, which has a guest"
    by_host.where(finding, overlapping(*keys), text)
    twice = ~stays.first
    twice[1:] &= stays.start[1:] < stays.end[:-1]
    text = "job {job} starts on host {host} at {start}, but is still on another"
    stays.where(finding, twice, text)
    text = "job {job} has another stay after one that was {ended}"
    stays.where(finding, ~stays.last & ~stays.again, text)
    by_line = stays.take(np.argsort(stays.line))
    by_line.in_order(finding, by_line.end)
    return f"{len(stays)} stays on {len(run.hosts)} hosts"


def available(run: Facts, finding: Finding) -> str:
    """No guest is on a host in S3, S4 or S5; one that loses its host does so as that state
    begins."""
    stays, spans = run.stays, run.spans
    outside = (stays.start < run.start) | (stays.end > run.end) | (stays.end <= stays.start)
    text = "job {job} is on host {host} from {start} to {end}, "
    stays.where(finding, outside, text + "outside the run")
    if not len(spans):
        return "no time passes"
    bad = np.concatenate(([0], np.cumsum(~spans.available)))
    first, last = run.axis.row(stays.host, stays.start), run.axis.row(stays.host, stays.end - 1)
    overlap = bad[np.maximum(last, first) + 1] > bad[first]
    stays.where(finding, overlap, text + "but the host is not available all that time")
    here = spans.take(run.axis.row(stays.host, stays.end))
    begins = (here.start == stays.end) & (here.host == stays.host)
    wrong = stays.left & (np.where(begins, here.state, 0) != stays.ended + 1)
    into = np.array(STATES)[np.clip(stays.ended + 1, 0, 4)]
    text = "job {job} loses host {host} at {end}, but the host does not go into {into} then"
    stays.where(finding, wrong, text, into=into)
    early = (stays.ended == 4) & (stays.end != run.given.end)
    text = "job {job} is left unfinished at {end}, before the host traces end"
    stays.where(finding, early, text)
    return f"{len(stays)} stays, all in S1 and S2"


def offers(run: Facts, finding: Finding) -> str:
    """All guests of a host in one time of availability do no more than it could do."""
    stays, spans = run.stays, run.spans
    if not len(spans):
        return "no time passes"
    new = firsts(spans.host)
    new[1:] |= spans.available[1:] != spans.available[:-1]
    part, first = np.cumsum(new) - 1, np.flatnonzero(new)
    offered = per(part, len(first), spans.work)
    used = per(part[run.axis.row(stays.host, stays.start)], len(first), stays.work)
    text = "guests of host {host} do {used} in all from {start} on, but it could do {offered}"
    labels = {"used": ("work", used), "offered": ("work", offered)}
    spans.take(first).where(finding, used > offered, text, **labels)
    return f"in {len(offered)} periods of availability and unavailability"


def hosts(run: Facts, finding: Finding) -> str:
    """`hosts.csv` tells of each host what availability and stays tell."""
    hosts, stays, spans, new = run.hosts, run.stays, run.spans, run.spans.leaves
    count, length = len(hosts), max(run.end - run.start, 1)
    mine = {
        "unavailable": per(spans.host[new], count),
        **{f"s{k + 1}": per(spans.host[new & (spans.state == k)], count) for k in (2, 3, 4)},
        "guests": per(stays.host, count),
        "guest_seconds": per(stays.host, count, stays.end - stays.start),
        "useful": per(stays.host, count, run.useful_work),
        "lost": per(stays.host, count, stays.lost),
    }
    hosts.compare(finding, "host {number}", mine, "recomputed")
    for k, name in enumerate(SHARES):
        rows = spans.state == k
        share = per(spans.host[rows], count, (spans.end - spans.start)[rows]) / length
        said = hosts.share[:, k]
        text = f"host {{number}}: {name} is {{said}}, {{share}} recomputed"
        hosts.where(finding, np.abs(share - said) > EXACT, text, said=said, share=share)
    least, most = _samples(run)
    text = "host {number} has {samples} samples, but {least} to {most} fit its states"
    odd = (hosts.samples < least) | (hosts.samples > most)
    hosts.where(finding, odd, text, least=least, most=most)
    return f"{count} hosts, each consistent with availability and stays"


def _samples(run: Facts) -> tuple[Int, Int]:
    """Return the least and the most samples that hosts can have given: none in S5, and at least the
    first one of S1, S2 and S4 (S3 can begin in a short gap)."""
    spans, given, count = run.spans, run.given, len(run.hosts)
    first = (spans.start - given.begin) // given.period
    last = -(-(spans.end - given.begin) // given.period)
    there = spans.state != 4
    new = ~firsts(spans.host) & there & (spans.state != 2)
    return per(spans.host[new], count), per(spans.host[there], count, (last - first)[there])
