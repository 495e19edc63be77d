"""The report on a design: how likely jobs meet a failure, spares, checkpoints, what changes would
buy; and the folder with its figures as JSON, tables and a drawing."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core._lazy import lazily
from forestall.core.kit.folder import check_folder, fill_folder, holds
from forestall.core.kit.output import write_csv
from forestall.core.model.units import format_duration
from forestall.core.show.blocks import Block, Column, Figure, Listing, Prose, Table
from forestall.core.show.drawings import figure_files
from forestall.core.show.facts import Fact, taken
from forestall.core.show.report import Report, Section
from forestall.core.show.result import ShownResult
from forestall.core.show.style import (
    BLACK,
    DASHES,
    INK,
    LINES,
    MARKERS,
    VERMILLION,
    dress,
    has_matplotlib,
    legend,
    new_figure,
)
from forestall.core.show.svg import save
from forestall.core.show.words import count, or_dash
from forestall.core.show.words import probability as percent
from forestall.reliability.report.design.design import Design
from forestall.reliability.report.design.prices import priced_section, prices_section
from forestall.reliability.report.design.search import SearchResult, structure_told
from forestall.reliability.systems.components import parts_of

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

    from forestall.reliability.queues.queues import Queue
    from forestall.reliability.queues.structures import Structure


SUMMARY = "design.json"
TRADEOFF = "tradeoff"
FILES = ("changes.csv", "prices.csv", "tradeoff.csv", *figure_files((TRADEOFF,)), SUMMARY)


@dataclass(frozen=True, repr=False)
class DesignAnswer(ShownResult):
    """What follows for a cluster; `study` has everything."""

    study: Design

    @property
    def table(self) -> pl.DataFrame:
        """A row a queue, as in `design.json`."""
        return pl.DataFrame(self.study.json["queues"], infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return what `design.json` holds."""
        return self.study.json

    def _as_report(self) -> Report:
        return report_of(self.study)

    def _save_folder(self, folder: Path) -> Path:
        check_design_folder(folder, force=False)
        return save_design(self.study, folder)


def is_design_folder(folder: Path) -> bool:
    """Return whether a folder holds a design of ours."""
    return holds(folder, ("job_failure_probability",), SUMMARY)


def check_design_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where the folder cannot be written to, or holds something else."""
    check_folder(folder, force=force, ours=is_design_folder)


def save_design(design: Design, folder: Path) -> Path:
    """Write design.json and changes.csv, and after a search tradeoff.csv, .png and .svg."""

    def write(fresh: Path) -> None:
        told = design.json
        text = json.dumps(told, indent=2, allow_nan=False) + "\n"
        (fresh / SUMMARY).write_text(text, encoding="utf-8")
        write_csv(pl.DataFrame(told["changes"], infer_schema_length=None), fresh / "changes.csv")
        if "prices" in told:
            prices = pl.DataFrame(told["prices"]["designs"], infer_schema_length=None)
            write_csv(prices, fresh / "prices.csv")
        if design.found is None:
            return
        _write_curve(design.found, fresh / "tradeoff.csv")
        if has_matplotlib():
            drawn = tradeoff(design.found)
            for name in figure_files((TRADEOFF,)):
                save(drawn, fresh / name)

    return fill_folder(folder, write, FILES)


def _write_curve(found: SearchResult, path: Path) -> None:
    """Write the trade-off for each number of queues; with prices its last rows are what no other
    beats in failures, cost and capacity."""
    rows = [
        {
            "queues_at_most": k,
            "job_failure_probability": one.failure,
            "capacity_node_hours_per_hour": one.capacity,
            "turnaround_s": structure_told(one)["turnaround_s"],
            "structure": "; ".join(
                f"{queue.nodes}x{queue.limit:.0f}s x{queue.slots}" for queue in one.queues
            ),
            **({"spares": None, "interval_s": None, "cost": None} if found.priced else {}),
        }
        for k, curve in enumerate(found.curves, 1)
        for one in curve.structures
    ]
    rows += [
        {
            "queues_at_most": found.queues,
            "job_failure_probability": one.failure,
            "capacity_node_hours_per_hour": one.capacity,
            "turnaround_s": structure_told(one.structure)["turnaround_s"],
            "structure": "; ".join(
                f"{queue.nodes}x{queue.limit:.0f}s x{queue.slots}" for queue in one.structure.queues
            ),
            "spares": "; ".join(str(way.spares) for way in one.ways),
            "interval_s": "; ".join(
                "" if way.interval is None else f"{way.interval:.0f}" for way in one.ways
            ),
            "cost": one.cost,
        }
        for one in found.priced
    ]
    write_csv(pl.DataFrame(rows, infer_schema_length=None), path)


def tradeoff(found: SearchResult) -> Drawn:
    """Draw F_job over capacity for each number of queues, and over the largest work admitted."""
    figure = new_figure((9.6, 4.4))
    left, right = figure.subplots(1, 2)
    for i, curve in enumerate(found.curves):
        points = sorted((one.capacity, 100 * one.failure) for one in curve.structures)
        left.plot(
            [x for x, _ in points], [y for _, y in points], color=LINES[i % len(LINES)],
            marker=MARKERS[i % len(MARKERS)], linestyle=DASHES[i % len(DASHES)], linewidth=1.3,
            markersize=4, label="1 queue" if i == 0 else f"at most {i + 1}",
        )  # fmt: skip
    own = 100 * found.admitted[0].own
    left.axhline(own, color=INK, linestyle=":", linewidth=1.2, label="the jobs' own")
    left.axvline(found.wanted, color=INK, linestyle="--", linewidth=0.8, label="wanted capacity")
    if found.now is not None:
        left.plot(
            [found.now.capacity], [100 * found.now.failure], "*", color=BLACK, markersize=12,
            linestyle="none", label="current queues",
        )  # fmt: skip
    parts = [one for one in found.admitted if one.best is not None]
    x = [float(one.nodes) for one in parts]
    right.plot(
        x, [100 * one.best.failure for one in parts if one.best is not None], color=LINES[0],
        marker="o", linewidth=1.4, label="with the best queues",
    )  # fmt: skip
    right.plot(
        x, [100 * one.own for one in parts], color=VERMILLION, marker="s", linestyle=":",
        linewidth=1.4, label="the jobs' own",
    )  # fmt: skip
    for one in parts:
        if one.best is not None:
            right.annotate(
                f"{100 * one.work:.0f} %", (one.nodes, 100 * one.best.failure), (-3, 7),
                textcoords="offset points", fontsize=8, color=INK, ha="right",
            )  # fmt: skip
    right.set_xscale("log")
    right.set_xticks(x, [f"{value:,.0f}" for value in x])
    right.minorticks_off()
    for axes in (left, right):
        axes.margins(x=0.12, y=0.15)
        axes.set_ylim(bottom=0)
    dress(left, "", "Capacity (node-hours per hour)", "F_job: jobs that meet a failure (%)")
    dress(
        right,
        "",
        "Largest job admitted (nodes), with the share of work admitted",
        "F_job at that capacity (%)",
    )
    legend(left, ncols=3)
    legend(right, ncols=2)
    return figure


CURVE_ROWS: Final = 10
"""Rows of the trade-off, at most."""
MONTH: Final = 30 * 86_400


def report_of(design: Design, top: int | None = None) -> Report:
    """Return a design as a report, with so many of the best changes (None: all)."""
    cluster = design.cluster
    sections = [_machine(design), *_components(design)]
    if design.queues:
        sections += [
            _queues(design),
            *prices_section(design.priced, design.plan.table),
            _changes(design, top),
        ]
    if design.found is not None:
        prices = design.plan.table.prices
        sections += _search(design.found, "" if prices is None else prices.currency)
    verdict: tuple[str, ...] = ()
    if design.job_failure is not None:
        verdict = (
            f"F_job: {percent(design.job_failure)} of all jobs meet a failure if every queue is "
            f"full and every job uses its full limit ({percent(1 - design.job_failure)} do not).",
        )
    return Report(
        "How reliable this cluster's queues are",
        f"{cluster.name}: {cluster.nodes:,} nodes; ages: {cluster.assumes}",
        tuple(sections),
        verdict=verdict,
        closing=(),
    )


def _machine(design: Design) -> Section:
    """Return groups of nodes, the time to a failure, and spares for all of them."""
    mttf = design.mttf
    lines = []
    for group in design.cluster.groups:
        mean, parts = format_duration(group.lifetime.mean()), len(parts_of(group.lifetime))
        made = f"shape {group.lifetime.params.get('shape', 1):.3g}"
        if parts:
            made = f"of {parts} {'kind' if parts == 1 else 'kinds'} of components"
        lines.append(f"{group.name}: {group.count:,} nodes, MTTF {mean}, {made}")
    lines.append(
        f"Time to the machine's first failure: {format_duration(mttf['new'])} with all nodes new, "
        f"{format_duration(mttf['steady'])} between failures in steady state."
    )
    if design.interval is not None:
        every = format_duration(design.interval)
        lines.append(f"Checkpoints of a job on all nodes: every {every} of work.")
    lines += [_pool(design), *(f"Note: {remark}" for remark in design.remarks)]
    if design.queues and design.found is None and design.plan.table.checkpoint is None:
        lines.append("Without [checkpoint] in the file, checkpoints are not considered.")
    facts = (
        Fact("mttf_new", "First failure, new nodes", mttf["new"], "seconds"),
        Fact("mttf_steady", "MTBF, steady state", mttf["steady"], "seconds"),
    )
    return Section("machine", "Nodes and spares", series=facts, body=(Listing(tuple(lines)),))


COMPONENTS: Final[tuple[Column, ...]] = (
    ("Component", "name", str),
    ("Needed", "needed", count),
    ("Of", "count", count),
    ("MTTF of one", "mttf_s", format_duration),
    ("Share of failures", "share_of_failures", percent),
)


def _components(design: Design) -> list[Section]:
    """Return for each group of nodes of components which of them make its nodes fail."""
    found = []
    for number, group in enumerate(design.json["groups"], 1):
        if "components" in group:
            name = f"components_{number}"
            table = Table.by(name, COMPONENTS, group["components"])
            note = "A node fails when too few components of any block work; then all of "
            note += (
                "its components are replaced. Redundant components are not replaced before that."
            )
            title = f"What makes nodes of {group['name']} fail"
            found.append(Section(name, title, body=(table, Prose(note))))
    return found


def _pool(design: Design) -> str:
    """Say how many spares a pool for all nodes needs."""
    table, spares = design.plan.table, design.pool.spares
    repair = None if table.pool is None else table.pool.repair
    mission = MONTH if table.pool is None else table.pool.mission
    when = (
        f"in {format_duration(mission)} without repair"
        if repair is None
        else f"at any given moment, with {format_duration(repair)} repairs"
    )
    shown = "no number of" if spares is None else f"{spares:,}"
    return (
        f"Pool for all nodes: {shown} spares, so that with {percent(table.success)} probability "
        f"no job waits for a node {when} (steady state)."
    )


QUEUE: Final[tuple[Column, ...]] = (
    ("Queue", "queue", str),
    ("Nodes", "nodes", count),
    ("Limit", "limit_s", format_duration),
    ("Slots", "slots", count),
    ("F", "failure", percent),
)


QUEUES: Final[tuple[Column, ...]] = (
    *QUEUE,
    ("F typical", "failure_typical", percent),
    ("F average", "failure_average", percent),
    ("Finished", "finished", lambda share: f"{100 * share:.0f} %"),
    ("Interval", "interval_s", or_dash(format_duration)),
    ("Spares", "spares", or_dash(str)),
)


CHANGES: Final[tuple[Column, ...]] = (
    ("Change", "change", str),
    ("F_job", "failure", percent),
    ("Points", "gain", lambda gain: f"{-100 * gain:+.2f}"),
    ("Capacity", "capacity", lambda share: f"{100 * share:+.1f} %"),
    ("Nodes held", "held", lambda share: f"{100 * share:+.1f} %"),
)


ADMITTED: Final[tuple[Column, ...]] = (
    ("Work", "work", lambda share: f"{100 * share:.1f} %"),
    ("Jobs", "jobs", percent),
    ("Most nodes", "nodes", count),
    ("Longest", "longest_s", format_duration),
    ("Own failures", "own_failure", percent),
    ("F_job", "failure", or_dash(percent)),
)


def _queue_record(queue: Queue, failure: float) -> dict[str, Any]:
    told = taken(queue, queue="name", nodes="nodes", limit_s="limit", slots="slots")
    return told | {"failure": failure}


def _queues(design: Design) -> Section:
    """Return what jobs of each queue meet, and what they need."""
    records = [
        _queue_record(row.queue, row.failure)
        | taken(row, failure_typical="mixed", failure_average="averaged")
        | taken(row, finished="goodput", interval_s="interval")
        | taken(row, "spares")
        for row in design.queues
    ]
    table = Table.by("queues", QUEUES, records)
    return Section("queues", "Queues", body=(table, Listing(tuple(_on_queues(design)))))


def _on_queues(design: Design) -> list[str]:
    """Return what the columns of queues are, and where a job has no spares or loses copies."""
    told = design.plan.table.checkpoint
    lines = [
        "F: a job that runs to the limit meets a failure.",
        "F typical: the same with run times from the Lublin-Feitelson model, within the limit.",
        "F average: the mean of F and of F at the typical (geometric mean) run time.",
        "Finished: share of the nodes' time in jobs that finish, without checkpoints.",
    ]
    if told is not None:
        lines.append("Interval: work between checkpoints that maximizes long-run efficiency.")
    target = percent(design.plan.table.success)
    lines.append(f"Spares: in addition to a job's nodes, for a success of {target}.")
    for row in design.queues:
        if row.spares is None:
            beside = f"only {row.room:,} nodes" if row.room > 1 else ("no node", "1 node")[row.room]
            where = f"there is {beside} beside those of a job"
            lines.append(f"No spares for {row.queue.name}: {where}.")
    losses = [row for row in design.queues if row.ring_loss is not None]
    if losses:
        worst = max(losses, key=lambda row: row.ring_loss or 0.0)
        copies = 1 if told is None or told.copies is None else told.copies
        lines.append(
            f"Ring: with {copies} copies of each checkpoint, some job of {worst.queue.name} "
            f"(the worst) loses all copies of one with {percent(worst.ring_loss or 0.0)} "
            "probability; copies are renewed at the next checkpoint (steady state)."
        )
    return lines


def _changes(design: Design, top: int | None) -> Section:
    """Return what single changes would buy, the best first."""
    chosen = design.changes[:top]
    told = {"change": "title", "failure": "after"}
    records = [taken(one, **told, gain="gain", capacity="capacity", held="held") for one in chosen]
    some = f"the {len(chosen)} best of {len(design.changes)}"
    table = Table.by("changes", CHANGES, records, ranked=True)
    body = (table,) if chosen else ()
    return Section("changes", f"What single changes would gain ({some})", body=body)


def _search(found: SearchResult, currency: str) -> list[Section]:
    """Return the best queues that were found, the trade-off, and what admission would buy."""
    body: list[Block] = [Prose(line) for line in _looked_at(found)]
    if found.now is not None:
        why = "present capacity"
        if found.refused > 1e-12:
            why += ", for the jobs that the present queues admit"
        body += _best(found.equal, found.now.capacity, why, "equal", kept=found.keeps)
    if found.now is None or found.wanted != found.now.capacity:
        body += _best(found.best, found.wanted, "the incoming work", "best")
    sections = [Section("search", f"Queues for {found.source}", body=tuple(body))]
    sections.append(_tradeoff(found))
    if found.plain is not None:
        sections.append(priced_section(found, found.plain, currency))
    if len(found.admitted) > 1:
        sections.append(_admitted(found))
    return sections


def _looked_at(found: SearchResult) -> list[str]:
    """Return which structures were looked at, and what the queues do now."""
    whole = found.admitted[0]
    lines = [
        f"{found.budget:,} nodes"
        + (" that all share" if found.shared else ", divided among the queues")
        + f", at most {found.queues} queues; {whole.curve.tried:,} structures "
        + ("(all of the candidates)" if whole.curve.exact else "looked at")
        + f". Failures that the jobs meet in any queue: {percent(whole.own)}."
    ]
    if found.now is not None:
        text = f"Now: F_job {percent(found.now.failure)}, capacity {found.now.capacity:,.0f} of "
        text += f"{found.budget:,} node-hours per hour"
        if found.refused > 1e-12:
            text += f"; {percent(found.refused)} of the jobs fit no queue"
        lines.append(text)
    return lines


def _best(
    best: Structure | None, wanted: float, why: str, key: str, *, kept: bool = False
) -> tuple[Block, ...]:
    """Return the queues with the fewest failures at a capacity."""
    at = f"{wanted:,.0f} node-hours per hour"
    if kept:
        return (Prose(f"Keep your queues: none of these has a lower F_job at {at} ({why})."),)
    if best is None:
        return (Prose(f"None of them supports {at} of this mix ({why})."),)
    text = (
        f"Best at {at} or more ({why}): F_job {percent(best.failure)}, capacity "
        f"{best.capacity:,.0f}"
    )
    records = [
        {**_queue_record(queue, failure), "share_of_jobs": share}
        for queue, failure, share in zip(best.queues, best.failures, best.shares, strict=True)
    ]
    columns = (*QUEUE, ("Share of jobs", "share_of_jobs", percent))
    return Prose(text), Table.by(key, columns, records)


def _tradeoff(found: SearchResult) -> Section:
    """Return failures against capacity: no other structure does better by both."""
    listed = found.admitted[0].curve.structures
    step = max(1, -(-len(listed) // CURVE_ROWS))
    rows, records = [], []
    for one in listed[::step]:
        turnaround = format_duration(one.turnaround) if math.isfinite(one.turnaround) else ""
        told = (f"{q.nodes} x {format_duration(q.limit)} x {q.slots}" for q in one.queues)
        rows.append((percent(one.failure), f"{one.capacity:,.0f}", turnaround or "too much",
                     ", ".join(told)))  # fmt: skip
        records.append({"failure": one.failure, "capacity_node_hours_per_hour": one.capacity,
                        "turnaround_s": structure_told(one)["turnaround_s"]})  # fmt: skip
    heads = ("F_job", "Capacity", "Turnaround", "Queues (nodes x limit x slots)")
    note = f"Turnaround: mean wait and run time at {found.demand:,.0f} node-hours per hour."
    caption = "Trade-off for the whole mix: no other has both a lower F_job and more capacity."
    table = Table.of(TRADEOFF, heads, rows, records, right=(0, 1, 2), caption=caption, note=note)
    drawn = Figure(
        TRADEOFF,
        lambda: tradeoff(found),
        "Failures against capacity for each number of queues, and for the largest job admitted.",
    )
    return Section("tradeoff", "Failures against capacity", body=(table, drawn))


def _admitted(found: SearchResult) -> Section:
    """Return what refusing the largest jobs would buy."""
    records = [
        {"work": one.work, "jobs": one.jobs, "nodes": one.nodes, "longest_s": one.runtime,
         "own_failure": one.own, "failure": None if one.best is None else one.best.failure}
        for one in found.admitted
    ]  # fmt: skip
    title = "Without the largest jobs, at the capacity that the rest needs"
    table = Table.by("admitted", ADMITTED, records, right=range(6))
    return Section("admitted", title, body=(table,))
