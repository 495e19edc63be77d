"""The report of one run as one HTML page: what the promises were worth, in words and figures."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from forestall.app.kit import series
from forestall.app.kit.report import NO_FIGURES, left_out, show, versions
from forestall.app.promise import words
from forestall.show import words as say_
from forestall.show.html_pieces import (
    EMPTY,
    Html,
    cards,
    html,
    key,
    page,
    pairs,
    paragraph,
    section,
    stacked_bar,
    table,
    write_page,
)
from forestall.show.style import GREEN, GREY, ORANGE, SKY, VERMILLION, has_matplotlib
from forestall.show.words import Summary

NODE_TIME = (
    ("useful", "Useful work", GREEN),
    ("checkpoint_overhead", "Checkpoints", SKY),
    ("lost", "Lost to failures", VERMILLION),
    ("down", "Down", ORANGE),
    ("idle", "Idle", GREY),
)


def write_report(
    path: str | Path,
    *,
    summary: Summary,
    jobs: pl.DataFrame,
    runs: pl.DataFrame,
    failures: pl.DataFrame,
    gantt_span: tuple[int, int] | None = None,
) -> Path:
    """Write the report of one run and return where it is.

    Parameters
    ----------
    path : the HTML file; it appears whole or not at all
    summary : what `summary.json` holds
    jobs, failures : the tables of `jobs.csv` and `failures.csv`
    runs : ``job,start,end,outcome,checkpoints,lost,nodes``, a row for each time a job was started
    gantt_span : window [start, end) of the Gantt chart, s; three eventful days without it

    Without Matplotlib the figures are left out and the page says how to get them.
    """
    drawn = figures(summary, jobs, runs, failures, gantt_span)
    made = words.promises_made(summary)[0]
    text = page(
        "What the promises were worth" if made else "How the jobs fared",
        lead(summary),
        verdict(summary),
        cards(headlines(summary)),
        paragraph(NO_FIGURES, "soft") if not drawn else EMPTY,
        section("Where the node time went", node_time(summary)),
        section("Promises", drawn.get("calibration", EMPTY), calibration_table(summary)),
        section("Nodes and queue over time", drawn.get("levels", EMPTY)),
        section("Who was where", drawn.get("gantt", EMPTY)),
        section("Work lost over time", drawn.get("lost", EMPTY)),
        section("Waiting, response and slowdown", times_table(summary)),
        section("What was left out", left_out(summary)),
        section("Parameters", pairs(parameters_shown(summary), ("Parameter", "Value"))),
        section("Made with", pairs(versions(summary), ("What", "Version"))),
    )
    return write_page(path, text)


def lead(summary: Summary) -> str:
    """Return the line below the title."""
    parameters = summary.get("parameters") or {}
    parts = [
        say_.counted(summary.get("jobs_count"), "job"),
        say_.counted(parameters["nodes"], "node") if "nodes" in parameters else "",
        f"{say_.duration(summary.get('makespan'))} from first submission to last finish",
        f"policy {summary['policy']}" if "policy" in summary else "",
        promised_by(summary),
        f"seed {summary['seed']}" if "seed" in summary else "",
    ]
    return " · ".join(part for part in parts if part)


def promised_by(summary: Summary) -> str:
    """Return which predictor stands behind the promises, where it is not the trace predictor."""
    name = (summary.get("predictor") or {}).get("name", "trace")
    if name == "trace" or not words.promises_made(summary)[0]:
        return ""
    return "a predictor of your own" if name == "own" else f"predictor {name}"


def verdict(summary: Summary) -> Html:
    """Return the run in three plain paragraphs."""
    told = (words.on_promises(summary), words.on_work(summary), words.on_waiting(summary))
    return Html(
        '<div class="verdict">' + "".join(f"<p>{html(text)}</p>" for text in told) + "</div>"
    )


def headlines(summary: Summary) -> list[tuple[str, str, str]]:
    """Return the headline measures as (name, value, what it means)."""
    made, promised = words.promises_made(summary)
    found: list[tuple[str, str, str]] = []
    kept = say_.number(summary.get("promises_kept"))
    if made and kept is not None:
        meaning = f"{say_.in_words(kept)}; {say_.percent(promised)} promised on average"
        found += [
            ("Promises kept", say_.percent(kept), meaning),
            (
                "Quality of service (QoS)",
                say_.ratio(summary.get("qos")),
                "of 1: work finished by its deadline, weighted by what was promised",
            ),
        ]
    wait = summary.get("wait") or {}
    useful = say_.number((summary.get("node_seconds") or {}).get("useful"))
    lost = say_.number(summary.get("lost_work"))
    hours = say_.node_hours(lost).removesuffix(say_.NODE_HOURS)
    share = f", {say_.percent(lost / useful)} of the useful work" if useful and lost else ""
    skipped = say_.number(summary.get("skipped_checkpoints")) or 0
    return [
        *found,
        ("Utilization", say_.percent(summary.get("utilization")), "of node time did useful work"),
        ("Lost work", hours, f"node-hours lost to failures{share}"),
        (
            "Median wait",
            say_.duration(wait.get("median")),
            f"mean {say_.duration(wait.get('mean'))}, 95 % within {say_.duration(wait.get('p95'))}",
        ),
        ("Restarts", say_.count(summary.get("restarts")), "of jobs that a failure had ended"),
        (
            "Checkpoints",
            say_.count(summary.get("checkpoints")),
            f"performed; {skipped:,.0f} skipped as not worth their time",
        ),
    ]


def node_time(summary: Summary) -> Html:
    """Return the bar and the table of what became of all node-seconds."""
    seconds = summary.get("node_seconds") or {}
    total = say_.number(seconds.get("total"))
    if not total:
        return EMPTY
    parts = [
        (name, say_.number(seconds.get(slug)) or 0.0, colour) for slug, name, colour in NODE_TIME
    ]
    alt = ", ".join(f"{name} {say_.percent(spent / total)}" for name, spent, _ in parts)
    rows = [
        (key(colour) + Html(html(name)), say_.node_hours(spent), say_.percent(spent / total))
        for name, spent, colour in parts
    ]
    rows.append((Html("All"), say_.node_hours(total), "100 %"))
    bar = stacked_bar([(name, spent / total, colour) for name, spent, colour in parts], alt)
    return bar + table(("", "Node time", "Share"), rows)


def calibration_table(summary: Summary) -> Html:
    """Return promises by decile, with counts and 95 % intervals."""
    rows = []
    for row in summary.get("calibration") or []:
        if not row["count"]:
            continue
        low, high = series.wilson(round(row["kept_share"] * row["count"]), row["count"])
        rows.append(
            (
                f"{row['low']:.1f} to {row['high']:.1f}",
                say_.count(row["count"]),
                say_.percent(row["promised_mean"]),
                say_.percent(row["kept_share"]),
                f"{say_.percent(low)} to {say_.percent(high)}",
            )
        )
    if not rows:
        return paragraph("This policy makes no promises.")
    heads = ("Promised probability", "Promises", "Promised on average", "Kept", "95 % interval")
    return table(
        heads, rows, "Where the interval holds what was promised, the promises cannot be faulted."
    )


def times_table(summary: Summary) -> Html:
    """Return waits, responses and slowdowns as mean, median and 95th percentile."""
    rows = []
    for slug, name in (("wait", "Wait until the first start"), ("response", "Response")):
        three = summary.get(slug) or {}
        rows.append((name, *(say_.duration(three.get(k)) for k in ("mean", "median", "p95"))))
    slow = summary.get("bounded_slowdown") or {}
    rows.append(
        (
            "Bounded slowdown (10 s)",
            *(say_.ratio(slow.get(k), 2) for k in ("mean", "median", "p95")),
        )
    )
    return table(("", "Mean", "Median", "95th percentile"), rows)


def parameters_shown(summary: Summary) -> dict[str, object]:
    """Return the parameters, and the numbers of a predictor that has learnt in place of the
    accuracy, which it has none of."""
    parameters = dict(summary.get("parameters") or {})
    told = dict(summary.get("predictor") or {"name": "trace"})
    if told.pop("name") != "trace":
        parameters.pop("accuracy", None)
        parameters |= {f"predictor_{name}": value for name, value in told.items()}
    return parameters


def figures(
    summary: Summary,
    jobs: pl.DataFrame,
    runs: pl.DataFrame,
    failures: pl.DataFrame,
    gantt_span: tuple[int, int] | None,
) -> dict[str, Html]:
    """Return the figures that this run has, by name; none without Matplotlib or without jobs."""
    if not has_matplotlib() or jobs.is_empty() or runs.is_empty():
        return {}
    from forestall.app.promise.figures import (
        calibration,
        lost_work_over_time,
        span_of,
        utilization_and_queue,
    )
    from forestall.app.promise.gantt import gantt

    start, end = span_of(jobs, runs)
    nodes = machine_size(summary)
    happened = failures.filter(pl.col("time") < end)
    a, b = gantt_span or (None, None)
    drawn = {
        "levels": show(
            utilization_and_queue(jobs, runs, nodes, happened),
            "Share of busy and down nodes, jobs waiting and nodes that they ask for, over time. "
            + words.on_work(summary),
        ),
        "gantt": show(
            gantt(runs, happened, nodes, a, b, origin=start),
            "Gantt chart of the runs of jobs on nodes, with failures and outages.",
            "" if gantt_span else "The part of the log in which failures hit most jobs.",
        ),
    }
    if words.promises_made(summary)[0]:
        drawn["calibration"] = show(
            calibration(jobs),
            "Share of promises kept over the probability promised. " + words.on_promises(summary),
        )
    if len(happened):
        drawn["lost"] = show(
            lost_work_over_time(happened, start=start, end=end),
            f"Work lost to failures, cumulated: {say_.node_hours(summary.get('lost_work'))}.",
        )
    return drawn


def machine_size(summary: Summary) -> int:
    """Return the nodes of the machine: as the parameters say, else as its node time tells."""
    nodes = say_.number((summary.get("parameters") or {}).get("nodes"))
    if nodes:
        return int(nodes)
    total = say_.number((summary.get("node_seconds") or {}).get("total")) or 0
    return max(round(total / max(say_.number(summary.get("makespan")) or 1, 1)), 1)
