"""`forestall design`: queues, checkpoints and spares of a cluster, and what changes would buy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forestall._lazy import lazily
from forestall.cli.registry import command
from forestall.cli.runs.options import FORCE, JSON, OUTPUT, QUIET
from forestall.cli.screen import Bar, say, say_json, show
from forestall.model.units import format_duration

with lazily():
    from forestall.app.reliability.design import design as app_design
    from forestall.app.reliability.design import files

if TYPE_CHECKING:
    from forestall.app.reliability.design.design import Design
    from forestall.app.reliability.design.search import SearchResult
    from forestall.reliability.queues.structures import Structure

SEARCH = "Search"
CURVE_ROWS = 10

CLUSTER = Annotated[
    Path,
    typer.Argument(
        metavar="CLUSTER.toml", help="Groups of nodes, queues, checkpoint cost and wishes."
    ),
]
OPTIMIZE = Annotated[
    bool,
    typer.Option(
        "--optimize",
        help="Search for queues with fewer failures at equal capacity.",
        rich_help_panel=SEARCH,
    ),
]
JOBS = Annotated[
    Path | None,
    typer.Option(
        "--jobs",
        metavar="JOBLOG",
        help="The jobs to search for (default: those of the file, or a published model's).",
        rich_help_panel=SEARCH,
        show_default=False,
    ),
]
PROCESSORS = Annotated[
    int | None,
    typer.Option(
        "--processors-per-node",
        metavar="P",
        min=1,
        help="Of an SWF job log, whose sizes are processors (default: as the file says, or 1).",
        rich_help_panel=SEARCH,
        show_default=False,
    ),
]
TOP = Annotated[
    int,
    typer.Option("--top", metavar="N", min=0, help="Changes to print.", rich_help_panel=OUTPUT),
]
OUT = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder for design.json, tables and the trade-off's figure.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    command(
        app,
        "design",
        "forestall design cluster.toml",
        "forestall design cluster.toml --optimize --jobs jobs.swf --out design",
        "forestall design cluster.toml --json",
    )(design)


def design(
    cluster: CLUSTER,
    optimize: OPTIMIZE = False,
    jobs: JOBS = None,
    processors_per_node: PROCESSORS = None,
    top: TOP = 12,
    out: OUT = None,
    force: FORCE = False,
    quiet: QUIET = False,
    as_json: JSON = False,
) -> None:
    """Say how likely the jobs of each queue meet a failure, how often to write checkpoints, how
    many spares a job needs, and what changes would buy.

    Failure probabilities are of jobs that fill their queue: all its nodes, up to its limit.
    """
    if out is not None:
        files.check_design_folder(out, force=force)
    with Bar("searching", quiet=quiet or as_json) as bar:
        done = app_design.design(
            cluster,
            optimize=optimize,
            jobs=jobs,
            processors_per_node=processors_per_node,
            progress=bar,
        )
    if out is not None:
        files.save_design(done, out)
    if as_json:
        say_json(done.json)
    elif not quiet:
        _print(done, top)
        if out is not None:
            say()
            say(f"Written to {out}")


def percent(probability: float) -> str:
    """Return a probability in per cent, with the digits that tell it from 0 and from 1."""
    rest = min(probability, 1 - probability)
    if rest <= 0:
        return f"{100 * probability:.0f} %"
    if rest < 1e-6:
        return "<0.0001 %" if probability < 0.5 else ">99.9999 %"
    digits = max(2, math.ceil(-math.log10(rest)) - 1)
    return f"{100 * probability:.{digits}f} %"


def _print(done: Design, top: int) -> None:
    cluster, table = done.cluster, done.plan.table
    say(f"{cluster.name}: {cluster.nodes:,} nodes; ages: {cluster.assumes}")
    for group in cluster.groups:
        mean = format_duration(group.lifetime.mean())
        shape = group.lifetime.params.get("shape", 1.0)
        say(f"{group.name}: {group.count:,} nodes, MTTF {mean}, shape {shape:.3g}", indent=2)
    say()
    say(
        f"Time to the machine's first failure: {format_duration(done.mttf['new'])} with all nodes "
        f"new, {format_duration(done.mttf['steady'])} between failures in steady state."
    )
    if done.interval is not None:
        say(f"Checkpoints of a job on all nodes: every {format_duration(done.interval)} of work.")
    _print_pool(done)
    for remark in done.remarks:
        say(f"Note: {remark}")
    if done.queues:
        say()
        _print_queues(done)
        say()
        assert done.job_failure is not None
        say(
            f"F_job: {percent(done.job_failure)} of all jobs meet a failure when every queue is "
            f"full and every job fills it ({percent(1 - done.job_failure)} do not)."
        )
        _print_changes(done, top)
    if done.found is not None:
        say()
        _print_found(done.found)
    elif done.queues and table.checkpoint is None:
        say()
        say("Without [checkpoint] in the file nothing is said of checkpoints.")


def _print_pool(done: Design) -> None:
    table, spares = done.plan.table, done.pool.spares
    repair = None if table.pool is None else table.pool.repair
    mission = 30 * 86_400 if table.pool is None else table.pool.mission
    when = (
        f"in {format_duration(mission)} without repair"
        if repair is None
        else f"at any one moment, with repair in {format_duration(repair)}"
    )
    shown = "no number of" if spares is None else f"{spares:,}"
    say(
        f"Pool for all nodes: {shown} spares, so that with {percent(table.success)} no job waits "
        f"for a node {when} (steady state)."
    )


def _print_queues(done: Design) -> None:
    rows = []
    for row in done.queues:
        queue = row.queue
        rows.append(
            (
                queue.name,
                f"{queue.nodes:,}",
                format_duration(queue.limit),
                f"{queue.slots:,}",
                percent(row.failure),
                percent(row.mixed),
                f"{100 * row.goodput:.0f} %",
                "-" if row.interval is None else format_duration(row.interval),
                "-" if row.spares is None else str(row.spares),
            )
        )
    target = percent(done.plan.table.success)
    show(
        rows,
        ("Queue", "Nodes", "Limit", "Slots", "F", "F typical", "Finished", "Interval", "Spares"),
        right=range(1, 9),
        wrap=(0,),
    )
    say("F: a job that runs to the limit meets a failure.")
    say("F typical: the same with run times of Lublin and Feitelson within the limit.")
    say("Finished: share of the nodes' time in jobs that finish, without checkpoints.")
    if done.plan.table.checkpoint is not None:
        say("Interval: work between checkpoints that gives most work in the long run.")
    say(f"Spares: beside a job's nodes, for a success of {target}.")
    for row in done.queues:
        if row.spares is None:
            beside = f"only {row.room:,} nodes" if row.room > 1 else ("no node", "1 node")[row.room]
            say(f"No spares for {row.queue.name}: there is {beside} beside those of a job.")
    losses = [row for row in done.queues if row.ring_loss is not None]
    if losses:
        worst = max(losses, key=lambda row: row.ring_loss or 0.0)
        told = done.plan.table.checkpoint
        copies = 1 if told is None or told.copies is None else told.copies
        say(
            f"Ring: with {copies} copies of each checkpoint, some job of {worst.queue.name} (the "
            f"worst) loses one with all copies with {percent(worst.ring_loss or 0.0)}; copies are "
            "made again with the next checkpoint (steady state)."
        )


def _print_changes(done: Design, top: int) -> None:
    chosen = done.changes[:top]
    if not chosen:
        return
    say()
    say(f"What single changes would buy (the {len(chosen)} best of {len(done.changes)}):")
    show(
        [
            (
                change.title,
                percent(change.after),
                f"{-100 * change.gain:+.2f}",
                f"{100 * change.capacity:+.1f} %",
                f"{100 * change.held:+.1f} %",
            )
            for change in chosen
        ],
        ("Change", "F_job", "Points", "Capacity", "Nodes held"),
        right=(1, 2, 3, 4),
        wrap=(0,),
    )


def _print_found(found: SearchResult) -> None:
    whole = found.admitted[0]
    say(
        f"Queues for {found.source}: {found.budget:,} nodes"
        + (" that all share" if found.shared else ", each queue its own")
        + f", at most {found.queues} queues; {whole.curve.tried:,} structures "
        + ("(all of the candidates)" if whole.curve.exact else "looked at")
        + f". The jobs by their own nodes and run times: {percent(whole.own)}."
    )
    if found.now is not None:
        text = f"Now: F_job {percent(found.now.failure)}, capacity {found.now.capacity:,.0f} of "
        text += f"{found.budget:,} node-hours per hour"
        if found.refused > 1e-12:
            text += f"; {percent(found.refused)} of the jobs fit no queue"
        say(text)
    if found.now is not None:
        _print_best(found.equal, found.now.capacity, "as much as now")
    if found.now is None or found.wanted != found.now.capacity:
        say()
        _print_best(found.best, found.wanted, "for the work that comes")
    say()
    say("Trade-off for the whole mix: no other has both a lower F_job and more capacity.")
    listed = whole.curve.structures
    step = max(1, -(-len(listed) // CURVE_ROWS))
    show(
        [_curve_row(one) for one in listed[::step]],
        ("F_job", "Capacity", "Turnaround", "Queues (nodes x limit x slots)"),
        right=(0, 1, 2),
    )
    say(f"Turnaround: mean wait and run time at {found.demand:,.0f} node-hours per hour.")
    if len(found.admitted) > 1:
        say()
        say("If the largest jobs are not admitted, at the capacity that the rest needs:")
        show(
            [
                (
                    f"{100 * one.work:.1f} %",
                    percent(one.jobs),
                    f"{one.nodes:,}",
                    format_duration(one.runtime),
                    percent(one.own),
                    "-" if one.best is None else percent(one.best.failure),
                )
                for one in found.admitted
            ],
            ("Work", "Jobs", "Most nodes", "Longest", "Own failures", "F_job"),
            right=range(6),
            wrap=(),
        )


def _print_best(best: Structure | None, wanted: float, why: str) -> None:
    at = f"{wanted:,.0f} node-hours per hour"
    if best is None:
        say(f"None of them carries {at} of this mix ({why}).")
        return
    say(
        f"Best at {at} or more ({why}): F_job {percent(best.failure)}, "
        f"capacity {best.capacity:,.0f}"
    )
    _print_structure(best)


def _print_structure(one: Structure) -> None:
    show(
        [
            (
                queue.name,
                f"{queue.nodes:,}",
                format_duration(queue.limit),
                f"{queue.slots:,}",
                percent(failure),
                percent(share),
            )
            for queue, failure, share in zip(one.queues, one.failures, one.shares, strict=True)
        ],
        ("Queue", "Nodes", "Limit", "Slots", "F", "Share of jobs"),
        right=range(1, 6),
        wrap=(),
    )


def _curve_row(one: Structure) -> tuple[str, ...]:
    turnaround = format_duration(one.turnaround) if math.isfinite(one.turnaround) else "too much"
    queues = ", ".join(f"{q.nodes} x {format_duration(q.limit)} x {q.slots}" for q in one.queues)
    return percent(one.failure), f"{one.capacity:,.0f}", turnaround, queues
