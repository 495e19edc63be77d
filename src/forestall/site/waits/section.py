"""The section on learned waits: scores beside all yardsticks, and how far they can be trusted."""

from __future__ import annotations

import math
from typing import Any, Final

from forestall.core.show.blocks import Column, Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.quantities import counted, number, percent
from forestall.core.show.report import Section
from forestall.site.waits.scores import SHARES, SOON, WaitScores
from forestall.site.waits.study import TODAY, WaitAnswersScored, WaitBacktest

KEY: Final = "waits"
TITLE: Final = "What answers on waits would have been worth"
KINDS: Final = {
    "submission": "How long a job waits, asked at its submission",
    "waiting": "How long a job still waits, asked while it waits",
}
HELD: Final = (0.87, 0.93)
"""Between these, 90 % intervals hold as stated."""
MOST: Final = 8
"""Groups of each kind in the table."""
NOTES: Final = (
    "Waits count from when a job could first start. Each answer uses only what was known in its "
    "second. A wait of 0 s counts as 1 s: errors are of log10 of 1 + wait in seconds. Error: the "
    "mean square. In 2, in 3: percent of answers within 2 and 3 times of 1 + wait.",
    "Pinball: mean loss over 23 levels, natural logarithms. 50 %, 80 %, 90 %: percent of such "
    "intervals that held; one that begins at 0 has all of its misses above. 1 min, 1 h: Brier "
    "scores of the chance to start within that time.",
    "While a job waits: each job is asked about once if it still waits at an age that is drawn "
    "for it, 30 s to 11 days, evenly in logarithms.",
)


def _figure(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"


def _share(value: float) -> str:
    return f"{100 * value:.1f}" if math.isfinite(value) else "-"


SCORES: Final[tuple[Column, ...]] = (
    ("Answers", "answer", str),
    ("Jobs", "answers", number),
    ("Error", "error_log10_squared", _figure),
    ("In 2", "within_2_ratio", _share),
    ("In 3", "within_3_ratio", _share),
    ("Pinball", "pinball_log", _figure),
    *((f"{100 * share:.0f} %", f"held_{100 * share:.0f}_ratio", _share) for share in SHARES),
    ("1 min", "brier_60_s", _figure),
    ("1 h", "brier_3600_s", _figure),
)
GROUPS: Final[tuple[Column, ...]] = (
    ("By", "kind", str),
    ("Group", "group", lambda text: clean(text, 30)),
    ("Jobs", "answers", number),
    ("Error", "error_log10_squared", _figure),
    ("Like jobs", "error_like_jobs", _figure),
    ("In 2 %", "within_2_ratio", _share),
    ("90 % held", "held_90_ratio", _share),
)


def _score_record(one: WaitScores) -> dict[str, Any]:
    return {
        "answer": one.name,
        "answers": one.answers,
        "error_log10_squared": one.error,
        "error_log10_squared_interval": one.error_error,
        "within_2_ratio": one.twice,
        "within_3_ratio": one.thrice,
        "pinball_log": one.pinball,
        **{f"held_{100 * s:.0f}_ratio": h for s, h in zip(SHARES, one.held, strict=True)},
        **{f"brier_{time}_s": b for time, b in zip((0, *SOON), one.brier, strict=True)},
    }


def section(found: WaitBacktest) -> Section:
    """Return the section."""
    if found.why:
        untold = (Untold(TITLE, found.why, found.remedy),)
        return Section(KEY, TITLE, f"Waits cannot be scored: {found.why}.", untold=untold)
    facts: list[Fact] = []
    tables: list[Table] = []
    for one in found.scored:
        labels, ours = {"asked": one.kind}, one.ours
        facts += [
            Fact("wait_error", f"Squared error of log10 of waits, {KINDS[one.kind].lower()}",
                 ours.error, "number", ours.answers, labels=labels),
            Fact("wait_90_held", "Share of 90 % intervals that held", ours.held[-1], "ratio",
                 ours.answers, labels=labels),
            Fact("wait_within_2", "Share of medians within 2 times of the wait", ours.twice,
                 "ratio", ours.answers, labels=labels),
        ]  # fmt: skip
        tables += [table_of(one), *_groups(one)]
    lead = " ".join(trust(one) for one in found.scored)
    return Section(KEY, TITLE, lead, tuple(facts), tuple(tables), notes=NOTES)


def table_of(one: WaitAnswersScored) -> Table:
    """Return the scores of answers of a kind, ours first."""
    return Table.by(
        f"waits_{one.kind}", SCORES, map(_score_record, one.scores), title=KINDS[one.kind],
        right=tuple(range(1, len(SCORES))),
    )  # fmt: skip


def _groups(one: WaitAnswersScored) -> list[Table]:
    seen: dict[str, int] = {}
    records = []
    for group in one.groups:
        seen[group.kind] = seen.get(group.kind, 0) + 1
        if seen[group.kind] <= MOST:
            records.append({
                "kind": group.kind, "group": group.name, "answers": group.answers,
                "error_log10_squared": group.error, "error_like_jobs": group.error_alike,
                "within_2_ratio": group.twice, "held_90_ratio": group.held,
            })  # fmt: skip
    if not records:
        return []
    title = "The same by age" if one.kind == "waiting" else "The same by partition and size"
    return [
        Table.by(f"waits_{one.kind}_groups", GROUPS, records, title=title, right=(2, 3, 4, 5, 6))
    ]


def trust(one: WaitAnswersScored) -> str:
    """Return in words how far answers of a kind can be trusted."""
    ours, today = one.ours, one.named(TODAY)
    low, high = HELD
    when = "At submission" if one.kind == "submission" else "While a job waits"
    held = ours.held[-1]
    if held < low:
        rule = f"too narrow, take them for {percent(held)} intervals"
    else:
        rule = "as stated" if held <= high else "wider than they need to be"
    noise = one.above_error if math.isfinite(one.above_error) else 0.0
    if one.above > noise:
        beside = f"worse than {one.best}, by {one.above:.3f}"
    elif one.above < -noise:
        beside = f"better than the best yardstick ({one.best}), by {-one.above:.3f}"
    else:
        beside = f"as good as the best yardstick ({one.best})"
    change = 1 - ours.error / today.error if today.error > 0 else 0.0
    word = "below" if change >= 0 else "above"
    return (
        f"{when}: {percent(ours.twice)} of {counted(ours.answers, 'median waits')} are within "
        f"2 times of the true wait, {percent(ours.thrice)} within 3 times; "
        f"{percent(held)} of 90 % intervals held ({rule}). The squared error of log10, "
        f"{ours.error:.3f}, is {percent(abs(change))} {word} that of like jobs' median, and "
        f"{beside}."
    )
