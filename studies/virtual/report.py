"""The results as sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import forestall as fs
from studies.kit.claims import Claim
from studies.kit.text import Blocks, claims_section, listing, share, table, whys
from studies.virtual.figures import LOOKS
from studies.virtual.found import Found, aware, gained, times
from studies.virtual.inputs import (
    OF_FAILURES,
    OF_JOBS,
    Real,
    shown,
    year_of_failures,
    year_of_jobs,
)
from studies.virtual.payments import bound, payments, since
from studies.virtual.study import (
    AWARE,
    BEST,
    FIRST,
    JOBS,
    LOAD,
    MEASURES,
    MISSES,
    OMNISCIENT,
    PAPER,
    RANDOM,
    REAL,
    STAYS,
    STRATEGIES,
    TASKS,
    USAGE,
    WIDE_LOADS,
    WIDTHS,
    WORDS,
    WORK,
    Cell,
    Plan,
)

SHOWN: Final = 5
"""Seeds whose inputs are described."""
OTHERS: Final[dict[str, tuple[str, Callable[[float], str]]]] = {
    "Utilization": ("utilization", partial(share, digits=2)),
    "Lost work, processor-hours": ("lost_work", "{:,.0f}".format),
    "Tasks aborted": ("aborted", "{:,.0f}".format),
    "Migrations": ("migrations", "{:,.0f}".format),
    "Useful work on the worst quarter": ("quarter", share),
}
"""What else is told of a run, and how."""


def jobs_section(plan: Plan, logged: fs.Jobs | None) -> fs.reports.Table:
    """Return what the generated jobs are like, by load, and those of LANL's log."""
    seeds = range(1, min(SHOWN, plan.seeds) + 1)
    rows = []
    for load in plan.loads:
        years = [year_of_jobs(seed, load, plan.days, "drawn") for seed in seeds]
        rows.append((f"{load:g}", *shown(OF_JOBS, years)))
    if logged is not None:
        rows.append(("LANL's own", *shown(OF_JOBS, [logged])))
    return table(("Load", *(one.head for one in OF_JOBS.values())), rows)


def failures_section(plan: Plan, real: Real | None) -> fs.reports.Table:
    """Return what the failures are like, the real ones and those of each rate."""
    seeds = range(1, min(SHOWN, plan.seeds) + 1)
    rows = [] if real is None else [("real", *shown(OF_FAILURES, [real.year]))]
    for rate in (*plan.rates, *plan.more_rates):
        years = [year_of_failures(seed, rate, plan.days) for seed in seeds]
        rows.append((f"generated, {times(rate)}", *shown(OF_FAILURES, years)))
    return table(("Failures", *(one.head for one in OF_FAILURES.values())), rows)


def bounds_section(found: Found) -> fs.reports.Table:
    """Return what failures can cost at most, beside what they cost."""
    cells = [found.cell(STAYS, rate) for rate in found.every]
    low, more = found.plan.rates[0], found.plan.loads
    cells += [aware(STAYS, low, load=load, study="loads") for load in more if load != LOAD]
    rows = []
    for cell in cells:
        top, idle = bound(found, cell), Cell(STAYS, rate=0.0, load=cell.load, study="loads")
        rows.append(
            (
                f"{cell.load:g}",
                times(cell.rate),
                f"{top.failures:,.0f}",
                share(top.tasks, 2),
                share(top.jobs, 2),
                f"{found.runs.mean(cell, 'aborted').mean:,.0f}",
                *(gained(found.runs.gain(cell, idle, m)) for m in (TASKS, JOBS, WORK)),
            )
        )
    head = (
        "Load", "Rate", "Failures", "Tasks that can be hit, at most", "Jobs, at most",
        "Tasks aborted, random-select that stays", "Tasks, against no failures, points", "Jobs",
        "Work",
    )  # fmt: skip
    return table(head, rows)


def grid_section(found: Found, measure: str) -> fs.reports.Table:
    """Return a completion rate by strategy and accuracy, a table for each rate."""
    sources = [(f"generated, {times(r)}", Cell(BEST, rate=r)) for r in found.plan.rates]
    if found.runs.has(Cell(STAYS, failures=REAL)):
        sources.insert(0, ("real", Cell(BEST, failures=REAL)))
    rows = []
    for name, base in sources:
        for strategy in STRATEGIES:
            for accuracy in (*found.plan.accuracies, -1.0):
                cell = base.at(strategy=strategy, accuracy=accuracy)
                if not found.runs.has(cell):
                    continue
                level = found.runs.mean(cell, measure)
                other = base.at(strategy=RANDOM, accuracy=accuracy if accuracy >= 0 else PAPER)
                rows.append(
                    (
                        name,
                        LOOKS[strategy].label,
                        f"{accuracy:g}" if accuracy >= 0 else "",
                        share(level.mean, 2),
                        f"{100 * level.deviation:.2f}",
                        "0" if cell == other else gained(found.runs.gain(cell, other, measure)),
                    )
                )
    head = ("Failures", "Strategy", "Accuracy", "Completed", "Deviation of a year, points",
            "Above random, points")  # fmt: skip
    return table(head, rows)


def begins(found: Found, measure: str) -> fs.reports.Table:
    """Return where each strategy begins to pay."""
    every = payments(found, measure)
    rows = []
    for strategy in STRATEGIES[2:]:
        mine = [p for p in every if p.strategy == strategy]
        clear, visible = since(mine, lambda p: p.clear), since(mine, lambda p: p.visible)
        rows.append(
            (
                LOOKS[strategy].label,
                "no rate" if clear is None else times(clear),
                "no rate" if visible is None else times(visible),
                "; ".join(f"{times(p.rate)} {gained(p.gain)}" for p in mine),
            )
        )
    head = (
        "Strategy", "Clear of chance from", "More than years differ, from",
        f"{WORDS[measure].capitalize()}, points above random",
    )  # fmt: skip
    return table(head, rows)


def why_section(found: Found) -> fs.reports.Table:
    """Return other assumptions, each beside random-select under the same."""
    rows = [*_loads(found), *_widths(found), *_deadlines(found), *_logged(found)]
    head = (
        "What differs", "Rate", "Random: tasks, jobs, work", "Best-fit over random, tasks", "Jobs",
        "Work", "Best-fit over first-fit, tasks", "Jobs", "Work", "Omniscient over random, tasks",
        "Work",
    )  # fmt: skip
    return table(head, rows)


def _row(found: Found, name: str, rate: float, **more: Any) -> tuple[str, ...]:
    runs = found.runs
    cells = {s: aware(s, rate, **more) for s in (RANDOM, FIRST, BEST, OMNISCIENT)}
    pairs = (
        (BEST, RANDOM, (TASKS, JOBS, WORK)),
        (BEST, FIRST, (TASKS, JOBS, WORK)),
        (OMNISCIENT, RANDOM, (TASKS, WORK)),
    )
    return (
        name,
        times(rate) if rate else "none",
        ", ".join(share(runs.mean(cells[RANDOM], m).mean) for m in (TASKS, JOBS, WORK)),
        *(
            gained(runs.gain(cells[a], cells[b], m)) if runs.has(cells[a]) else ""
            for a, b, measures in pairs
            for m in measures
        ),
    )


def _loads(found: Found) -> Iterator[tuple[str, ...]]:
    for rate in found.ends:
        yield _row(found, f"load {LOAD:g}, as in the grid", rate)
        for load in found.plan.loads:
            if load != LOAD:
                yield _row(found, f"load {load:g}", rate, load=load, study="loads")
    for load in found.plan.loads:
        if load != LOAD:
            more = {"load": load, "study": "backfill"}
            yield _row(found, f"load {load:g}, with backfill", found.plan.rates[-1], **more)


def _widths(found: Found) -> Iterator[tuple[str, ...]]:
    for width in WIDTHS:
        for load in WIDE_LOADS:
            for rate in (0.0, *found.ends):
                if found.runs.has(found.wide(BEST, rate, width, load)):
                    name = f"tasks of {width:g} processors, load {load:g}"
                    yield _row(found, name, rate, study="width", width=width, load=load)


def _deadlines(found: Found) -> Iterator[tuple[str, ...]]:
    high = found.plan.rates[-1]
    yield _row(found, "jobs above 48 h ask for under 5 min more", high, study="48 h")
    for slack in (1.1, 4.0):
        name = f"every deadline after {slack:g} run times"
        yield _row(found, name, high, study="slack", slack=slack)


def _logged(found: Found) -> Iterator[tuple[str, ...]]:
    if found.runs.has(found.logged(BEST)):
        more = {"study": USAGE, "failures": REAL, "load": -1.0}
        yield _row(found, "LANL's own jobs, real failures", 1.0, **more)


def variants_section(found: Found) -> fs.reports.Table:
    """Return what other predictions and other means give, beside the case of the grid."""
    rows = list(_variants(found))
    return table(
        ("What differs", "Rate", "Strategy", "Beside", "Tasks, points", "Jobs", "Work"), rows
    )


def _variants(found: Found) -> Iterator[tuple[str, ...]]:
    low, high = found.ends
    for rate in found.late_rates:
        for accuracy in found.plan.accuracies:
            if not found.runs.has(found.late(BEST, rate, accuracy)) or accuracy == 1:
                continue
            name = f"predictions may come late, accuracy {accuracy:g}"
            best, first = (found.late(one, rate, accuracy) for one in (BEST, FIRST))
            other = found.late(RANDOM, rate, accuracy)
            yield _beside(found, name, first, other, "random, the same")
            yield _beside(found, name, best, other, "random, the same")
            yield _beside(found, name, best, first, "first-fit, the same")
    for misses in (MISSES, 0.2):
        name = f"{share(misses)} false negatives"
        cell = aware(BEST, high, study="false negatives", misses=misses)
        yield _beside(found, name, cell, aware(BEST, high), "none")
    for cost in (0, 600):
        cell = aware(BEST, high, study="migration cost", cost=cost)
        yield _beside(found, f"migration in {cost} s", cell, aware(BEST, high), "12 s")
    for strategy in AWARE:
        cell = aware(strategy, high, study="no migration")
        yield _beside(found, "no migration", cell, aware(strategy, high), "migration")
        yield _beside(found, "no migration", cell, aware(RANDOM, high), "random")
    for rate in (low, high):
        yield _beside(found, "random stays", aware(STAYS, rate), aware(RANDOM, rate), "random")
        blind, seeing = (aware(s, rate, study="checkpoints") for s in (STAYS, BEST))
        for base, beside in ((STAYS, "the same without"), (RANDOM, "random without")):
            yield _beside(found, "hourly checkpoints", blind, aware(base, rate), beside)
        yield _beside(found, "hourly checkpoints", seeing, blind, "random that stays, with them")


def _beside(found: Found, name: str, cell: Cell, base: Cell, beside: str) -> tuple[str, ...]:
    gains = (gained(found.runs.gain(cell, base, m)) for m in (TASKS, JOBS, WORK))
    return (name, times(cell.rate), LOOKS[cell.strategy].label, beside, *gains)


def other_measures(found: Found) -> fs.reports.Table:
    """Return what else differs at the paper's accuracy."""
    rows = []
    for rate in found.every:
        for strategy in STRATEGIES:
            cell = found.cell(strategy, rate)
            if found.runs.has(cell):
                values = [found.runs.mean(cell, measure).mean for measure, _ in OTHERS.values()]
                told = (tell(x) for x, (_, tell) in zip(values, OTHERS.values(), strict=True))
                rows.append((times(rate), LOOKS[strategy].label, *told))
    return table(("Rate", "Strategy", *OTHERS), rows)


def notes(found: Found) -> str:
    """Return how it was played."""
    plan, count = found.plan, len(found.runs.table)
    return f"""\
- {count:,} runs of {plan.days} days: {plan.seeds} seeds for the grid, {plan.few} for the rest. A
  seed draws the jobs, the failures (except the real ones) and the predictions; strategies,
  accuracies and rates of a seed share them, so differences are paired. Intervals are Student's,
  at 95 %.
- The machine: 256 nodes of 4 processors, one processor a task. Every task gets a whole
  processor or none, so no task is slower than another.
- A deadline is submission plus request; tasks still running are stopped then. Predictions are drawn
  with one error, uniform in [0, 2 (1 - accuracy)] of the gap, always early unless stated otherwise.
- The load is {LOAD:g} unless stated otherwise: jobs hardly wait, so failures alone decide.
- Random-select moves tasks to nodes drawn at random, as in the paper (Section 4.1), and is the
  baseline for claims; random-select that stays ignores all predictions and is shown too.
- "Work" is that of the tasks completed in time, as a share of the work of all tasks.
"""


def sections(found: Found, claims: Sequence[Claim]) -> dict[str, Blocks]:
    """Return the sections of the report."""
    head = ("The paper's claim", "Section", "Measured", "Verdict")
    return {
        "How it was played": listing(notes(found)),
        "Jobs": jobs_section(found.plan, found.jobs),
        "Failures": failures_section(found.plan, found.real),
        "What failures can cost": bounds_section(found),
        "Claims": claims_section(head, claims, ("claim", "section", "measured"), whys(claims)),
        "Where each strategy begins to pay": [begins(found, measure) for measure in MEASURES],
        "Which assumption matters": why_section(found),
        "Other predictions and other means": variants_section(found),
        "Tasks completed": grid_section(found, TASKS),
        "Jobs completed": grid_section(found, JOBS),
        "Work completed": grid_section(found, WORK),
        "Other measures": other_measures(found),
    }
