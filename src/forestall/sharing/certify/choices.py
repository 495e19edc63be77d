"""The rule of choices: each follows its scheduler's rule, from what was logged of the hosts, and
what was known came true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import firsts, spread
from forestall.core.certify.sheet import NONE, Bool, Int
from forestall.core.model.cycle import GuestDecisionKind, GuestEventKind, GuestReason, StayEnd
from forestall.core.streams import stream
from forestall.sharing.certify.facts import Facts
from forestall.sharing.certify.files import NEVER, PARTS, DecisionRows

_BRINGING: Final = (GuestEventKind.TRY, GuestEventKind.GUEST_AT_RISK)
"""Events that bring figures of hosts."""


def choices(run: Facts, finding: Finding) -> str:
    """Each try is answered as the scheduler's rule says, from the candidates' figures; and a guest
    moves where that says so."""
    found, events, entry = run.candidates, run.events, run.given.entry
    brings = np.isin(events.kind, _BRINGING)
    asked = events.take(brings)
    tried = asked.kind == GuestEventKind.TRY
    others = (GuestDecisionKind.END, GuestDecisionKind.MOVE)
    told = run.decisions.take(~np.isin(run.decisions.kind, others))
    same = int(events.candidates.sum()) == len(found) and int(tried.sum()) == len(told)
    if not same or (events.candidates[~brings] > 0).any():
        finding.wrong("events, decisions and candidates are not from the same run")
        return ""
    counts = asked.candidates
    row, reason = CHOICES.get(entry.name, _unknown)(run, spread(counts)[0], counts)
    if not tried.all():
        _moves(run, np.flatnonzero(brings)[~tried], row[~tried], finding)
    row, reason, counts = row[tried], reason[tried], counts[tried]
    reason = np.where(counts == 0, GuestReason.NO_HOST, reason)
    kind = np.where(row >= 0, GuestDecisionKind.START, GuestDecisionKind.WAIT)
    none = (counts == 0) & (told.kind == GuestDecisionKind.GIVE_UP)
    kind = np.where(none, GuestDecisionKind.GIVE_UP, kind)
    reason = np.where(none, GuestReason.TRIED_ENOUGH, reason)
    host = np.where(row >= 0, found.host[np.maximum(row, 0)] if len(found) else row, NONE)
    odd = (kind != told.kind) | (host != told.host) | (reason != told.reason)
    text = "job {job} is tried at {time}: {by_rule} according to the rule, but {here} is logged"
    by_rule = [_words(*answer) for answer in zip(kind, host, reason, strict=True)]
    here = [_words(*answer) for answer in zip(told.kind, told.host, told.reason, strict=True)]
    told.where(finding, odd, text, by_rule=by_rule, here=here)
    starts = row >= 0
    started = told.take(starts)
    for name in entry.looks_at:
        odd = started.figure(name) != found.figure(name)[row[starts]]
        text = f"job {{job}} starts at {{time}}: {name} of the host differs from candidates.csv"
        started.where(finding, odd, text)
    TRUTHS.get(entry.name, _chances if entry.foretells else _nothing)(run, finding)
    if entry.name not in CHOICES:
        return f"{len(told)} tries; which of the free hosts {entry.name} takes is not recomputed"
    return f"{len(told)} tries, all answered by the rule of {run.given.scheduler}"


def _words(kind: int, host: int, reason: int) -> str:
    where = "" if host == NONE else f" on host {host}"
    what, why = GuestDecisionKind(kind), GuestReason(reason)
    return f"{what.name}{where} ({why.name})".lower().replace("_", " ")


def _moves(run: Facts, event: Int, row: Int, finding: Finding) -> None:
    """A guest that is not expected to keep its host for as long as is asked moves where another is
    chosen, and ends it earlier."""
    told, found, events = run.decisions, run.candidates, run.events.take(event)
    own = run.host_of(events.job, events.time)
    first = (np.cumsum(run.events.candidates) - run.events.candidates)[event]
    owner, number = spread(events.candidates)
    at = first[owner] + number
    mine = found.host[at] == own[owner]
    stay = np.full(len(event), -1, dtype=np.int64)
    stay[owner[mine]] = at[mine]
    text = "job {job}: its own host is not a candidate at {time}"
    events.where(finding, stay < 0, text)
    chance = found.chance[stay]
    text = "job {job} is at risk at {time}, but its host stays with a probability of {chance}"
    events.where(finding, chance >= run.given.limit, text, chance=chance / PARTS)
    goes = (row != stay) & (found.jctf[row] < found.jctf[stay])
    text = "job {job} moves at {time} by only one of decisions.csv and the scheduler's rule"
    events.where(finding, goes != (events.decisions == 1), text)
    answer = (np.cumsum(run.events.decisions) - run.events.decisions)[event]
    mine = goes & (events.decisions == 1) & (answer < len(told))
    moved, row = told.take(answer[mine]), row[mine]
    odd = moved.host != found.host[row]
    for name in run.given.entry.looks_at:
        odd |= moved.figure(name) != found.figure(name)[row]
    text = "job {job} moves at {time}: host or figures differ from the choice"
    moved.where(finding, odd, text)


# ------------------------------------------------------------------------------------- schedulers


def _best(group: Int, count: int, *keys: Int) -> Int:
    """Return the row of each group's least keys, the first key being the most important; ties by
    the earlier row. -1 for a group without rows."""
    order = np.lexsort((np.arange(len(group)), *keys[::-1], group))
    first = firsts(group[order])
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
    found, many = run.candidates, len(counts)
    lives = (found.jct <= found.mttf) & (found.jct < NEVER)
    first = _any(group, many, lives)
    mine = first[group]
    primary = np.where(mine, found.jctf, -found.etl)
    row = _best(group, many, (mine & ~lives).astype(np.int64), primary, -found.mttf)
    return row, np.where(first, GuestReason.ENDS_FIRST, GuestReason.LONGEST_LEFT)


def _condor(run: Facts, group: Int, counts: Int) -> tuple[Int, Int]:
    """The largest rank; ties by the draw of each start."""
    rank, many = run.candidates.rank, len(counts)
    best = _best(group, many, -rank)
    tied = rank == rank[best[group]] if len(rank) else rank > 0
    ties = np.bincount(group[tied], minlength=many)
    starts = counts > 0
    draws = np.zeros(many)
    draws[starts] = stream(run.given.seed, "cycle", "condor").random(int(starts.sum()))
    wanted = np.minimum((draws * ties).astype(np.int64), ties - 1)
    before = np.cumsum(ties) - ties
    row = np.full(many, -1, dtype=np.int64)
    row[starts] = np.flatnonzero(tied)[(before + wanted)[starts]]
    return row, np.full(many, GuestReason.BEST_RANK)


def _omniscient(run: Facts, group: Int, counts: Int) -> tuple[Int, Int]:
    """The true end that comes first; where the job ends on none: from scratch it waits, else the
    host that does most."""
    found, many = run.candidates, len(counts)
    first = _any(group, many, found.jctf < NEVER)
    row = _best(group, many, np.where(first[group], found.jctf, -found.etl))
    if run.given.resumes:
        return row, np.where(first, GuestReason.TRUE_END, GuestReason.TRUE_LONGEST)
    return np.where(first, row, -1), np.where(first, GuestReason.TRUE_END, GuestReason.DOOMED)


def _of_hosts(run: Facts, group: Int, host: Int) -> Int:
    """Return the candidate that is each host, -1 where none is."""
    row = np.full(len(host), -1, dtype=np.int64)
    taken = np.flatnonzero(run.candidates.host == host[group])
    row[group[taken]] = taken
    return row


def _own(run: Facts, group: Int, counts: Int) -> tuple[Int, Int]:
    """Whatever a scheduler in Python takes, as long as it is one of the candidates."""
    told = run.decisions
    row = _of_hosts(run, group, told.host[told.kind != GuestDecisionKind.END])
    return row, np.where(row >= 0, GuestReason.OWN_CHOICE, GuestReason.DECLINED)


def _unknown(run: Facts, group: Int, counts: Int) -> tuple[Int, Int]:
    """Whatever a scheduler takes whose rule is not written here, as long as it is one of the
    candidates, with the reason that it gives."""
    told, brings = run.decisions, np.isin(run.events.kind, _BRINGING)
    asked = run.events.take(brings)
    answer = (np.cumsum(run.events.decisions) - run.events.decisions)[brings]
    host, some = run.host_of(asked.job, asked.time), asked.decisions > 0
    reason = np.full(len(counts), -1, dtype=np.int64)
    host[some], reason[some] = told.host[answer[some]], told.reason[answer[some]]
    return _of_hosts(run, group, host), reason


CHOICES: Final[dict[str, Callable[[Facts, Int, Int], tuple[Int, Int]]]] = {
    "falcon": _falcon,
    "falcon-slides": _falcon,
    "condor": _condor,
    "omniscient": _omniscient,
    "own": _own,
}
"""The row that each scheduler chooses of the candidates of each try (-1: none), and why."""

# ------------------------------------------------------------------------------- what came true


def _nothing(run: Facts, finding: Finding) -> None:
    """Nothing is known that could come true."""


def _speeds(run: Facts, finding: Finding) -> None:
    """Ranks are what the hosts' speeds give."""
    told = run.decisions
    told = told.take((told.kind == GuestDecisionKind.START) & (told.host != NONE))
    most = run.most[told.host]
    odd = (told.rank > most) | ((told.rank != most) & (run.given.rank == "speed"))
    text = "host {host} has rank {rank}, which does not follow from its speed"
    told.where(finding, odd, text)


def _starts(run: Facts) -> DecisionRows | None:
    """Return the starts in the order of the stays: the k-th start of a job is its k-th stay; None
    where there are not as many."""
    starts = run.decisions.take(run.decisions.kind == GuestDecisionKind.START)
    if len(starts) != len(run.stays):
        return None
    return starts.take(np.lexsort((starts.time, starts.job)))


def _chances(run: Facts, finding: Finding) -> None:
    """The chances that were said are those of the stays."""
    starts = _starts(run)
    if starts is not None:
        mine = {"chance": run.stays.chance}
        starts.compare(finding, "job {job} starts at {time}", mine, "in stays.csv")


def _truth(run: Facts, finding: Finding) -> None:
    """What the omniscient scheduler knew came true."""
    stays, starts = run.stays, _starts(run)
    if starts is not None:
        ended = np.where(stays.ended == StayEnd.COMPLETED, stays.end - stays.start, NEVER)
        text = "job {job} starts at {time}: its true end differs from that of its stay"
        starts.where(finding, starts.jctf != ended, text)
        text = "job {job} starts at {time}: the work to come differs from that of its stay"
        starts.where(finding, starts.etl != stays.work // PARTS, text)


TRUTHS: Final[dict[str, Callable[[Facts, Finding], None]]] = {
    "falcon": _chances,
    "falcon-slides": _chances,
    "condor": _speeds,
    "omniscient": _truth,
    "own": _chances,
}
"""What comes true of what each scheduler knew."""
