"""The certifier's rule of choices: each follows its scheduler's rule, from what was logged of the
hosts, and what was known came true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.app.cycle.certify.facts import Facts
from forestall.app.cycle.certify.files import PARTS
from forestall.app.cycle.certify.log import host_of
from forestall.app.cycle.certify.log_files import LOOKED_AT, NEVER, DecisionRows
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import spread
from forestall.app.kit.certify.sheet import NONE, Bool, Int
from forestall.model.cycle import GuestDecisionKind, GuestEventKind, GuestReason, StayEnd
from forestall.traces.streams import stream

_ASKED: Final = (GuestEventKind.TRY, GuestEventKind.GUEST_AT_RISK)
"""Events that bring figures of hosts."""


def choices(run: Facts, finding: Finding) -> str:
    """Each try is answered as the scheduler's rule says, from the candidates' figures; and a guest
    moves where that says so."""
    told, found, events = run.log.decisions, run.log.candidates, run.log.events
    asked = np.flatnonzero(np.isin(events.kind, _ASKED))
    tried = events.kind[asked] == GuestEventKind.TRY
    line = np.flatnonzero(~np.isin(told.kind, (GuestDecisionKind.END, GuestDecisionKind.MOVE)))
    same = int(events.candidates.sum()) == len(found.host) and int(tried.sum()) == len(line)
    if not same or (events.candidates[~np.isin(events.kind, _ASKED)] > 0).any():
        finding.wrong("events, decisions and candidates are not from the same run")
        return ""
    counts = events.candidates[asked]
    row, reason = CHOICES[run.given.rule](run, spread(counts)[0], counts)
    if not tried.all():
        _moves(run, asked[~tried], row[~tried], finding)
    row, reason, counts = row[tried], reason[tried], counts[tried]
    reason = np.where(counts == 0, GuestReason.NO_HOST, reason)
    kind = np.where(row >= 0, GuestDecisionKind.START, GuestDecisionKind.WAIT)
    none = (counts == 0) & (told.kind[line] == GuestDecisionKind.GIVE_UP)
    kind, reason = (
        np.where(none, GuestDecisionKind.GIVE_UP, kind),
        np.where(none, GuestReason.TRIED_ENOUGH, reason),
    )
    names = run.jobs.name[told.job[line]]
    host = np.where(row >= 0, found.host[np.maximum(row, 0)] if len(found.host) else row, NONE)
    text = "job {0} is tried at {1}: {2} according to the rule, but {3} in decisions.csv (line {4})"
    rules = [_words(*one) for one in zip(kind, host, reason, strict=True)]
    said = (told.kind[line], told.host[line], told.reason[line])
    files = [_words(*one) for one in zip(*said, strict=True)]
    odd = (kind != said[0]) | (host != said[1]) | (reason != said[2])
    finding.where(odd, text, names, told.time[line], rules, files, line + 2)
    text = "job {0} starts at {1}: {2} of the host differs from candidates.csv "
    text += "(decisions.csv, line {3})"
    here = row >= 0
    for name in LOOKED_AT[run.given.rule]:
        figure = told.figure(name)[line]
        odd = here & (figure != found.figure(name)[np.maximum(row, 0)]) if here.any() else here
        finding.where(odd, text, names, told.time[line], [name] * len(line), line + 2)
    TRUTHS[run.given.rule](run, finding)
    return f"{len(line)} tries, all answered by the rule of {run.given.scheduler}"


def _moves(run: Facts, event: Int, row: Int, finding: Finding) -> None:
    """A guest that is not expected to keep its host for as long as is asked moves where another is
    chosen, and ends it earlier."""
    told, found, events = run.log.decisions, run.log.candidates, run.log.events
    job, time, line = events.job[event], events.time[event], events.line[event]
    names, own = run.jobs.name[job], host_of(run, job, time)
    first = (np.cumsum(events.candidates) - events.candidates)[event]
    stay = np.full(len(event), -1, dtype=np.int64)
    for k in range(int(events.candidates[event].max(initial=0))):
        at = np.minimum(first + k, len(found.host) - 1)
        stay = np.where((k < events.candidates[event]) & (found.host[at] == own), at, stay)
    text = "job {0}: its own host is not a candidate at {1} (events.csv, line {2})"
    finding.where(stay < 0, text, names, time, line)
    text = (
        "job {0} is at risk at {1}, but its host stays with a probability of {3} (events.csv, "
        "line {2})"
    )
    chance = found.chance[stay]
    finding.where(chance >= run.given.limit, text, names, time, line, chance / PARTS)
    goes = (row != stay) & (found.jctf[row] < found.jctf[stay])
    text = "job {0} moves at {1} according to only one of decisions.csv and the scheduler's rule "
    text += "(events.csv, line {2})"
    finding.where(goes != (events.decisions[event] == 1), text, names, time, line)
    answer = (np.cumsum(events.decisions) - events.decisions)[event]
    mine = goes & (events.decisions[event] == 1) & (answer < len(told.line))
    text = "job {0} moves at {1}: host or figures differ from the choice (decisions.csv, line {2})"
    answer, row = answer[mine], row[mine]
    odd = told.host[answer] != found.host[row]
    for name in LOOKED_AT[run.given.rule]:
        odd |= told.figure(name)[answer] != found.figure(name)[row]
    finding.where(odd, text, names[mine], time[mine], told.line[answer])


def _words(kind: int, host: int, reason: int) -> str:
    where = "" if host == NONE else f" on host {host}"
    what, why = GuestDecisionKind(kind), GuestReason(reason)
    return f"{what.name}{where} ({why.name})".lower().replace("_", " ")


def _best(group: Int, count: int, keys: tuple[npt.NDArray[np.int64], ...]) -> Int:
    """Return the row of each group's least keys, the first key being the most important; ties by
    the earlier row. -1 for a group without rows."""
    order = np.lexsort((np.arange(len(group)), *keys[::-1], group))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = group[order][1:] != group[order][:-1]
    row = np.full(count, -1, dtype=np.int64)
    row[group[order][first]] = order[first]
    return row


def _any(group: Int, count: int, yes: Bool) -> Bool:
    found = np.zeros(count, dtype=np.bool_)
    found[group[yes]] = True
    return found


def _falcon(run: Facts, group: Int, counts: Int) -> tuple[Int, Int]:
    """JCT > MTTF, or never, everywhere: the largest ETL; else of the others the least JCTF. Ties:
    larger MTTF, then the lower host."""
    found, many = run.log.candidates, len(counts)
    lives = (found.jct <= found.mttf) & (found.jct < NEVER)
    first = _any(group, many, lives)
    mine = first[group]
    primary = np.where(mine, found.jctf, -found.etl)
    row = _best(group, many, ((mine & ~lives).astype(np.int64), primary, -found.mttf))
    return row, np.where(first, GuestReason.ENDS_FIRST, GuestReason.LONGEST_LEFT)


def _condor(run: Facts, group: Int, counts: Int) -> tuple[Int, Int]:
    """The largest rank; ties by the draw of each start."""
    rank, many = run.log.candidates.rank, len(counts)
    best = _best(group, many, (-rank,))
    tied = rank == rank[best[group]] if len(rank) else rank > 0
    ties = np.bincount(group[tied], minlength=many)
    starts = counts > 0
    draws = np.zeros(many)
    draws[starts] = stream(run.given.seed, "cycle", "condor").random(int(starts.sum()))
    wanted = np.minimum((draws * ties).astype(np.int64), ties - 1)
    rows = np.flatnonzero(tied)
    before = np.concatenate(([0], np.cumsum(ties)[:-1]))[:many]
    row = np.full(many, -1, dtype=np.int64)
    row[starts] = rows[(before + wanted)[starts]]
    return row, np.full(many, GuestReason.BEST_RANK)


def _omniscient(run: Facts, group: Int, counts: Int) -> tuple[Int, Int]:
    """The true end that comes first; where the job ends on none: from scratch it waits, else the
    host that does most."""
    found, many = run.log.candidates, len(counts)
    ends = found.jctf < NEVER
    first = _any(group, many, ends)
    mine = first[group]
    row = _best(group, many, (np.where(mine, found.jctf, -found.etl),))
    if run.given.resumes:
        return row, np.where(first, GuestReason.TRUE_END, GuestReason.TRUE_LONGEST)
    return np.where(first, row, -1), np.where(first, GuestReason.TRUE_END, GuestReason.DOOMED)


def _own(run: Facts, group: Int, counts: Int) -> tuple[Int, Int]:
    """Whatever a scheduler in Python takes, as long as it is one of the candidates."""
    told = run.log.decisions
    host = told.host[told.kind != GuestDecisionKind.END]
    row = np.full(len(counts), -1, dtype=np.int64)
    taken = np.flatnonzero(run.log.candidates.host == host[group])
    row[group[taken]] = taken
    return row, np.where(row >= 0, GuestReason.OWN_CHOICE, GuestReason.DECLINED)


CHOICES: Final[dict[str, Callable[[Facts, Int, Int], tuple[Int, Int]]]] = {
    "falcon": _falcon,
    "falcon-slides": _falcon,
    "condor": _condor,
    "omniscient": _omniscient,
    "own": _own,
}
"""The row that each scheduler chooses of the candidates of each try (-1: none), and why."""


def _speeds(run: Facts, finding: Finding) -> None:
    """Ranks are what the hosts' speeds give."""
    told = run.log.decisions
    here, rank = (told.kind == GuestDecisionKind.START) & (told.host != NONE), told.rank
    most = run.most[np.where(here, told.host, 0)]
    odd = here & ((rank > most) | ((rank != most) & (run.given.rank == "speed")))
    text = "host {0} has rank {1}, which does not follow from its speed (decisions.csv, line {2})"
    finding.where(odd, text, told.host, rank / PARTS, told.line)


def _starts(run: Facts) -> DecisionRows | None:
    """Return the starts in the order of the stays: the k-th start of a job is its k-th stay; None
    where there are not as many."""
    told = run.log.decisions
    starts = told.take(told.kind == GuestDecisionKind.START)
    if len(starts) != len(run.stays):
        return None
    return starts.take(np.lexsort((starts.time, starts.job)))


def _chances(run: Facts, finding: Finding) -> None:
    """The chances that were said are those of the stays."""
    stays, starts = run.stays, _starts(run)
    if starts is None:
        return
    text = (
        "job {0} starts at {1}: its chance is {2} in decisions.csv (line {4}), {3} according to "
        "stays"
    )
    labels = (run.names, stays.start, starts.chance / PARTS, stays.chance / PARTS)
    finding.where(starts.chance != stays.chance, text, *labels, starts.line)


def _truth(run: Facts, finding: Finding) -> None:
    """What the omniscient scheduler knew came true."""
    stays, starts = run.stays, _starts(run)
    if starts is None:
        return
    ended = np.where(stays.ended == StayEnd.COMPLETED, stays.end - stays.start, NEVER)
    where = (run.names, stays.start, starts.line)
    text = (
        "job {0} starts at {1}: its true end differs from that of its stay (decisions.csv, line "
        "{2})"
    )
    finding.where(starts.jctf != ended, text, *where)
    text = (
        "job {0} starts at {1}: the work to come differs from that of its stay (decisions.csv, "
        "line {2})"
    )
    finding.where(starts.etl != stays.work // PARTS, text, *where)


TRUTHS: Final[dict[str, Callable[[Facts, Finding], None]]] = {
    "falcon": _chances,
    "falcon-slides": _chances,
    "condor": _speeds,
    "omniscient": _truth,
    "own": _chances,
}
"""What comes true of what each scheduler knew."""
