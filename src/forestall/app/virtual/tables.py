"""The tables of the report of a run of virtual machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from forestall.app.kit import measure as measure_
from forestall.app.kit import series
from forestall.app.kit import series as series_
from forestall.app.kit import shares as shares_
from forestall.app.virtual import counts, words
from forestall.reliability.shares import wilson
from forestall.show import words as plain
from forestall.show.html_pieces import EMPTY, Html, Text, html, key, paragraph, stacked_bar, table
from forestall.show.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, YELLOW
from forestall.show.words import Summary

Tables = Mapping[str, pl.DataFrame]
MOST = 10
"""Rows of the tables of jobs and failures that lost most."""
PROCESSOR_TIME = (
    ("useful", "Useful: work of tasks that ended", GREEN),
    ("lost", "Lost to failures", VERMILLION),
    ("stopped", "Work of other tasks that did not end", PURPLE),
    ("paused", "Held without progress: moves, checkpoints", SKY),
    ("down", "Down", ORANGE),
    ("idle", "Idle", GREY),
)
JOB_ENDS = (
    ("completed", "Completed by their deadlines", GREEN),
    ("late", "Completed late", YELLOW),
    ("failure", "Uncompleted, lost tasks to failures", VERMILLION),
    ("deadline", "Uncompleted, ran into the deadline", PURPLE),
    ("dropped", "Dropped: waited until the deadline", GREY),
)
TASK_ENDS = (
    ("completed", "Completed by their deadlines", GREEN),
    ("late", "Completed late", YELLOW),
    ("aborted", "Aborted by a failure", VERMILLION),
    ("stopped", "Stopped at the deadline", PURPLE),
    ("dropped", "Never placed", GREY),
)
WHY = (
    ("unforeseen", "The failure was not foreseen, or only for later"),
    ("placed", "Foreseen; the task came to the node all the same"),
    ("stayed", "Foreseen; the task was there already, and stayed"),
)
MOVE_ENDS = (
    ("arrived", "arrived at their targets"),
    ("target failed", "broken: the target failed"),
    ("source failed", "broken: the source failed"),
    ("ended first", "overtaken: the task ended first"),
    ("deadline first", "overtaken: the deadline came first"),
)


def ends_of(jobs: pl.DataFrame) -> dict[str, int]:
    """Return how many jobs ended how."""
    found = dict(jobs["fate"].value_counts().iter_rows())
    return {name: found.get(name, 0) for name in counts.FATES}


def job_table(jobs: pl.DataFrame) -> Html:
    """Return the bar and the table of how jobs ended, with intervals; with fates."""
    ends, count = ends_of(jobs), len(jobs)
    if not count:
        return EMPTY
    rows: list[Sequence[Text]] = []
    over_days = False
    for slug, name, colour in JOB_ENDS:
        if ends[slug] or slug in ("completed", "failure"):
            cells = [plain.count(ends[slug]), plain.percent(ends[slug] / count)]
            shared = shares_.shared_fate(jobs, pl.col("fate") == slug)
            cells += [
                shares_.between(wilson(ends[slug], count, shared=f or 1)) for f in (1, shared)
            ]
            over_days |= shared is not None
            rows.append((key(colour) + Html(html(name)), *cells))
    heads = ["Jobs", "Count", "Share", "95 % interval", "… over days"]
    last = 5 if over_days else 4
    shares = [(name, ends[slug] / count, colour) for slug, name, colour in JOB_ENDS]
    alt = ", ".join(f"{name}: {plain.percent(share)}" for name, share, _ in shares)
    return stacked_bar(shares, alt) + table(heads[:last], [row[:last] for row in rows])


def task_table(tasks: pl.DataFrame) -> Html:
    """Return the bar and the table of how tasks ended, with the work that they did."""
    told = tasks.group_by("outcome").agg(
        n=pl.len(), done=pl.col("done").cast(pl.Float64).sum(),
        lost=pl.col("lost").cast(pl.Float64).sum(),
    )  # fmt: skip
    found = {row[0]: row[1:] for row in told.iter_rows()}
    if not found:
        return EMPTY
    other = [(slug, slug.capitalize(), BLUE) for slug in sorted(found)]
    named = [*TASK_ENDS, *(row for row in other if row[0] not in {r[0] for r in TASK_ENDS})]
    rows = []
    for slug, name, colour in named:
        if slug in found:
            n, done, lost = found[slug]
            cells = (words.processor_hours(done), words.processor_hours(lost))
            rows.append(
                (key(colour) + Html(html(name)), plain.count(n), plain.percent(n / len(tasks)),
                 *cells)
            )  # fmt: skip
    shares = [(name, found[slug][0] / len(tasks), c) for slug, name, c in named if slug in found]
    alt = ", ".join(f"{name}: {plain.percent(share)}" for name, share, _ in shares)
    heads = ("Tasks", "Count", "Share", "Work that counts", "Work lost")
    return stacked_bar(shares, alt) + table(heads, rows)


def processor_time(summary: Summary) -> Html:
    """Return the bar and the table of what became of all processor-seconds."""
    seconds = summary.get("processor_seconds") or {}
    total = plain.number(seconds.get("total"))
    if not total:
        return EMPTY
    parts = [
        (name, plain.number(seconds.get(slug)) or 0.0, colour)
        for slug, name, colour in PROCESSOR_TIME
    ]
    alt = ", ".join(f"{name} {plain.percent(spent / total)}" for name, spent, _ in parts)
    rows = [
        (
            key(colour) + Html(html(name)),
            words.processor_hours(spent),
            plain.percent(spent / total),
        )
        for name, spent, colour in parts
    ]
    rows.append((Html("All"), words.processor_hours(total), "100 %"))
    bar = stacked_bar([(name, spent / total, colour) for name, spent, colour in parts], alt)
    return bar + table(("", "Processor time", "Share"), rows)


def machine(summary: Summary) -> tuple[int, int]:
    """Return the nodes of the machine and the processors of each."""
    parameters = summary.get("parameters") or {}
    return (
        max(measure_.whole(parameters, "nodes"), 1),
        max(measure_.whole(parameters, "processors_per_node"), 1),
    )


def foresight_tables(summary: Summary, tables: Tables) -> Html:
    """Return how well failures were foreseen, and why they hit tasks."""
    failures, jobs = tables["failures"], tables["jobs"]
    if failures.is_empty() or jobs.is_empty():
        return EMPTY
    start, end = counts.span_of(tables["runs"], jobs)
    told = counts.foresight(failures, start, end, machine(summary)[0])

    def part(number: int) -> tuple[str, str]:
        return plain.count(number), plain.percent(number / told.failures)

    rows: list[tuple[str, str, str]] = [
        ("Failures", plain.count(told.failures), ""),
        ("Foreseen: the predicted time came first", *part(told.early)),
        ("Foreseen too late", *part(told.late)),
        ("Not foreseen", *part(told.failures - told.early - told.late)),
    ]
    if told.gap is not None:
        rows.append(
            ("From the predicted time to the failure, median", plain.duration(told.gap), "")
        )
    if told.accuracy is not None:
        rows.append(("Accuracy as it turned out", "", plain.percent(told.accuracy)))
    if told.early:
        name = "Node time from predicted times to failures"
        rows.append((name, "", plain.percent(told.doubtful)))
    note = (
        "Accuracy: 1 less the mean of the error as a share of the time between two failures of a "
        "node. From the predicted time until the failure a node is avoided: that is what early "
        "predictions cost."
    )
    return table(("", "", "Share"), rows) + paragraph(note, "soft") + aborted_table(tables)


def aborted_table(tables: Tables) -> Html:
    """Return why tasks were on a node when it failed."""
    told = counts.why_aborted(tables["runs"], tables["failures"])
    found = {row[0]: row[1:] for row in told.iter_rows()}
    if not found:
        return EMPTY
    whole = sum(n for n, _ in found.values())
    rows = [
        (name, plain.count(found[slug][0]), plain.percent(found[slug][0] / whole),
         hours(found[slug][1]))
        for slug, name in WHY if slug in found
    ]  # fmt: skip
    heads = ("Why tasks were on a node as it failed", "Tasks", "Share", "Processor-hours lost")
    note = (
        "Tasks come to a node whose predicted time is past where no other has room (or where the "
        "strategy does not look); they stay where they have nowhere to go, no time left, or do not "
        "migrate."
    )
    return table(heads, rows) + paragraph(note, "soft")


def moves_table(summary: Summary, migrations: pl.DataFrame) -> Html:
    """Return what became of migrations, what they bought and what they cost."""
    if migrations.is_empty():
        return paragraph(words.on_moves(summary))
    found = dict(migrations["outcome"].value_counts().iter_rows())
    count = len(migrations)
    rows: list[tuple[str, str, str]] = [("Migrations begun", plain.count(count), "")]
    rows += [
        (f"\N{EN DASH} {name}", plain.count(found[slug]), plain.percent(found[slug] / count))
        for slug, name in MOVE_ENDS
        if slug in found
    ]
    nodes = migrations.select("time", "source").unique()
    rows.append(("Times that a node was left", plain.count(len(nodes)), ""))
    saved, vain = measure_.whole(summary, "tasks_saved"), measure_.whole(summary, "moves_in_vain")
    tasks = measure_.whole(summary, "tasks_count")
    share = plain.percent(saved / tasks) + " of all tasks" if tasks else ""
    rows.append(("Bought: tasks saved", plain.count(saved), share))
    rows.append(("Moves in vain", plain.count(vain), plain.percent(vain / count)))
    still = plain.number(summary.get("migration_time"))
    if still is not None:
        each = f"{plain.duration(still / count)} a migration"
        rows.append(("Cost: standstill of tasks", plain.duration(still), each))
    held = plain.number(summary.get("migration_work"))
    if held is not None:
        rows.append(("Cost: processor time held meanwhile", words.processor_hours(held), ""))
    return table(("", "", "Share"), rows)


def quarters_table(summary: Summary, tables: Tables) -> Html:
    """Return the nodes in quarters by failures: what was done and lost there."""
    if tables["runs"].is_empty() or tables["failures"].is_empty():
        return EMPTY
    found = counts.quarters(
        tables["runs"], tables["tasks"], tables["failures"], machine(summary)[0]
    )
    useful = sum(q.useful for q in found) or 1.0
    rows = [
        (
            q.name.capitalize(), plain.count(q.nodes), plain.count(q.failures), hours(q.useful),
            plain.percent(q.useful / useful), plain.count(q.left), plain.count(q.aborted),
            hours(q.lost),
        )
        for q in found
    ]  # fmt: skip
    heads = (
        "Nodes with", "Nodes", "Failures", "Useful work", "Share", "Moved off", "Aborted", "Lost",
    )  # fmt: skip
    caption = (
        "The nodes in quarters. Work in processor-hours; moved off and aborted are tasks. The "
        "share of the first quarter shows whether nodes were chosen with an eye to failures."
    )
    return table(heads, rows, caption)


def hours(value: float) -> str:
    """Return processor-seconds as processor-hours without the unit."""
    return words.processor_hours(value).removesuffix(words.HOURS)


def jobs_that_lost(jobs: pl.DataFrame) -> Html:
    """Return the jobs that lost most work to failures."""
    worst = jobs.filter(pl.col("lost").cast(pl.Float64) > 0).sort(
        "lost", "job", descending=[True, False]
    )
    if worst.is_empty():
        return EMPTY
    start = int(series.column(jobs, "submit").min())
    rows = [
        (
            str(row["job"]), plain.duration(row["submit"] - start), plain.count(row["size"]),
            plain.count(row["tasks_completed"]), words.processor_hours(float(row["lost"])),
            row["outcome"],
        )
        for row in worst.head(MOST).iter_rows(named=True)
    ]  # fmt: skip
    heads = ("Job", "Submitted after", "Tasks", "Completed", "Work lost", "The job")
    share = series_.amounts(worst.head(MOST), "lost").sum() / series_.amounts(worst, "lost").sum()
    text = f"{plain.counted(len(worst), 'job')} lost work to failures"
    if len(worst) > MOST:
        text += f"; these {MOST} have {plain.percent(float(share))} of it"
    return table(heads, rows, f"{text}.")


def failures_that_cost(tables: Tables) -> Html:
    """Return the failures that took most work."""
    failures, jobs = tables["failures"], tables["jobs"]
    worst = counts.with_predictions(failures).filter(pl.col("tasks") > 0)
    if worst.is_empty():
        return EMPTY
    worst = worst.sort("lost", "time", "node", descending=[True, False, False])
    start = int(series.column(jobs, "submit").min())
    rows = [
        (
            plain.duration(row["time"] - start), str(row["node"]), row["kind"] or plain.NOTHING,
            seen(row["time"], row["expected"]), plain.count(row["tasks"]),
            words.processor_hours(float(row["lost"] or 0)),
        )
        for row in worst.head(MOST).iter_rows(named=True)
    ]  # fmt: skip
    heads = ("Failed after", "Node", "Kind", "Predicted", "Tasks aborted", "Work lost")
    return table(heads, rows, f"{plain.counted(len(worst), 'failure')} hit tasks.")


def seen(time: int, expected: int | None) -> str:
    """Return how a failure was foreseen, in words."""
    if expected is None:
        return "no"
    if expected > time:
        return f"{plain.duration(expected - time)} too late"
    return f"{plain.duration(time - expected)} before"


def waiting(summary: Summary) -> Html:
    """Return how long jobs waited for their first start."""
    wait = summary.get("wait") or {}
    if plain.number(wait.get("median")) is None:
        return EMPTY
    cells = (plain.duration(wait.get(name)) for name in ("mean", "median", "p95"))
    dropped = measure_.whole(summary, "jobs_dropped")
    caption = f"Of jobs that were placed; {dropped:,} were dropped." if dropped else ""
    heads = ("", "Mean", "Median", "95th percentile")
    return table(heads, [("Wait until the first start", *cells)], caption)
