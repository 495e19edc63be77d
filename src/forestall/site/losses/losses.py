"""The section on lost node- and GPU-hours: by cause, with bounds, and capacity never given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.show.blocks import Column, Figure, Table
from forestall.core.show.facts import Fact, Untold, records_of
from forestall.core.show.quantities import counted, number, percent, said
from forestall.core.show.report import Section
from forestall.core.show.style import BLUE, INK, SKY, dress, legend, new_figure
from forestall.prediction.assess.losses import capacity, losses
from forestall.site.losses.amounts import HOUR, every, hours, part
from forestall.site.shared import how_ended
from forestall.site.summary import known_nodes
from forestall.slurm.records.run_ends import LABELS, LOST, RULES, tells_interruptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure as Drawn

    from forestall.prediction.assess.losses import Capacity, CauseSum, Losses
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.node_events import NodeEvents
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

KEY: Final = "losses"
TITLE: Final = "What node-hours were lost to"
NATURES: Final = {
    "fault": "out of service: fault",
    "administrative": "out of service: taken out on purpose",
    "unclear": "out of service: reason unclear",
}


def section(site: SiteRecords, asked: Asked) -> Section:
    """Return the section; see `forestall.prediction.assess.losses` for how it is counted."""
    records = site.accounting
    if records is None:
        why = "no accounting of jobs was given"
        text = f"What was lost is unknown: {why}."
        return Section(KEY, TITLE, text, untold=(Untold(TITLE, why, "sacct's records of jobs"),))
    found = losses(records, asked.checkpoint_interval, how_ended(site))
    if not found.over().node_seconds:
        text = (
            f"No node-hours were used: of {counted(len(records), 'runs')} none ran on a known "
            "number of nodes."
        )
        return Section(KEY, TITLE, text, untold=_untold(found, records, told=True))
    told = tells_interruptions(records)
    room, why_not = _room(site, asked)
    return Section(
        KEY,
        TITLE,
        _lead(found, told),
        facts=_figures(found, asked, room),
        series=_series(found, asked, room),
        body=_body(found, asked, room),
        notes=_notes(found, asked),
        untold=(*_untold(found, records, told), *why_not),
    )


def _lead(found: Losses, told: bool) -> str:
    whole, lost = found.over(), found.lost
    text = f"Jobs took {said(whole.node_seconds / HOUR, 'node_hours')}."
    if not found.ends_told:
        return f"{text} How runs ended is unknown: no record has a final state."
    if not lost.node_seconds:
        text += f" None of {found.runs:,} runs is known to have lost any"
        if told or found.of("completed").runs < found.runs:
            return f"{text}."
        return f"{text}; every run in the records completed, so others may have been left out."
    text += (
        f" Lost: {said(lost.node_seconds / HOUR, 'node_hours')} "
        f"({part(lost.node_seconds, whole.node_seconds)}) if no job writes checkpoints, "
        f"{said(lost.node_seconds_after / HOUR, 'node_hours')} "
        f"({part(lost.node_seconds_after, whole.node_seconds)}) if each writes one every "
        f"{every(found.interval)}."
    )
    worst, *others = _ranked(found)
    may = " (what they saved themselves is not known)" if worst.cause == "timeout" else ""
    text += (
        f" Most went to: {_label(worst)}, {hours(worst.node_seconds)} node-hours in "
        f"{counted(worst.runs, 'runs')}{may}."
    )
    for one in others:
        if one.cause == "node_failure":
            text += (
                f" Node failures took {hours(one.node_seconds)} node-hours "
                f"({part(one.node_seconds, whole.node_seconds)}) in {counted(one.runs, 'runs')}."
            )
    return text


def _label(row: CauseSum) -> str:
    return LABELS[row.cause]


def _ranked(found: Losses) -> list[CauseSum]:
    """Return the causes that took node-hours away, the largest first."""
    rows = [found.of(name) for name in LOST if found.of(name).runs]
    return sorted(rows, key=lambda row: (-row.node_seconds, row.cause))


def _bounds(found: Losses) -> tuple[tuple[str, str, str], ...]:
    """Return label, field and assumption of the two bounds."""
    often = every(found.interval)
    return (
        ("upper", "no checkpoints", "No job keeps anything of a run that did not complete."),
        ("lower", f"checkpoint every {often}",
         f"Each job writes a checkpoint every {often}; a stopped run loses half of that on "
         "average, a shorter one all."),
    )  # fmt: skip


def _figures(found: Losses, asked: Asked, room: Capacity | None) -> tuple[Fact, ...]:
    whole, lost = found.over(), found.lost
    made = []
    none = "" if found.ends_told else "no run's record says how it ended"
    for (bound, words, assumes), units, gpus in zip(
        _bounds(found),
        (lost.node_seconds, lost.node_seconds_after),
        (lost.gpu_seconds, lost.gpu_seconds_after),
        strict=True,
    ):
        common: dict[str, Any] = {
            "records": found.runs, "assumes": assumes, "labels": {"bound": bound}, "why": none,
        }  # fmt: skip
        value = None if none else units / HOUR
        made.append(Fact("lost_work", f"lost, {words}", value, "node_hours", **common))
        if asked.node_hour_cost is not None and value is not None:
            cost = value * asked.node_hour_cost
            made.append(Fact("lost_cost", f"cost of it, {words}", cost, "money", **common))
        if found.gpu_runs and value is not None:
            label = f"GPU-hours lost, {words}"
            made.append(Fact("lost_work", label, gpus / HOUR, "gpu_hours", **common))
    made.append(
        Fact("used", "all that jobs took", whole.node_seconds / HOUR, "node_hours", found.runs)
    )
    if room is not None and room.ungiven >= 0:
        value = room.ungiven / HOUR
        made.append(Fact("ungiven", "never allocated to a job", value, "node_hours", found.runs))
    return tuple(made)


def _series(found: Losses, asked: Asked, room: Capacity | None) -> tuple[Fact, ...]:
    made = []
    bounds = _bounds(found)
    for row in found.rows:
        if row.cause == "never_started":
            continue
        fields = [(row.node_seconds, row.gpu_seconds, bounds[0])]
        if row.cause in LOST:
            fields.append((row.node_seconds_after, row.gpu_seconds_after, bounds[1]))
        for units, gpus, (bound, _, assumes) in fields:
            labels = {"cause": row.cause} | ({"bound": bound} if row.cause in LOST else {})
            common: dict[str, Any] = {
                "records": row.runs, "assumes": assumes if row.cause in LOST else "",
                "labels": labels,
            }  # fmt: skip
            value = units / HOUR
            made.append(Fact("by_cause", _label(row), value, "node_hours", **common))
            if found.gpu_runs:
                made.append(Fact("by_cause", _label(row), gpus / HOUR, "gpu_hours", **common))
            if asked.node_hour_cost is not None and row.cause in LOST:
                cost = value * asked.node_hour_cost
                made.append(Fact("by_cause_cost", _label(row), cost, "money", **common))
        made.append(Fact("runs", _label(row), row.runs, "count", row.runs,
                         labels={"cause": row.cause}))  # fmt: skip
    if room is not None:
        for nature, units in room.down.items():
            made.append(Fact("down", NATURES[nature], units / HOUR, "node_hours", room.outages,
                             labels={"nature": nature}))  # fmt: skip
    if found.continued.runs:
        made.append(Fact("timeouts_continued", "timeouts that were apparently continued",
                         found.continued.continued, "count", found.continued.runs))  # fmt: skip
    return tuple(made)


def _causes(found: Losses, asked: Asked) -> Table:
    whole = found.over().node_seconds
    kept = [found.of(name) for name in ("completed", "running", "unknown_end")]
    cost = asked.node_hour_cost
    rows, plain = [], []
    for row in [*_ranked(found), *(one for one in kept if one.runs)]:
        lost = row.cause in LOST
        cells = [_label(row), f"{row.runs:,}", hours(row.node_seconds),
                 part(row.node_seconds, whole),
                 hours(row.node_seconds_after) if lost else ""]  # fmt: skip
        told = {
            "cause": row.cause,
            "lost": lost,
            "runs": row.runs,
            "node_hours": row.node_seconds / HOUR,
            "share_of_all": row.node_seconds / whole,
            "after_checkpoint_node_hours": row.node_seconds_after / HOUR if lost else None,
            "gpu_hours": row.gpu_seconds / HOUR if found.gpu_runs else None,
            "after_checkpoint_gpu_hours": (
                row.gpu_seconds_after / HOUR if lost and found.gpu_runs else None
            ),
        }
        if cost is not None:
            price = row.node_seconds / HOUR * cost
            cells.append(f"{price:,.0f}" if lost else "")
            told["cost"] = price if lost else None
        rows.append(tuple(cells))
        plain.append(told)
    total = ["all", f"{found.runs:,}", hours(whole), "100 %", hours(found.lost.node_seconds_after)]
    if cost is not None:
        total.append(f"{found.lost.node_seconds / HOUR * cost:,.0f}")
    rows.insert(0, tuple(total))
    plain.insert(0, {"cause": "all", "lost": None, "runs": found.runs, "node_hours": whole / HOUR,
                  "after_checkpoint_node_hours": found.lost.node_seconds_after / HOUR})  # fmt: skip
    heads = ["How runs ended", "Runs", "Node-hours", "Share", "After last checkpoint"]
    heads += [f"Cost ({asked.currency})"] if cost is not None else []
    note = (
        "Node-hours count whole runs: the loss if nothing was saved. After last checkpoint: "
        f"the loss if each job writes a checkpoint every {every(found.interval)}."
    )
    return Table("causes", "Node-hours by how runs ended", tuple(heads), tuple(rows),
                 records_of(plain), note, tuple(range(1, len(heads))), summed=True)  # fmt: skip


def _gpus(found: Losses) -> Table | None:
    if not found.gpu_runs:
        return None
    whole = found.over().gpu_seconds
    shown = [row for row in found.rows if row.gpu_seconds]
    records = [
        {"cause": row.cause, "gpu_hours": row.gpu_seconds / HOUR,
         "after_checkpoint_gpu_hours": row.gpu_seconds_after / HOUR}
        for row in sorted(shown, key=lambda row: (-row.gpu_seconds, row.cause))
    ]  # fmt: skip
    columns: tuple[Column, ...] = (
        ("How runs ended", "cause", LABELS.__getitem__),
        ("GPU-hours", "gpu_hours", number),
        ("Share", "gpu_hours", lambda units: part(HOUR * units, whole)),
        ("After last checkpoint", _after_checkpoint),
    )
    return Table.by("gpu_causes", columns, records, title="GPU-hours by how runs ended")


def _after_checkpoint(row: Mapping[str, Any]) -> str:
    return number(row["after_checkpoint_gpu_hours"]) if row["cause"] in LOST else ""


def _capacity(room: Capacity | None) -> Table | None:
    if room is None or room.ungiven < 0:
        return None
    least, most = room.idle
    lines = [("held by jobs", room.used)]
    lines += [(NATURES[nature], units) for nature, units in room.down.items()]
    idle = "idle" if not room.down else "idle, at least"
    lines += [(idle, least)] + ([("idle, at most", most)] if most > least else [])
    records = [{"what": name, "node_hours": units / HOUR, "share_of_capacity": units / room.total}
               for name, units in lines]  # fmt: skip
    note = ""
    if room.down and most > least:
        note = (
            "Nodes that are being drained still finish their jobs, so time in outages and time "
            "held by jobs can overlap."
        )
    title = f"How the time of {counted(room.nodes, 'nodes')} in the window was used"
    return Table.by("capacity", CAPACITY, records, title=title, note=note)


def _room(site: SiteRecords, asked: Asked) -> tuple[Capacity | None, tuple[Untold, ...]]:
    """Return what became of the nodes' time, or why that cannot be told."""
    what = "Node-hours never allocated to jobs"
    if asked.partition is not None or asked.min_nodes > 1:
        why = "the report covers only some jobs, and other jobs used nodes as well"
        return None, (Untold(what, why, "a report on all jobs"),)
    records = site.accounting
    assert records is not None
    nodes = max(records.machine_nodes or 0, known_nodes(site) or 0)
    begin, until = max(asked.begin, records.begin), min(asked.until, records.until)
    if not nodes or until <= begin:
        why = "the records do not say how many nodes the machine has"
        return None, (Untold(what, why, "scontrol's list of nodes"),)
    found = capacity(records, nodes, _outages(site, begin, until), begin, until)
    if found.ungiven < 0:
        why = (
            f"jobs used more node-hours ({hours(found.used)}) than {nodes:,} nodes have "
            f"({hours(found.total)}): jobs share nodes, or the number of nodes is too low"
        )
        return None, (Untold(what, why, "the number of nodes, or jobs that use whole nodes"),)
    if not found.down:
        why = "there are no records of outages; time without jobs is shown as idle"
        return found, (Untold("Time in outages", why, "sacctmgr's events of nodes"),)
    return found, ()


def _outages(site: SiteRecords, begin: int, until: int) -> NodeEvents | None:
    """Return the outages where they are told for the whole window."""
    events = site.events
    if events is None:
        return None
    # A few hours at the ends do not matter for sums.
    slack = max((until - begin) // 20, HOUR)
    covered = events.span[0] <= begin + slack and events.span[1] >= until - slack
    return events if covered else None


def _body(found: Losses, asked: Asked, room: Capacity | None) -> tuple[Table | Figure, ...]:
    tables = (_causes(found, asked), _gpus(found), _capacity(room), _rules())
    drawn = (_picture(found),) if found.lost.node_seconds else ()
    return *(one for one in tables if one is not None), *drawn


CAPACITY: Final[tuple[Column, ...]] = (
    ("Time", "what", str),
    ("Node-hours", "node_hours", number),
    ("Share", "share_of_capacity", percent),
)


RULED: Final[tuple[Column, ...]] = (
    ("Counted as", "cause", LABELS.__getitem__),
    ("State in the records", "states", lambda states: states or "any"),
    ("Where", "when", str),
    ("Lost", "lost", str),
)


def _rules() -> Table:
    records = [
        {"cause": rule.cause, "states": ", ".join(rule.states), "when": rule.when,
         "lost": rule.lost}
        for rule in RULES
    ]  # fmt: skip
    title = "How runs are classified"
    return Table.by("rules", RULED, records, title=title, right=(), folded=True)


def _notes(found: Losses, asked: Asked) -> tuple[str, ...]:
    often = every(asked.checkpoint_interval)
    notes = [
        "Node-hours that completed, are still running, were lost, or are unknown add up "
        "exactly to all node-hours. A run counts with all its nodes from start to end, without "
        "time in suspension.",
        f"Lower bound: a run shorter than {often} has no checkpoint and loses everything; a "
        f"longer one loses half of {often}, the mean for a stop at a random moment. The time to "
        "write checkpoints is not included; see goodput.",
    ]
    chain = found.continued
    if chain.runs:
        notes.append(
            f"A job that reaches its limit may have saved its work: {chain.continued:,} of "
            f"{counted(chain.runs, 'runs')} that did were apparently continued "
            f"({hours(chain.node_seconds_continued)} of {hours(chain.node_seconds)} "
            "node-hours). Apparently continued: the same job runs again, or a job of the same "
            "user, name and partition is eligible within a day. Jobs that share a name make "
            "this an upper bound."
        )
    if found.nodes_untold:
        notes.append(
            f"{counted(found.nodes_untold, 'runs')} on an unknown number of nodes count as 0."
        )
    if found.gpu_runs and found.gpus_told < found.runs:
        missing = found.runs - found.gpus_told
        notes.append(
            f"The number of GPUs is unknown for {counted(missing, 'runs')}; they count as 0 "
            "GPU-hours."
        )
    if asked.node_hour_cost is not None:
        notes.append(f"Costs: node-hours times {asked.node_hour_cost:g} {asked.currency}.")
    return tuple(notes)


def _untold(found: Losses, records: Accounting, told: bool) -> tuple[Untold, ...]:
    entries = []
    unknown = found.of("unknown_end")
    if unknown.runs:
        whole = found.over().node_seconds
        why = (
            f"{counted(unknown.runs, 'runs')} have no final state, or one that Slurm does not "
            f"know ({part(unknown.node_seconds, whole)} of the node-hours); they count neither "
            "as lost nor as kept"
        )
        entries.append(Untold("How some runs ended", why, "final states of jobs"))
    if not told and found.ends_told:
        why = (
            "the records only distinguish completed, failed and canceled; a node failure looks "
            "like a job failure"
        )
        entries.append(Untold("Losses to node failures", why, "Slurm's own states"))
    nobody = found.of("cancel_untold")
    if nobody.runs and told:
        why = f"{counted(nobody.runs, 'canceled runs')} name nobody, or an unknown user id"
        entries.append(Untold("Who canceled some runs", why, "states with the user id"))
    if not found.gpus_told and found.runs:
        why = "no record has the number of GPUs"
        entries.append(Untold("Lost GPU-hours", why, "allocated resources (AllocTRES) of jobs"))
    return tuple(entries)


def _picture(found: Losses) -> Figure:
    ranked = _ranked(found)
    first = ", ".join(f"{_label(row)} {hours(row.node_seconds)}" for row in ranked[:4])
    often = every(found.interval)
    return Figure(
        "losses",
        lambda: _draw(found, ranked),
        f"Bars of lost node-hours by cause: {first}.",
        "Light bars: whole runs, lost if no job writes checkpoints. Dark bars: work after the "
        f"last checkpoint, if each job writes one every {often}.",
    )


def _draw(found: Losses, ranked: list[CauseSum]) -> Drawn:
    rows = ranked[::-1]
    figure = new_figure((8.4, 1.5 + 0.34 * len(rows)))
    axes = figure.subplots()
    place = np.arange(len(rows))
    whole = [row.node_seconds / HOUR for row in rows]
    after = [row.node_seconds_after / HOUR for row in rows]
    axes.barh(place, whole, 0.7, color=SKY, label="no checkpoints")
    axes.barh(place, after, 0.36, color=BLUE,
              label=f"checkpoint every {every(found.interval)}")  # fmt: skip
    for at, value in zip(place, whole, strict=True):
        axes.annotate(hours(round(value * HOUR)), (value, float(at)), (3, 0), va="center",
                      textcoords="offset points", fontsize=8, color=INK)  # fmt: skip
    axes.set_yticks(place, [_label(row) for row in rows])
    axes.set_xlim(0, max([*whole, 1e-9]) * 1.12)
    dress(axes, "Lost node-hours by cause", "Node-hours", "")
    axes.grid(visible=False, axis="y")
    legend(axes)
    return figure
