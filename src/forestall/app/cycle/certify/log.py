"""The certifier's look at `events.csv`, `decisions.csv` and `candidates.csv`, where they are there:
what was told and decided is what happened, and each choice follows its scheduler's rule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.app.cycle.certify.files import STATES, CycleFolder
from forestall.app.cycle.certify.sheet import PARTS, GuestSheet
from forestall.app.cycle.certify.work import free_hosts
from forestall.app.kit.finding import Check, Finding
from forestall.app.kit.sheet import MAX_AMOUNT, NONE, Bool, Int
from forestall.decide.cycle.entries import SCHEDULERS

FILES = ("events.csv", "decisions.csv", "candidates.csv")
EVENTS = ("guest_ended", "host_state", "try")
ENDED, HOST_STATE, TRY = range(3)
DECISIONS = ("start", "wait", "give_up", "end")
START, WAIT, GIVE_UP, END = range(4)
REASONS = (
    *("ends_first", "longest_left", "best_rank", "true_end", "true_longest"),
    *("no_host", "doomed", "tried_enough", "contention", "thrashing", "away"),
    *("own_choice", "declined"),
)
ENDS_FIRST, LONGEST_LEFT, BEST_RANK, TRUE_END, TRUE_LONGEST, NO_HOST, DOOMED, ENOUGH = range(8)
OWN_CHOICE, DECLINED = 11, 12
NEVER = 2**61
_NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class EventRows:
    """`events.csv`; `job` is the position of the job, `job`, `host` and `state` NONE where empty;
    `given` marks the hosts' states when the first job comes."""

    time: Int
    kind: Int
    job: Int
    host: Int
    state: Int
    decisions: Int
    candidates: Int
    given: Bool


@dataclass(frozen=True)
class DecisionRows:
    """`decisions.csv`; `host` and `at` are NONE where empty; figures NEVER where the time never
    comes."""

    time: Int
    kind: Int
    job: Int
    host: Int
    at: Int
    tries: Int
    candidates: Int
    reason: Int
    figures: dict[str, Int]


@dataclass(frozen=True)
class CandidateRows:
    """`candidates.csv`; figures as in `DecisionRows`."""

    time: Int
    job: Int
    host: Int
    figures: dict[str, Int]


@dataclass(frozen=True)
class LogFolder:
    """The three files, in their order."""

    events: EventRows
    decisions: DecisionRows
    candidates: CandidateRows


def has_log(folder: Path) -> bool:
    """Return whether a run's folder has a log."""
    return any((folder / name).exists() for name in FILES)


def _figures(sheet: GuestSheet, scheduler: str, wanted: Bool) -> dict[str, Int]:
    """Return what the scheduler looks at; the fields of others have to be empty."""
    read: dict[str, Int] = {}
    for name in ("jct", "mttf", "etl", "jctf", "rank", "chance"):
        empty = sheet.frame[name].is_null().to_numpy()
        if name not in SCHEDULERS[scheduler].looks_at:
            sheet.refuse(~empty, name, f"empty, as {scheduler} does not look at it")
        elif name in ("rank", "chance"):
            sheet.refuse(empty != ~wanted, name, "there just where a host is told of")
            read[name] = sheet.work(name, empty=NEVER)
        else:
            sheet.refuse(~empty & ~wanted, name, "empty, as no host is chosen")
            values = sheet.whole(name, 0, NEVER, empty=True)
            read[name] = np.where(values == NONE, NEVER, values)
    return read


def _positions(sheet: GuestSheet, ids: Int) -> Int:
    """Return the position of each row's job, NONE where the field is empty."""
    asked = sheet.whole("job", -MAX_AMOUNT, MAX_AMOUNT, empty=True)
    order = np.argsort(ids, kind="stable")
    at = order[np.minimum(np.searchsorted(ids[order], asked), len(ids) - 1)]
    sheet.refuse((asked != NONE) & (ids[at] != asked), "job", "a job of jobs.csv")
    return np.where(asked == NONE, NONE, at)


def _read_events(folder: Path, run: CycleFolder) -> EventRows:
    sheet = GuestSheet(folder, "events")
    kind = sheet.words("event", EVENTS)
    about = kind == HOST_STATE
    given = np.arange(len(kind)) < len(run.hosts)
    sheet.refuse(given & ~about, "event", "the state of a host when the first job comes")
    for name in ("job", "host", "state"):
        empty = sheet.frame[name].is_null().to_numpy()
        sheet.refuse(empty != (about == (name == "job")), name, "what such an event tells of")
    filled = sheet.frame["state"].fill_null(STATES[0])
    sheet.frame = sheet.frame.with_columns(filled)
    return EventRows(
        sheet.seconds("time"),
        kind,
        _positions(sheet, run.jobs.name),
        sheet.whole("host", 0, len(run.hosts), empty=True),
        np.where(about, sheet.words("state", STATES), NONE),
        sheet.whole("decisions", 0, 2),
        sheet.whole("candidates", 0, len(run.hosts) + 1),
        given,
    )


def read_log(folder: Path, run: CycleFolder) -> LogFolder:
    """Return what the log's files say."""
    scheduler = run.given.scheduler
    events = _read_events(folder, run)
    sheet = GuestSheet(folder, "decisions")
    kind = sheet.words("decision", DECISIONS)
    decisions = DecisionRows(
        sheet.seconds("time"),
        kind,
        sheet.jobs(run.jobs.name),
        sheet.whole("host", 0, len(run.hosts), empty=True),
        sheet.seconds("at", empty=True),
        sheet.whole("tries"),
        sheet.whole("candidates"),
        sheet.words("reason", REASONS),
        _figures(sheet, scheduler, kind == START),
    )
    sheet = GuestSheet(folder, "candidates")
    candidates = CandidateRows(
        sheet.seconds("time"),
        sheet.jobs(run.jobs.name),
        sheet.whole("host", 0, len(run.hosts)),
        _figures(sheet, scheduler, np.ones(len(sheet), dtype=np.bool_)),
    )
    return LogFolder(events, decisions, candidates)


def _unlike(finding: Finding, what: str, said: list[Int], mine: list[Int], names: Int) -> None:
    """Note where rows of two tables, sorted alike, are not the same; the first column is the
    position of the job or the host, and `names` tells how it is called."""
    one = np.unique(np.stack(said, axis=1), axis=0, return_counts=True)
    other = np.unique(np.stack(mine, axis=1), axis=0, return_counts=True)
    both, count = np.unique(np.concatenate((one[0], other[0])), axis=0, return_counts=True)
    alone = both[count == 1]
    odd = np.ones(len(alone), dtype=np.bool_)
    finding.where(odd, what, names[alone[:, 0]] if len(alone) else alone, alone[:, 1:].tolist())
    for rows, times in (one, other):
        twice = times > 1
        finding.where(twice, what, names[rows[:, 0]], rows[:, 1:].tolist())


def check_events(run: CycleFolder, log: LogFolder, tried: tuple[Int, Int]) -> Check:
    """Events are those that jobs, stays and availability tell, in their order; `tried` has job and
    time of each try."""
    events, spans, stays, jobs = log.events, run.spans, run.stays, run.jobs
    finding = Finding("events")
    key = np.where(events.kind == HOST_STATE, events.host, events.job)
    count, line = len(run.hosts), np.arange(len(key)) + 2
    rank = np.lexsort((key, events.kind, events.time))
    back = rank[count:] != np.arange(count, len(key)) if len(key) > count else rank < 0
    finding.where(back, "events.csv, line {0}: not in order of time, kind, and job or host",
                  line[count:])  # fmt: skip
    first = spans.host != np.concatenate(([-1], spans.host[:-1]))[: len(spans)]
    early = events.given & (events.time != run.start)
    finding.where(early, "events.csv, line {0}: not when the first job comes", line)
    begun = [spans.host[first], spans.start[first], spans.state[first]]
    columns = [events.host, events.time, events.state]
    text = "host {0}: time and state {1} are only in one of events.csv and availability.csv"
    if run.end > run.start:
        told = [column[events.given] for column in columns]
        _unlike(finding, text, told, begun, run.hosts.number)
    here = ~events.given & (events.kind == HOST_STATE) & (events.time < run.end)
    later = [spans.host[~first], spans.start[~first], spans.state[~first]]
    told = [column[here] for column in columns]
    _unlike(finding, text, told, later, run.hosts.number)
    said = run.summary.get("events")
    unlike = np.array([said != len(key) - count])
    text = "summary.json tells of {0} events, and events.csv has {1}"
    finding.where(unlike, text, [said], [len(key) - count])
    past = events.time > run.end
    finding.where(past, "events.csv, line {0}: after the end of the run", line)
    here, done = events.kind == ENDED, stays.ended == 0
    text = "job {0}: ending at {1} is only in one of events.csv and stays.csv"
    told = [events.job[here], events.time[here]]
    _unlike(finding, text, told, [stays.job[done], stays.end[done]], jobs.name)
    here = events.kind == TRY
    text = "job {0}: a try at {1} is only in one of events.csv and what jobs.csv and stays.csv tell"
    told = [events.job[here], events.time[here]]
    _unlike(finding, text, told, list(tried), jobs.name)
    return finding.check(f"{len(key)} events, as jobs, stays and availability tell")


def check_decisions(run: CycleFolder, log: LogFolder) -> Check:
    """Decisions answer the events, and are what became of jobs."""
    events, told, stays, jobs = log.events, log.decisions, run.stays, run.jobs
    finding = Finding("decisions")
    line = np.arange(len(told.time)) + 2
    owner = np.repeat(np.arange(len(events.time)), events.decisions)
    if len(owner) != len(line):
        bad = np.ones(1, dtype=np.bool_)
        text = "events.csv tells of {0} decisions, and decisions.csv has {1}"
        finding.where(bad, text, [len(owner)], [len(line)])
        return finding.check("")
    tried = events.kind[owner] == TRY
    unlike = (events.time[owner] != told.time) | (tried == (told.kind == END))
    unlike |= tried & (events.job[owner] != told.job)
    unlike |= ~tried & (events.host[owner] != told.host)
    unlike |= events.candidates[owner] != told.candidates
    finding.where(unlike, "decisions.csv, line {0}: does not answer its event", line)
    silent = (events.kind == TRY) & (events.decisions == 0)
    where = np.arange(len(silent)) + 2
    finding.where(silent, "events.csv, line {0}: a try without a decision", where)
    here = told.kind == START
    text = "job {0}: start (host, time) {1} is only in one of decisions.csv and stays.csv"
    rows = [told.job[here], told.host[here], told.time[here]]
    _unlike(finding, text, rows, [stays.job, stays.host, stays.start], jobs.name)
    here, left = told.kind == END, stays.left
    text = "job {0}: end (host, time, reason) {1} is only in one of decisions.csv and stays.csv"
    rows = [told.job[here], told.host[here], told.time[here], told.reason[here] - ENOUGH]
    mine = [stays.job[left], stays.host[left], stays.end[left], stays.ended[left]]
    _unlike(finding, text, rows, mine, jobs.name)
    here = told.kind == GIVE_UP
    text = "job {0}: given up in only one of decisions.csv and jobs.csv {1}"
    gone = np.flatnonzero(jobs.fate == 1)
    _unlike(finding, text, [told.job[here]], [gone], jobs.name)
    _check_fields(run, told, finding, line)
    return finding.check(f"{len(line)} decisions, as stays and jobs tell")


def _check_fields(run: CycleFolder, told: DecisionRows, finding: Finding, line: Int) -> None:
    """What a decision of each kind holds, and how often its job was tried."""
    waits = told.kind == WAIT
    at = np.where(waits, told.time + run.given.retry, NONE)
    finding.where(told.at != at, "decisions.csv, line {0}: tried again at another time", line)
    nowhere = (told.host == NONE) != (waits | (told.kind == GIVE_UP))
    finding.where(nowhere, "decisions.csv, line {0}: a host where none is, or none", line)
    order = np.lexsort((np.arange(len(line)), told.job))
    job, ends = told.job[order], told.kind[order] == END
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (job[1:] != job[:-1]) | ends[:-1]
    begin = np.flatnonzero(fresh)
    number = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order))))
    tries = np.where(ends, 0, number + 1)
    odd = told.tries[order] != tries
    text = "decisions.csv, line {0}: {1} tries, and it is number {2}"
    finding.where(odd, text, line[order], told.tries[order], tries)


def check_candidates(run: CycleFolder, log: LogFolder) -> Check:
    """The candidates of each try are all hosts in S1 or S2 without a guest, in their order."""
    events, found, jobs = log.events, log.candidates, run.jobs
    finding = Finding("candidates")
    line = np.arange(len(found.time)) + 2
    owner = np.repeat(np.arange(len(events.time)), events.candidates)
    if len(owner) != len(line):
        bad = np.ones(1, dtype=np.bool_)
        text = "events.csv tells of {0} candidates, and candidates.csv has {1}"
        finding.where(bad, text, [len(owner)], [len(line)])
        return finding.check("")
    unlike = (events.time[owner] != found.time) | (events.job[owner] != found.job)
    unlike |= events.kind[owner] != TRY
    finding.where(unlike, "candidates.csv, line {0}: not of its event", line)
    back = np.zeros(len(line), dtype=np.bool_)
    back[1:] = (owner[1:] == owner[:-1]) & (found.host[1:] <= found.host[:-1])
    finding.where(back, "candidates.csv, line {0}: not in order of hosts", line)
    busy = _busy(run, found.host, found.time, found.job)
    text = "job {0}: host {1} is no candidate at {2}, it has a guest or is not available "
    text += "(candidates.csv, line {3})"
    finding.where(busy, text, jobs.name[found.job], found.host, found.time, line)
    here = (events.kind == TRY) & (events.time < run.end)
    free = free_hosts(run, events.time[here], events.job[here])
    said = events.candidates[here]
    text = "job {0} is tried at {1} with {2} candidates, and {3} hosts are free and available"
    labels = (jobs.name[events.job[here]], events.time[here], said, free)
    finding.where(said != free, text, *labels)
    return finding.check(f"{len(line)} candidates of {int(here.sum())} tries")


def _busy(run: CycleFolder, host: Int, time: Int, job: Int) -> Bool:
    """Return whether hosts are not available, or have a guest, when jobs are tried at times."""
    spans, stays = run.spans, run.stays
    low = min(int(time.min(initial=run.start)), run.start)
    width = max(run.end, int(time.max(initial=run.end)), int(stays.end.max(initial=0))) - low + 2
    keys = spans.host * width + (spans.start - low)
    at = np.maximum(np.searchsorted(keys, host * width + (time - low), "right") - 1, 0)
    away = ~spans.available[at] if len(spans) else np.ones(len(host), dtype=np.bool_)
    order = np.lexsort((stays.start, stays.host))
    keys = stays.host[order] * width + np.clip(stays.start[order] - low, 0, width - 1)
    if not len(order):
        return away & (time < run.end)
    at = np.searchsorted(keys, host * width + (time - low), "right") - 1
    row = order[np.maximum(at, 0)]
    mine = (at >= 0) & (stays.host[row] == host)
    # One that starts in this very second does so before this try only for an earlier job.
    now = stays.start[row] == time
    held = mine & ~now & (stays.end[row] > time) | (mine & now & (stays.job[row] < job))
    taken: Bool = (away & (time < run.end)) | held
    return taken


def check_choices(run: CycleFolder, log: LogFolder) -> Check:
    """Each try is answered as the scheduler's rule says, from the candidates' figures."""
    told, found, events = log.decisions, log.candidates, log.events
    finding = Finding("choices of the scheduler")
    tries = np.flatnonzero(events.kind == TRY)
    line = np.flatnonzero(told.kind != END)
    same = int(events.candidates.sum()) == len(found.host) and len(tries) == len(line)
    if not same or (events.candidates[events.kind != TRY] > 0).any():
        bad = np.ones(1, dtype=np.bool_)
        finding.where(bad, "events, decisions and candidates are not of one run", bad)
        return finding.check("")
    counts = events.candidates[tries]
    group = np.repeat(np.arange(len(tries)), counts)
    chosen = {
        "falcon": _falcon, "condor": _condor, "omniscient": _omniscient, "own": _own
    }[run.given.scheduler](run, log, group, counts)  # fmt: skip
    row, reason = chosen
    reason = np.where(counts == 0, NO_HOST, reason)
    kind = np.where(row >= 0, START, WAIT)
    none = (counts == 0) & (told.kind[line] == GIVE_UP)
    kind, reason = np.where(none, GIVE_UP, kind), np.where(none, ENOUGH, reason)
    names = run.jobs.name[told.job[line]]
    host = np.where(row >= 0, found.host[np.maximum(row, 0)] if len(found.host) else row, NONE)
    text = "job {0} is tried at {1}: {2} by the rule, and decisions.csv has {3} (line {4})"
    rules = [_words(*one) for one in zip(kind, host, reason, strict=True)]
    said = (told.kind[line], told.host[line], told.reason[line])
    files = [_words(*one) for one in zip(*said, strict=True)]
    odd = (kind != said[0]) | (host != said[1]) | (reason != said[2])
    finding.where(odd, text, names, told.time[line], rules, files, line + 2)
    text = "job {0} starts at {1}: {2} of the host is not that of candidates.csv "
    text += "(decisions.csv, line {3})"
    here = row >= 0
    for name in SCHEDULERS[run.given.scheduler].looks_at:
        figure = told.figures[name][line]
        odd = here & (figure != found.figures[name][np.maximum(row, 0)]) if here.any() else here
        finding.where(odd, text, names, told.time[line], [name] * len(line), line + 2)
    _check_truth(run, told, finding)
    return finding.check(f"{len(tries)} tries, all answered as {run.given.scheduler} has to")


def _words(kind: int, host: int, reason: int) -> str:
    where = "" if host == NONE else f" on host {host}"
    return f"{DECISIONS[kind].replace('_', ' ')}{where} ({REASONS[reason].replace('_', ' ')})"


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


def _falcon(run: CycleFolder, log: LogFolder, group: Int, counts: Int) -> tuple[Int, Int]:
    """JCT > MTTF, or never, everywhere: the largest ETL; else of the others the least JCTF. Ties:
    larger MTTF, then the lower host."""
    figures, many = log.candidates.figures, len(counts)
    lives = (figures["jct"] <= figures["mttf"]) & (figures["jct"] < NEVER)
    first = _any(group, many, lives)
    mine = first[group]
    primary = np.where(mine, figures["jctf"], -figures["etl"])
    row = _best(group, many, ((mine & ~lives).astype(np.int64), primary, -figures["mttf"]))
    return row, np.where(first, ENDS_FIRST, LONGEST_LEFT)


def _condor(run: CycleFolder, log: LogFolder, group: Int, counts: Int) -> tuple[Int, Int]:
    """The largest rank; ties by the draw of each start."""
    from forestall.traces.streams import stream

    rank, many = log.candidates.figures["rank"], len(counts)
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
    return row, np.full(many, BEST_RANK)


def _omniscient(run: CycleFolder, log: LogFolder, group: Int, counts: Int) -> tuple[Int, Int]:
    """The true end that comes first; where the job ends on none: from scratch it waits, else the
    host that does most."""
    figures, many = log.candidates.figures, len(counts)
    ends = figures["jctf"] < NEVER
    first = _any(group, many, ends)
    mine = first[group]
    row = _best(group, many, (np.where(mine, figures["jctf"], -figures["etl"]),))
    if run.given.resumes:
        return row, np.where(first, TRUE_END, TRUE_LONGEST)
    return np.where(first, row, -1), np.where(first, TRUE_END, DOOMED)


def _own(run: CycleFolder, log: LogFolder, group: Int, counts: Int) -> tuple[Int, Int]:
    """Whatever a scheduler in Python takes, as long as it is one of the candidates."""
    told = log.decisions
    host = told.host[told.kind != END]
    row = np.full(len(counts), -1, dtype=np.int64)
    taken = np.flatnonzero(log.candidates.host == host[group])
    row[group[taken]] = taken
    return row, np.where(row >= 0, OWN_CHOICE, DECLINED)


def _check_truth(run: CycleFolder, told: DecisionRows, finding: Finding) -> None:
    """What the omniscient scheduler knew came true, ranks by speed are the hosts' speeds, and the
    chances that were said are those of the stays."""
    stays, here = run.stays, told.kind == START
    line = np.flatnonzero(here)
    if run.given.scheduler == "condor":
        most = run.most[np.where(here, told.host, 0)]
        rank = told.figures["rank"]
        odd = here & ((rank > most) | ((rank != most) & (run.given.rank == "speed")))
        text = "host {0} has rank {1}, which its speed does not give (decisions.csv, line {2})"
        finding.where(odd, text, told.host, rank / PARTS, np.arange(len(odd)) + 2)
    if run.given.scheduler == "condor" or len(line) != len(stays):
        return
    # Both in order of (job, time): the k-th start of a job is its k-th stay.
    line = line[np.lexsort((told.time[line], told.job[line]))]
    if SCHEDULERS[run.given.scheduler].foretells:
        chance = told.figures["chance"][line]
        text = "job {0} starts at {1}: its chance is {2} by decisions.csv (line {4}), {3} by stays"
        labels = (run.jobs.name[stays.job], stays.start, chance / PARTS, stays.chance / PARTS)
        finding.where(chance != stays.chance, text, *labels, line + 2)
        return
    jctf, etl = told.figures["jctf"][line], told.figures["etl"][line]
    ended = np.where(stays.ended == 0, stays.end - stays.start, NEVER)
    names = run.jobs.name[stays.job]
    text = "job {0} starts at {1}: its true end is not that of its stay (decisions.csv, line {2})"
    finding.where(jctf != ended, text, names, stays.start, line + 2)
    text = (
        "job {0} starts at {1}: the work to come is not that of its stay (decisions.csv, line {2})"
    )
    finding.where(etl != stays.work // PARTS, text, names, stays.start, line + 2)
