"""A replay of a ledger as a report."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from forestall.core.kit.study_folder import StudyFolder, table_of
from forestall.core.model.live.intents import Role
from forestall.core.show.blocks import Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact
from forestall.core.show.quantities import counted, percent
from forestall.core.show.report import Report, Section
from forestall.live.replays.guarded import UNKNOWN, GuardedAgain, GuardWord, JudgedAgain
from forestall.live.replays.other import JobPlacedOtherwise, OtherPlayed, SaidOtherwise
from forestall.live.replays.recorded import RecordedPromise
from forestall.live.report.moments import MOST, moment, of_all
from forestall.live.report.promises import JudgedProbabilities, judged
from forestall.live.report.rules import drain_row, rules_section
from forestall.live.report.study import LedgerReplayed

if TYPE_CHECKING:
    import polars as pl

WORLD: Final = (
    "The engine receives what was recorded: jobs ran where they ran, nodes failed when they "
    "failed. With other decisions the cluster would have behaved differently, so the outcome "
    "of a promise under them is unknown; each promise is judged by its real outcome."
)
NO_LOOKS: Final = (
    "A ledger does not hold the cluster's state. Not decided again: actions for promises at "
    f"risk, and the guard's reasons: {'; '.join(UNKNOWN)}. Intents that were refused for these "
    "stay refused."
)


def report(found: LedgerReplayed) -> Report:
    """Return a replay as a report."""
    sections = [decisions_section(found), promises_section(found)]
    if found.other is not None:
        sections.append(engine_section(found, found.other))
    if found.guarded is not None:
        sections.append(guard_section(found.guarded))
    if found.ruled is not None:
        sections.append(rules_section(found.ruled))
    again = found.again
    window = f"{moment(again.begin)} to {moment(again.end)}" if again.cycles else "no cycles yet"
    asked = found.asked
    chosen = {
        "predictor": asked.predictor, "wanted": asked.wanted, "guard": asked.guard,
        "rules": asked.rules,
    }  # fmt: skip
    return Report(
        title="Replay of a ledger",
        headline=f"{found.name}: {counted(again.cycles, 'cycles')}, {window}",
        sections=tuple(sections),
        verdict=tuple(part.lead for part in sections if part.lead),
        top=tuple(fact for part in sections for fact in part.facts[:1]),
        sources=(found.name,),
        parameters={name: str(value) for name, value in chosen.items() if value is not None},
    )


def verdict(found: LedgerReplayed) -> str:
    """Say whether decisions are the same."""
    again = found.again
    count = sum(again.decisions.values())
    if not again.cycles:
        return "The ledger has no cycles yet."
    if again.first is None:
        also = f", but {found.unlike[0]}" if found.unlike else ""
        return (
            f"{counted(count, 'decisions')} in {counted(again.cycles, 'cycles')}, every byte the "
            f"same{also}."
        )
    first = again.first
    return (
        f"Decisions differ in {again.different:,} of {counted(again.cycles, 'cycles')}, first in "
        f"cycle {first.cycle} of run {first.run} at {moment(first.at)} UTC: its decision "
        f"{first.place + 1}."
    )


def decisions_section(found: LedgerReplayed) -> Section:
    """Return what was played, and where it differs first."""
    again = found.again
    events, count = sum(again.events.values()), sum(again.decisions.values())
    facts = (
        Fact("decisions", "Decisions compared", count, "count"),
        Fact("cycles", "Cycles", again.cycles, "count"),
        Fact("runs", "Starts of the engine", again.runs, "count"),
        Fact("events", "Events", events, "count"),
        Fact("different", "Cycles that differ", again.different, "count"),
    )
    rows = [
        (what, kind.replace("_", " "), f"{n:,}")
        for what, kinds in (("event", again.events), ("decision", again.decisions))
        for kind, n in sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
    ]
    body = [Table.of("kinds", ("", "Kind", "Number"), rows, right=(2,))] if rows else []
    if again.first is not None:
        lines = (("recorded", again.first.recorded), ("replayed", again.first.replayed))
        told = [(name, "(nothing)" if line is None else line) for name, line in lines]
        body.insert(0, Table.of("difference", ("", "Decision"), told, right=()))
    return Section("decisions", "Decisions", verdict(found), facts, tuple(body))


def promises_section(found: LedgerReplayed) -> Section:
    """Return what became of promises, by what was said."""
    became = [None if one.outcome is None else one.outcome.outcome for one in found.promises]
    known = judged((one.promise.probability, one.kept) for one in found.promises
                   if one.kept is not None)  # fmt: skip
    lead = ""
    if found.promises:
        lead = (
            f"{counted(len(became), 'promises')}: {became.count('kept'):,} kept, "
            f"{became.count('missed'):,} missed, {became.count('void'):,} void, "
            f"{became.count(None):,} open."
        )
    facts = [Fact("promises", "Promises", len(became), "count")]
    if known.count:
        facts.append(Fact("kept", "Kept, of those kept or missed", known.kept / known.count,
                          "ratio", known.count))  # fmt: skip
    body = (decile_table("deciles", known),) if known.count else ()
    return Section("promises", "Promises", lead, tuple(facts), body)


def decile_table(key: str, known: JudgedProbabilities, caption: str = "") -> Table:
    """Return said and kept by decile."""
    rows = [
        (
            f"{100 * one['from']:.0f} to {100 * one['to']:.0f} %", f"{one['promises']:,}",
            percent(one["said_mean"]), f"{one['kept']:,}", percent(one["kept_share"]),
        )
        for one in known.rows
    ]  # fmt: skip
    heads = ("Decile", "Promises", "Mean stated", "Kept", "Kept share")
    return Table.of(key, heads, rows, known.rows, caption=caption)


def engine_section(found: LedgerReplayed, other: OtherPlayed) -> Section:
    """Return what another rule or predictor would have decided and said."""
    changed = [one for one in other.said if one.changed]
    none = sum(one.other is None for one in changed)
    was, would = found.probabilities
    lead = (
        f"Different decisions in {other.different:,} of {counted(other.again.cycles, 'cycles')}; "
        f"{len(other.placed):,} of {counted(other.jobs, 'jobs')} first placed differently; "
        f"{len(changed):,} of {counted(len(other.said), 'promises')} with a different probability"
        + (f", {none:,} of them not made." if none else ".")
    )
    facts = [
        Fact("cycles_otherwise", "Cycles with different decisions", other.different, "count"),
        Fact("placed_otherwise", "Jobs first placed differently", len(other.placed), "jobs"),
        Fact("said_otherwise", "Promises with a different probability", len(changed), "count"),
    ]
    if was.count:
        facts += [
            Fact("brier_was", "Brier score, as recorded", was.brier, "number", was.count),
            Fact("brier_other", "Brier score, what if", would.brier, "number", would.count),
        ]
    body = [part for part in (_scores(was, would), _placed(other), _said(changed)) if part]
    return Section("engine", "With another rule or predictor", lead, tuple(facts), tuple(body),
                   notes=(WORLD,))  # fmt: skip


def _scores(was: JudgedProbabilities, would: JudgedProbabilities) -> Table | None:
    if not was.count:
        return None
    records = [{"engine": name, **one.as_dict()} for name, one in
               (("as recorded", was), ("otherwise", would))]  # fmt: skip
    rows = [
        (name, f"{one.count:,}", percent(one.said), percent(one.kept / one.count),
         f"{one.brier:.4f}", f"{one.spread:.4f}")
        for name, one in (("as recorded", was), ("otherwise", would))
    ]  # fmt: skip
    heads = ("Engine", "Settled", "Mean stated", "Kept", "Brier", "Spread")
    note = "Brier: lower is better. Spread of the probabilities: wider is sharper."
    return Table.of("scores", heads, rows, [_flat(one) for one in records], note=note)


def _flat(one: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if not isinstance(value, list)}


def _placed(other: OtherPlayed) -> Table | None:
    rows = [
        (str(one.cycle), moment(one.at), str(one.job), _place(one.was), _place(one.other))
        for one in other.placed[:MOST]
    ]
    records = [placed_row(one) for one in other.placed[:MOST]]
    heads = ("Cycle", "When (UTC)", "Job", "Placed", "Otherwise")
    caption = f"Jobs first placed differently: {of_all(len(rows), len(other.placed))}"
    return Table.of("placed", heads, rows, records, right=(0,), caption=caption) if rows else None


def _place(one: Any) -> str:
    """Return a reservation in few words: when it starts, on which nodes."""
    if one is None:
        return "not placed"
    nodes = str(one.get("nodes", ""))
    nodes = nodes if len(nodes) <= 12 else nodes[:10] + ".."
    return f"{moment(one['start'])[11:]} on {nodes}"


def _said(changed: list[SaidOtherwise]) -> Table | None:
    rows = [
        (
            one.promise.promise.id, moment(one.promise.offer.at),
            moment(one.promise.promise.deadline), _chance(one.was), _chance(one.other),
            _became(one.promise),
        )
        for one in changed[:MOST]
    ]  # fmt: skip
    records = [said_row(one) for one in changed[:MOST]]
    heads = ("Promise", "Asked (UTC)", "Deadline (UTC)", "Stated", "What if", "Outcome")
    caption = f"Promises with a different probability: {of_all(len(rows), len(changed))}"
    return Table.of("said", heads, rows, records, right=(3, 4), caption=caption) if rows else None


def _became(one: RecordedPromise) -> str:
    return "open" if one.outcome is None else str(one.outcome.outcome)


def _chance(value: float | None) -> str:
    return "none" if value is None or math.isnan(value) else f"{100 * value:.1f} %"


def guard_section(guarded: GuardedAgain) -> Section:
    """Return what other limits would have let pass."""
    changed = guarded.changed
    lead = (
        f"{len(changed):,} of {counted(len(guarded.judged), 'intents')} decided differently "
        f"under these limits; {guarded.unknown:,} refused for reasons that a ledger does not "
        "hold."
    )
    words = list(GuardWord)
    rows = []
    for role in (Role.KEEPER, Role.WARDEN):
        for name, told in zip(("as recorded", "otherwise"), guarded.counts(role), strict=True):
            rows.append((str(role), name, *(f"{told[word]:,}" for word in words)))
    counts = Table.of("guarded", ("Role", "", *map(str, words)), rows, right=range(2, 6))
    body = [counts, *([_changed(guarded)] if changed else [])]
    fact = Fact("judged_otherwise", "Intents decided differently", len(changed), "count")
    return Section("guard", "With other limits", lead, (fact,), tuple(body), notes=(NO_LOOKS,))


def _changed(guarded: GuardedAgain) -> Table:
    shown = guarded.changed[:MOST]
    rows = [
        (moment(one.at), str(one.intent.action), clean(one.intent.target, 18), str(one.was),
         clean(f"{one.other}: {one.why}" if one.why else str(one.other), 200))
        for one in shown
    ]  # fmt: skip
    records = [judged_row(one) for one in shown]
    heads = ("When (UTC)", "Action", "Target", "Was", "Otherwise")
    caption = f"Intents decided differently: {of_all(len(shown), len(guarded.changed))}"
    return Table.of("judged", heads, rows, records, right=(), caption=caption)


def tables(found: LedgerReplayed) -> list[pl.DataFrame | None]:
    """Return what differs, all of it."""
    other, guarded = found.other, found.guarded
    placed = () if other is None else map(placed_row, other.placed)
    said = () if other is None else map(said_row, other.said)
    judged_again = () if guarded is None else map(judged_row, guarded.judged)
    drains = () if found.ruled is None else map(drain_row, found.ruled.drains)
    return [_table(one) for one in (placed, said, judged_again, drains)]


def placed_row(one: JobPlacedOtherwise) -> dict[str, Any]:
    """Return a job that would have been placed otherwise as plain values."""
    parts = ("start", "nodes", "probability")
    told: dict[str, Any] = {"cycle": one.cycle, "at_s": one.at, "job": one.job}
    for name, place in (("was", one.was), ("other", one.other)):
        told |= {f"{name}_{part}": None if place is None else place.get(part) for part in parts}
    return told


def said_row(one: SaidOtherwise) -> dict[str, Any]:
    """Return what would have been said of a promise as plain values."""
    offer, promise = one.promise.offer, one.promise.promise
    return {
        "promise": promise.id, "at_s": offer.at, "deadline_s": promise.deadline, "was": one.was,
        "other": one.other, "outcome": _became(one.promise),
    }  # fmt: skip


def judged_row(one: JudgedAgain) -> dict[str, Any]:
    """Return an intent that was judged again as plain values."""
    return {
        "at_s": one.at, "intent": one.intent.id, "action": str(one.intent.action),
        "target": one.intent.target, "was": str(one.was), "other": str(one.other), "why": one.why,
    }  # fmt: skip


def _table(rows: Iterable[dict[str, Any]]) -> pl.DataFrame | None:
    listed = list(rows)
    return table_of(listed) if listed else None


FOLDER: Final = StudyFolder[LedgerReplayed](
    keys=("ledger", "cycles_that_differ"),
    tables=("placed.csv", "said.csv", "intents.csv", "drains.csv"),
    figures=(),
    report=report,
    rows=tables,
)
