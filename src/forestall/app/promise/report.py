"""The report of one run as one HTML page: what the promises were worth, in words and figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from forestall.app.kit import series
from forestall.app.promise import words
from forestall.show.page import (
    EMPTY,
    Html,
    cards,
    html,
    key,
    page,
    pairs,
    paragraph,
    picture,
    section,
    stacked_bar,
    table,
    write_page,
)
from forestall.show.figure_files import data_uri
from forestall.show.style import GREEN, GREY, ORANGE, SKY, VERMILLION, has_matplotlib

Summary = Mapping[str, Any]
NODE_TIME = (
    ("useful", "Useful work", GREEN),
    ("checkpoint_overhead", "Checkpoints", SKY),
    ("lost", "Lost to failures", VERMILLION),
    ("down", "Down", ORANGE),
    ("idle", "Idle", GREY),
)
NO_FIGURES = "Figures are left out, as Matplotlib is not installed: pip install 'forestall[plot]'"


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
        words.counted(summary.get("jobs_count"), "job"),
        words.counted(parameters["nodes"], "node") if "nodes" in parameters else "",
        f"{words.duration(summary.get('makespan'))} from first submission to last finish",
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
    kept = words.number(summary.get("promises_kept"))
    if made and kept is not None:
        meaning = f"{words.in_words(kept)}; {words.percent(promised)} promised on average"
        found += [
            ("Promises kept", words.percent(kept), meaning),
            (
                "Quality of service (QoS)",
                words.ratio(summary.get("qos")),
                "of 1: work finished by its deadline, weighted by what was promised",
            ),
        ]
    wait = summary.get("wait") or {}
    useful = words.number((summary.get("node_seconds") or {}).get("useful"))
    lost = words.number(summary.get("lost_work"))
    hours = words.node_hours(lost).removesuffix(words.NODE_HOURS)
    share = f", {words.percent(lost / useful)} of the useful work" if useful and lost else ""
    skipped = words.number(summary.get("skipped_checkpoints")) or 0
    return [
        *found,
        ("Utilization", words.percent(summary.get("utilization")), "of node time did useful work"),
        ("Lost work", hours, f"node-hours lost to failures{share}"),
        (
            "Median wait",
            words.duration(wait.get("median")),
            f"mean {words.duration(wait.get('mean'))}, "
            f"95 % within {words.duration(wait.get('p95'))}",
        ),
        ("Restarts", words.count(summary.get("restarts")), "of jobs that a failure had ended"),
        (
            "Checkpoints",
            words.count(summary.get("checkpoints")),
            f"performed; {skipped:,.0f} skipped as not worth their time",
        ),
    ]


def node_time(summary: Summary) -> Html:
    """Return the bar and the table of what became of all node-seconds."""
    seconds = summary.get("node_seconds") or {}
    total = words.number(seconds.get("total"))
    if not total:
        return EMPTY
    parts = [
        (name, words.number(seconds.get(slug)) or 0.0, colour) for slug, name, colour in NODE_TIME
    ]
    alt = ", ".join(f"{name} {words.percent(spent / total)}" for name, spent, _ in parts)
    rows = [
        (key(colour) + Html(html(name)), words.node_hours(spent), words.percent(spent / total))
        for name, spent, colour in parts
    ]
    rows.append((Html("All"), words.node_hours(total), "100 %"))
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
                words.count(row["count"]),
                words.percent(row["promised_mean"]),
                words.percent(row["kept_share"]),
                f"{words.percent(low)} to {words.percent(high)}",
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
        rows.append((name, *(words.duration(three.get(k)) for k in ("mean", "median", "p95"))))
    slow = summary.get("bounded_slowdown") or {}
    rows.append(
        (
            "Bounded slowdown (10 s)",
            *(words.ratio(slow.get(k), 2) for k in ("mean", "median", "p95")),
        )
    )
    return table(("", "Mean", "Median", "95th percentile"), rows)


def left_out(summary: Summary) -> Html:
    """Return what was left out of the logs and why, by count."""
    skipped = summary.get("skipped") or {}
    if not any(skipped.values()):
        return paragraph("Nothing: all that the logs tell was used.")
    rows = [(words.plain_kind(kind), words.count(number)) for kind, number in skipped.items()]
    return table(("Why", "Count"), rows)


def parameters_shown(summary: Summary) -> dict[str, object]:
    """Return the parameters, and the numbers of a predictor that has learnt in place of the
    accuracy, which it has none of."""
    parameters = dict(summary.get("parameters") or {})
    told = dict(summary.get("predictor") or {"name": "trace"})
    if told.pop("name") != "trace":
        parameters.pop("accuracy", None)
        parameters |= {f"predictor_{name}": value for name, value in told.items()}
    return parameters


def versions(summary: Summary) -> dict[str, object]:
    """Return what made the run, the seed included."""
    return {**(summary.get("versions") or {}), "seed": summary.get("seed")}


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
            f"Work lost to failures, cumulated: {words.node_hours(summary.get('lost_work'))}.",
        )
    return drawn


def show(figure: Any, alt: str, caption: str = "") -> Html:
    """Return a figure as a part of a page."""
    return picture(data_uri(figure), alt, caption, figure.get_figwidth())


def machine_size(summary: Summary) -> int:
    """Return the nodes of the machine: as the parameters say, else as its node time tells."""
    nodes = words.number((summary.get("parameters") or {}).get("nodes"))
    if nodes:
        return int(nodes)
    total = words.number((summary.get("node_seconds") or {}).get("total")) or 0
    return max(round(total / max(words.number(summary.get("makespan")) or 1, 1)), 1)
