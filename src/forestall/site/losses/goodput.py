"""The section on goodput: what share of jobs' time did lasting work, and what took the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from forestall.core.show.blocks import Column, Table
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.quantities import counted, number, percent
from forestall.core.show.report import Section
from forestall.core.streams import stream
from forestall.prediction.assess.goodput import SHARES, TOLD, Assumed, goodput
from forestall.site.losses.amounts import (
    HOUR,
    NONE,
    ends_of,
    every,
    hours,
    share_interval,
    value_of,
    with_interval,
)
from forestall.site.shared import how_ended
from forestall.slurm.records.run_ends import tells_interruptions

if TYPE_CHECKING:
    from forestall.prediction.assess.goodput import Goodput
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

KEY: Final = "goodput"
TITLE: Final = "Goodput, and what took the rest"
_INTERRUPTED: Final = (
    "wasted_progress_from_disruption",
    "infrastructure_recovery_from_disruption",
)
_COARSE: Final = "the records do not distinguish a node failure from a job failure"


def section(site: SiteRecords, asked: Asked) -> Section:
    """Return the section; see `forestall.prediction.assess.goodput` for how it is counted."""
    records = site.accounting
    if records is None:
        return _nothing("no accounting of jobs was given", "sacct's records of jobs")
    found = goodput(
        records,
        assumed_of(asked),
        stream(asked.seed, "books", "goodput"),
        window=(asked.begin, asked.until),
        level=asked.level,
        ends=how_ended(site),
    )
    if not found.whole:
        if found.unknown_runs:
            return _nothing("no run's record says how it ended", "final states of jobs")
        return _nothing("no run took any node-hours", "runs of jobs with their nodes")
    told = tells_interruptions(records)
    if not told and found.bare.value == 1 and not found.unknown_runs:
        why = "every run in the records completed, so those that did not may have been left out"
        return _nothing(why, "records of all runs, however they ended")
    return Section(
        KEY,
        TITLE,
        _lead(found, asked),
        facts=_figures(found, asked),
        series=_series(found, asked, told),
        body=(_table(found, told),),
        notes=_notes(found),
        untold=_untold(found, told),
    )


def assumed_of(asked: Asked) -> Assumed:
    """Return the checkpoints that jobs are taken to make."""
    return Assumed(asked.checkpoint_interval, asked.checkpoint_cost, asked.restart)


def assuming(assumed: Assumed) -> str:
    """Return what is assumed of checkpoints, as a sentence."""
    return (
        f"Each job writes a checkpoint after every {every(assumed.interval)} of work, which "
        f"takes {every(assumed.cost)}; a restart takes {every(assumed.restart)}."
    )


def _nothing(why: str, remedy: str) -> Section:
    text = f"Goodput is unknown: {why}."
    return Section(KEY, TITLE, text, untold=(Untold("Goodput", why, remedy),))


def _lead(found: Goodput, asked: Asked) -> str:
    text = (
        f"{with_interval(found.share['total'], asked.level)} of the node-hours of "
        f"{counted(found.runs, 'runs')} went into lasting work, if each job writes a checkpoint "
        f"every {every(found.assumed.interval)}; {percent(found.bare.value)} if none does."
    )
    parts = {name: found.share[name].value for name in TOLD if name != "total"}
    worst = max(parts, key=lambda name: parts[name])
    if parts[worst] > 0:
        label = next(share.label for share in SHARES if share.name == worst)
        text += f" Most of the rest: {label} ({percent(parts[worst])})."
    return text


def _figures(found: Goodput, asked: Asked) -> tuple[Fact, ...]:
    return (
        Fact(
            "goodput", "goodput", unit="ratio", records=found.runs,
            assumes=assuming(found.assumed), labels={"bound": "checkpoints"},
            **value_of(found.share["total"], asked.level),
        ),
        Fact(
            "goodput", "goodput without checkpoints", unit="ratio", records=found.runs,
            assumes="No job keeps anything of a run that did not complete.",
            labels={"bound": "no_checkpoints"}, **value_of(found.bare, asked.level),
        ),
    )  # fmt: skip


def _why(name: str, told: bool) -> str:
    """Return why accounting cannot tell this kind of time; "" where it can."""
    if name in _INTERRUPTED and not told:
        return _COARSE
    return next(share.why for share in SHARES if share.name == name)


def _series(found: Goodput, asked: Asked, told: bool) -> tuple[Fact, ...]:
    made = []
    for share in SHARES[1:]:
        why = _why(share.name, told)
        labels = {"type": share.name}
        units = found.node_seconds[share.name]
        if why or units is None:
            made.append(
                Fact("badput", share.label, None, "ratio", found.runs, labels=labels, why=why)
            )
            continue
        made.append(
            Fact("badput", share.label, unit="ratio", records=found.runs, assumes=share.rule,
                 labels=labels, **value_of(found.share[share.name], asked.level))
        )  # fmt: skip
        made.append(
            Fact("badput_time", share.label, units / HOUR, "node_hours", found.runs, share.rule,
                 labels=labels)
        )  # fmt: skip
    return tuple(made)


def _table(found: Goodput, told: bool) -> Table:
    records = []
    for share in sorted(SHARES, key=lambda one: _place(one.name, found, told)):
        why, units = _why(share.name, told), found.node_seconds[share.name]
        row: dict[str, object] = {"type": share.name, "label": share.label, "rule": share.rule}
        if why or units is None:
            row |= {"node_hours": None, "share": None, "why": why}
        else:
            row |= {"node_hours": units / HOUR} | ends_of(found.share[share.name], "share")
        records.append(row)
    note = (
        "Names as in Google's goodput library (ml-goodput-measurement), without the parts that "
        "only a program itself can log."
    )
    title = f"Where {hours(found.whole)} node-hours of jobs went"
    return Table.by("goodput", COLUMNS, records, title=title, note=note, right=(1, 2))


def _place(name: str, found: Goodput, told: bool) -> tuple[int, int]:
    """Return where a kind of time stands in the table: productive time first, what took most of the
    rest next, what is not told last."""
    units = found.node_seconds[name]
    if units is None or _why(name, told):
        return 2, 0
    return (0, 0) if name == "total" else (1, -units)


def _notes(found: Goodput) -> tuple[str, ...]:
    notes = [f"{assuming(found.assumed)} These are assumptions: accounting does not record them."]
    notes += [
        f"{share.label[0].upper()}{share.label[1:]}: {share.rule}."
        for share in SHARES
        if share.rule
    ]
    notes.append(
        "Time since the last checkpoint: on average half of the interval and the cost together; "
        "all of a run shorter than these."
    )
    notes.append(
        "Waits for a restart count with the nodes that the job had, although others may have "
        f"used them; there were {counted(found.restarts, 'such waits')}. The parts add up "
        "exactly."
    )
    notes.append(
        f"Intervals: bootstrap over whole {found.blocks.word}s ({found.blocks.count:,} of "
        f"them); none is given for fewer than 4 {found.blocks.word}s."
    )
    return tuple(notes)


def _untold(found: Goodput, told: bool) -> tuple[Untold, ...]:
    inside = [share.label for share in SHARES if share.why]
    entries = [
        Untold(
            "Parts of goodput inside jobs",
            f"accounting does not see what a program does ({', '.join(inside)})",
            "logs of the programs, such as those of the goodput library",
        )
    ]
    if not told:
        entries.append(
            Untold("Goodput lost to disruptions", f"{_COARSE}", "Slurm's own states of jobs")
        )
    if found.unknown_runs:
        why = (
            f"it is unknown how {counted(found.unknown_runs, 'runs')} with "
            f"{hours(found.unknown_node_seconds)} node-hours ended"
        )
        entries.append(Untold("Goodput of some runs", why, "final states of jobs"))
    return tuple(entries)


COLUMNS: Final[tuple[Column, ...]] = (
    ("Time", "label", str),
    ("Node-hours", "node_hours", lambda hours: NONE if hours is None else number(hours)),
    ("Share", "share", lambda share: "" if share is None else percent(share)),
    ("Interval of the share",
     lambda row: "not told" if row["share"] is None else share_interval(row, "share")),
)  # fmt: skip
