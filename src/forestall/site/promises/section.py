"""The section on promises: what quotes would have been worth, in time order."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from forestall.core.show.blocks import Column, Figure, Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.quantities import counted, number, percent, titled
from forestall.core.show.report import Section
from forestall.core.show.words import or_dash
from forestall.site.learning.turnaround.answer import rests_on
from forestall.site.promises import pictures as draw
from forestall.site.promises.pictures import band, digits, interval, points, times
from forestall.site.promises.study import Answer, PromiseStudy, Question
from forestall.site.promises.study import study as replayed
from forestall.site.promises.yardsticks import sharper, yardsticks_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forestall.prediction.assess.promises import PromiseScores, ScoredDecile
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

KEY: Final = "promises"
TITLE: Final = "What promises would have been worth"
MOST: Final = 100_000
"""The latest so many jobs are replayed for a report."""
RULES: Final = 6
"""The first notes are rules, the same for all records."""
LEAST: Final = 200
"""Promises from which a decile is judged, as in `forestall.prediction.assess.promises`."""
WORST: Final = 5
"""Groups of each kind in the table."""
REACH: Final = "over all jobs, not within groups"
ASKS: Final = {
    "deadline": "Deadlines for a probability",
    "probability": "Probabilities of named deadlines",
}


def study(site: SiteRecords, asked: Asked) -> PromiseStudy:
    """Return what promises would have been worth on the latest jobs."""
    question = Question(seed=asked.seed, level=asked.level, latest=MOST, learn=asked.learn)
    if site.accounting is None or not len(site.accounting):
        remedy = "records of jobs (sacct, or a job log in SWF)"
        return PromiseStudy(
            question, 0, 0, False, why="there are no records of jobs", remedy=remedy
        )
    return replayed(site.accounting, question)


def section(found: PromiseStudy) -> Section:
    """Return the section."""
    if found.why:
        return Section(
            KEY, TITLE, f"No promises were tested: {found.why}.",
            untold=(Untold(TITLE, found.why, found.remedy),),
        )  # fmt: skip
    return Section(
        key=KEY,
        title=TITLE,
        lead=lead(found),
        facts=facts(found),
        series=series(found),
        body=(*tables(found), *figures(found)),
        notes=notes(found),
        untold=untold(found),
    )


def lead(found: PromiseStudy) -> str:
    """Return in three sentences at most whether promises hold (what does not comes first), how far
    deadlines lay, and on how many jobs that rests."""
    first = sorted(found.answers, key=lambda answer: answer.scores.holds is not False)
    said = _all_hold(found) or "; ".join(verdict(one) for one in first)
    if any(one.scores.holds for one in first):
        said += f" ({REACH}{_of_groups(found)})"
    told = [f"{titled(said)}."]
    for one in found.answers:
        top = one.sharp_by[9]
        if one.question == "deadline" and top.count:
            told.append(
                "Half of the deadlines stated with 90 % or more were at least "
                f"{number(top.times_run[1])} run times away."
            )
    told += sharper(found.learned.yardsticks)
    told.append(
        f"Replayed in time order: {counted(found.jobs, 'jobs')}, after a warm-up of "
        f"{counted(found.asked.warm_up, 'jobs')} that ended; a quote {_rests(found)}."
    )
    return " ".join(told)


def _rests(found: PromiseStudy) -> str:
    """Return what quotes rest on as the end of a sentence."""
    told = rests_on(found.learned.share, found.learned.jobs)
    return f"is {told}" if told.startswith("learned") else told


def _all_hold(found: PromiseStudy) -> str:
    """Return part of a sentence on all kinds of promises where there are several and all hold, else
    an empty one."""
    worst = [one.scores.worst for one in found.answers]
    if len(worst) < 2 or not all(one.scores.holds for one in found.answers):
        return ""
    most = max(abs(one.off) for one in worst if one is not None)
    full = all(len(one.scores.judged) == len(one.scores.deciles) for one in found.answers)
    every = "every decile" if full else "all deciles with enough promises"
    return (
        f"promises hold in {every}: stated and observed shares differ by at most "
        f"{100 * most:.1f} points"
    )


def verdict(answer: Answer) -> str:
    """Return in part of a sentence whether promises of one kind hold, and how far they are off."""
    what = ASKS[answer.question].lower()
    scores = answer.scores
    worst = scores.worst
    if worst is None:
        return f"{what}: no verdict, {_few(answer)}"
    judged = scores.judged
    if scores.holds:
        every = "every decile" if len(judged) == len(scores.deciles) else _counted_deciles(judged)
        off = f"{100 * abs(worst.off):.1f}"
        return f"{what} hold in {every}: stated and observed shares differ by at most {off} points"
    bad = [one for one in judged if one.verdict == "no"]
    return (
        f"{what} do NOT hold: in {len(bad)} of {counted(len(judged), 'deciles')} stated and "
        f"observed shares differ by more than 3 points (worst: {band(worst.low, worst.high)}, "
        f"{points(worst.off)} points of {worst.made:,})"
    )


def _counted_deciles(judged: tuple[ScoredDecile, ...]) -> str:
    those = "the only decile" if len(judged) == 1 else f"all {len(judged)} deciles"
    return f"{those} with enough promises"


def _few(answer: Answer) -> str:
    """Return why there is no verdict, and about how many promises more it takes."""
    made = answer.scores.made
    return (
        f"because no decile has {LEAST} promises ({counted(made, 'promises')} in total; about "
        f"{_missing(answer)} more are needed)"
    )


def _missing(answer: Answer) -> str:
    """Return about how many promises more give a verdict: in one decile where all are in one, else
    in all ten."""
    full = [one.made for one in answer.scores.deciles if one.made]
    wanted = LEAST if len(full) == 1 else LEAST * len(answer.scores.deciles)
    return f"{max(wanted - answer.scores.made, 1):,}"


def _of_groups(found: PromiseStudy) -> str:
    """Return the partition and the size that are farthest off, "" where there is but one."""
    told = []
    for kind, name in (("partition", "partition {}"), ("size", "{}")):
        groups = [one for answer in found.answers for one in answer.groups.get(kind, ())]
        if len({one.name for one in groups}) > 1:
            worst = max(groups, key=lambda one: abs(one.seen - one.said))
            shown = name.format(clean(worst.name, 40))
            told.append(f"{shown} {points(worst.seen - worst.said)}")
    return f"; worst: {', '.join(told)} points" if told else ""


def facts(found: PromiseStudy) -> tuple[Fact, ...]:
    """Return the numbers that matter most, by question."""
    made: list[Fact] = []
    for one in found.answers:
        label, scores = {"question": one.question}, one.scores
        about = f"{ASKS[one.question].lower()}"
        worst = scores.worst
        assumes = "jobs arrive as they did; promises do not change them"
        made += [
            Fact(
                "promise_worst_decile",
                f"worst calibration error of a decile ({about})",
                None if worst is None else abs(worst.off),
                "ratio",
                scores.made,
                assumes,
                labels=label,
                why="" if worst else f"no decile has {LEAST} promises",
            ),
            _figure("promises", f"promises kept or missed ({about})", scores.made, "count", one),
            _figure("promise_qos", f"quality of service ({about})", scores.qos, "ratio", one),
        ]
        if one.sharp.count:
            text = f"deadline over run time, half of the promises ({about})"
            middle = one.sharp.times_run[1]
            made.append(_figure("promise_deadline_per_run", text, middle, "count", one))
    return tuple(made)


def _figure(key: str, label: str, value: float, unit: str, answer: Answer) -> Fact:
    told = None if isinstance(value, float) and not math.isfinite(value) else value
    return Fact(
        key, label, told, unit, answer.scores.made, labels={"question": answer.question},
        why="" if told is not None else "no work is known",
    )  # fmt: skip


def series(found: PromiseStudy) -> tuple[Fact, ...]:
    """Return what the tables show: kept share and said probability of each decile."""
    made = []
    for answer in found.answers:
        for one in answer.scores.deciles:
            if not one.made:
                continue
            where = band(one.low, one.high)
            labels = {"question": answer.question, "decile": where}
            low, high = interval(one)
            made += [
                Fact(
                    "promise_kept", f"share kept: {where}", one.seen, "ratio", one.made,
                    low=low, high=high, level=found.asked.level, labels=labels,
                ),
                Fact(
                    "promise_said", f"stated probability: {where}", one.said, "ratio", one.made,
                    labels=labels,
                ),
            ]  # fmt: skip
    return tuple(made)


def tables(found: PromiseStudy) -> tuple[Table, ...]:
    """Return all tables, those of a question together."""
    made: list[Table] = (
        [yardsticks_table(found.learned.yardsticks)] if found.learned.yardsticks else []
    )
    for one in found.answers:
        made += [deciles_table(one), others_table(one), misses_table(one), groups_table(one)]
    return tuple(table for table in made if table.rows)


def _seen_ends(row: Mapping[str, Any]) -> str:
    low, high = row["seen_low"], row["seen_high"]
    return "-" if low is None or high is None else f"{100 * low:.1f}-{100 * high:.1f}"


DECILES: Final[tuple[Column, ...]] = (
    ("Decile", lambda row: band(row["low"], row["high"])),
    ("Made", "made", number),
    ("Kept", "kept", number),
    ("Stated", "said", percent),
    ("Observed", "seen", percent),
    ("Off", "off", points),
    ("Interval %", _seen_ends),
    ("Agrees", "agrees", {"yes": "yes", "no": "NO", "too few": "too few"}.__getitem__),
    ("Before", "off_before_correction", points),
    ("Times run", "deadline_per_run_median", times),
)


OTHERS: Final[tuple[Column, ...]] = (
    ("Predictor", "predictor", str),
    ("Made", "made", number),
    ("Worst", "worst_off", or_dash(points)),
    ("Brier", "brier", digits),
    ("Reliability", "reliability", digits),
    ("Resolution", "resolution", digits),
    ("QoS", "qos", percent),
    ("Times run", "deadline_per_run_median", or_dash(times)),
)


VOID_OR_OPEN: Final[Mapping[str, str]] = {
    "void": "void: canceled by the user",
    "open": "not known yet",
}
MISSES: Final[tuple[Column, ...]] = (
    ("Cause", "cause", lambda cause: str(VOID_OR_OPEN.get(cause, cause))),
    ("Promises", "missed", number),
    ("Of those missed", "share", or_dash(percent)),
)


GROUPS: Final[tuple[Column, ...]] = (
    ("Of", "kind", str),
    ("Group", "group", lambda name: clean(name, 40)),
    ("Made", "made", number),
    ("Stated", "said", percent),
    ("Observed", "seen", percent),
    ("Off", "off", points),
    ("Worst decile", "worst_decile", lambda off: "-" if math.isnan(off) else f"{100 * off:.1f}"),
)


def deciles_table(answer: Answer) -> Table:
    """Return the deciles: said and kept, whether they agree, before correction, how far."""
    records = []
    for k, one in enumerate(answer.scores.deciles):
        if not one.made:
            continue
        before, sharp = answer.before.deciles[k], answer.sharp_by[k]
        low, high = interval(one)
        records.append(
            {
                "low": one.low, "high": one.high, "made": one.made, "kept": one.kept,
                "said": one.said, "seen": one.seen, "off": one.off,
                "seen_low": low, "seen_high": high,
                "seen_low_if_independent": one.low_seen, "seen_high_if_independent": one.high_seen,
                "agrees": one.verdict, "off_before_correction": before.off,
                "made_before_correction": before.made,
                "deadline_per_run_quarter": sharp.times_run[0],
                "deadline_per_run_median": sharp.times_run[1],
                "deadline_per_run_three_quarters": sharp.times_run[2],
                "deadline_per_turnaround_median": sharp.times_known[1],
            }
        )  # fmt: skip
    note = (
        "Off: observed minus stated share, in points. Interval: of the observed share, with "
        "the promises of a week taken together. Agrees: within 3 points, with 200 promises or "
        "more. Before: off, without correction. Times run: the deadline as a multiple of the "
        "run time, the median."
    )
    return Table.by(
        f"{answer.question}_deciles", DECILES, records, note=note, right=(1, 2, 3, 4, 5, 6, 8, 9),
        title=f"{ASKS[answer.question]}: stated and observed shares",
    )  # fmt: skip


def others_table(answer: Answer) -> Table:
    """Return the book beside those that ran in its shadow."""
    entries: list[tuple[str, PromiseScores, Any]] = [
        ("corrected (stated)", answer.scores, answer.sharp)
    ]
    entries += [(one.name, one.scores, one.sharp) for one in answer.others]
    entries += [
        ("corrected, void as missed", answer.void_missed, None),
        ("corrected, void as kept", answer.void_kept, None),
    ][: 2 if answer.void else 0]
    records, agree = [], {}
    for name, scores, sharp in entries:
        worst = scores.worst
        good = sum(one.verdict == "yes" for one in scores.judged)
        agree[name] = _agreeing(good, scores)
        records.append(
            {
                "predictor": name, "made": scores.made, "kept": scores.kept,
                "worst_off": None if worst is None else worst.off, "deciles_that_agree": good,
                "deciles_judged": len(scores.judged), "brier": scores.brier,
                "reliability": scores.reliability, "resolution": scores.resolution,
                "uncertainty": scores.uncertainty, "qos": scores.qos,
                "deadline_per_run_median": None if sharp is None else sharp.times_run[1],
                "deadline_per_turnaround_median": None if sharp is None else sharp.times_known[1],
            }
        )  # fmt: skip
    note = (
        "Worst: the decile that is farthest off, in points. Agree: deciles that agree, and "
        "those with fewer than 200 promises. QoS: work promised and done in time, weighted by "
        "the promise, over all work. The Brier score rewards promises that are sharp and hold; "
        "promises that are miscalibrated can still have a good one."
    )
    columns = (*OTHERS[:3], ("Agree", "predictor", agree.__getitem__), *OTHERS[3:])
    return Table.by(
        f"{answer.question}_predictors", columns, records, note=note, right=(1, 2, 4, 5, 6, 7, 8),
        title=f"{ASKS[answer.question]}: compared with other predictors on the same jobs",
    )  # fmt: skip


def _agreeing(good: int, scores: PromiseScores) -> str:
    few = sum(one.made > 0 for one in scores.deciles) - len(scores.judged)
    return f"{good} of {len(scores.judged)}" + (f", {few} too few" if few else "")


def misses_table(answer: Answer) -> Table:
    """Return why promises were missed."""
    missed = answer.scores.made - answer.scores.kept
    records: list[dict[str, Any]] = [
        {"cause": name, "missed": count, "share": count / missed}
        for name, count in answer.missed.items()
        if count
    ]
    left = (("void", answer.void), ("open", answer.open))
    records += [{"cause": name, "missed": count, "share": None} for name, count in left if count]
    return Table.by(
        f"{answer.question}_misses",
        MISSES,
        records,
        title=f"{ASKS[answer.question]}: why they were missed",
        note="Longer run, longer wait: whichever exceeded its quantile by more.",
    )


def groups_table(answer: Answer) -> Table:
    """Return the groups whose promises are farthest off, of each kind."""
    records = [
        {"kind": kind, "group": one.name, "made": one.made, "said": one.said, "seen": one.seen,
         "off": one.seen - one.said, "worst_decile": one.worst}
        for kind, groups in answer.groups.items()
        if len(groups) >= 2
        for one in sorted(groups, key=lambda one: -abs(one.seen - one.said))[:WORST]
    ]  # fmt: skip
    return Table.by(
        f"{answer.question}_groups", GROUPS, records, right=(2, 3, 4, 5, 6),
        title=f"{ASKS[answer.question]}: groups of 200 or more promises that are farthest off",
        note="Promises hold over all jobs in time order; nothing is guaranteed for a single group.",
    )  # fmt: skip


def figures(found: PromiseStudy) -> tuple[Figure, ...]:
    """Return the figures: reliability and sharpness."""
    made = []
    for one in found.answers:
        worst = one.scores.worst
        what = ASKS[one.question].lower()
        told = "" if worst is None else f" The worst decile is off by {points(worst.off)} points."
        made.append(
            Figure(
                f"promises_{one.question}",
                partial(draw.reliability, one, ASKS[one.question]),
                f"Share of promises kept over the stated probability, {what}.",
                "On the diagonal the observed share equals the stated one; bars are intervals, "
                f"with the promises of a week taken together.{told}",
            )
        )
    answers = [one for one in found.answers if one.question == "deadline" and one.sharp.count]
    if answers:
        made.append(
            Figure(
                "promises_sharpness",
                partial(draw.sharpness, answers[0]),
                "Distance of deadlines in run times, by stated probability.",
                "Quartiles of deadline over run time, and over wait plus run time, the "
                "deadline of someone who knew the future.",
            )
        )
    return tuple(made)


def notes(found: PromiseStudy) -> tuple[str, ...]:
    """Return the rules."""
    told = [
        "Each job asks at its submission, in time order; only what was known by then is used: "
        "waits of jobs that had started, run times of jobs that had ended, known outcomes.",
        "The promise is that a job is done by a given time. Kept: it reached its own end by "
        "then (completed, failed by itself, out of time or memory). Canceled by its user "
        "before: void, not scored. Stopped by the system and not run again in time: missed.",
        "Requested probabilities are spread evenly over 1 % to 99 %, and named deadlines over "
        "the latest turnarounds of all jobs, so that every decile is tested.",
        "Where stated and observed shares agree, they do so over all jobs in time order: the "
        "calibration debt of a decile, stated probabilities minus promises kept, is corrected "
        "by later promises.",
        "Promises to the jobs of one burst are kept or missed together, before anything is "
        "known of any of them: if one burst makes up more than about 3 % of a decile, no rule "
        "can keep stated and observed shares within 3 points, and the verdict says so.",
        "A deadline is at least a second after the submission; if that alone has a higher "
        "probability than was asked for, the higher one is stated.",
    ]
    told += _moved(found)
    if not found.waits:
        told.append("Waits were not recorded: promises here are about run times only.")
    if found.left_out:
        told.append(
            f"Left out: {counted(found.left_out, 'jobs')} that ended by themselves without a start."
        )
    return tuple(told)


def _moved(found: PromiseStudy) -> list[str]:
    """Return a sentence on how far what was said lay from what was believed."""
    told = []
    for one in found.answers:
        if math.isfinite(one.moved):
            far = f"{100 * one.moved:.1f} points on average ({100 * one.moved_most:.0f} at most)"
            told.append(
                f"deadlines were computed for a probability that differed by {far} from the "
                "stated one"
                if one.question == "deadline"
                else f"stated probabilities of named deadlines differed by {far} from the raw ones"
            )
    start = "Agreement is partly by construction, because later promises correct for earlier ones"
    return [f"{start}: {'; '.join(told)}."] if told else []


def untold(found: PromiseStudy) -> tuple[Untold, ...]:
    """Return what could not be told."""
    what = [
        Untold(
            f"Whether {ASKS[one.question].lower()} hold",
            f"no decile has {LEAST} promises",
            f"about {_missing(one)} more promises after the warm-up",
        )
        for one in found.answers
        if one.scores.worst is None
    ]
    if not found.waits:
        why = "every job starts when it is submitted: waits were not recorded"
        what.append(Untold("Promises on waiting times", why, "records with submit and start"))
    return tuple(what)
