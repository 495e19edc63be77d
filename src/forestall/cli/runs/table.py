"""A run as a table in the terminal: every number with its unit and what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from forestall.app.promise import words
from forestall.cli.screen import say, show
from forestall.engine.promise.policies import POLICIES
from forestall.model.cleaning import Cleaning
from forestall.show import words as say_

NAMED = 5


def headline(summary: Mapping[str, Any], failures: int | None) -> str:
    """Return what was run, in one line."""
    parameters = summary["parameters"]
    policy = summary["policy"]
    parts = [
        say_.counted(summary["jobs_count"], "job"),
        say_.counted(parameters["nodes"], "node"),
        "no failures" if failures is None else say_.counted(failures, "failure"),
        f"policy {policy}",
    ]
    if POLICIES.chosen(policy).promises:
        forecast = summary.get("predictor", {}).get("name", "trace")
        accuracy = f"accuracy {parameters['accuracy']:g}"
        told = {"trace": accuracy, "own": "a predictor of your own"}
        parts += [told.get(forecast, f"predictor {forecast}"), f"risk {parameters['risk']:g}"]
    return ", ".join([*parts, f"checkpoints {parameters['checkpoint']}", f"seed {summary['seed']}"])


def rows(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (measure, value with unit, what it means) for each measure of a run."""
    useful = summary["node_seconds"]["useful"]
    lost = summary["lost_work"]
    share = f"{say_.percent(lost / useful)} of the useful work" if useful and lost else ""
    skipped = say_.count(summary["skipped_checkpoints"])
    return [
        *_promises(summary),
        ("Utilization", say_.percent(summary["utilization"]), "of node time did useful work"),
        ("Lost work", say_.node_hours(lost), share or "nothing was lost to failures"),
        ("Wait", *_spread(summary["wait"], say_.duration)),
        ("Response", *_spread(summary["response"], say_.duration)),
        (
            "Bounded slowdown",
            *_spread(summary["bounded_slowdown"], lambda value: say_.ratio(value, 2), " times"),
        ),
        ("Checkpoints", say_.count(summary["checkpoints"]), f"performed; {skipped} skipped"),
        ("Restarts", say_.count(summary["restarts"]), "of jobs that a failure had ended"),
        (
            "Failures",
            say_.count(summary["failures_played"]),
            f"while jobs were there; {say_.count(summary['failures_hit'])} of them hit a job",
        ),
        ("Makespan", say_.duration(summary["makespan"]), "from first submission to last finish"),
    ]


def _promises(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    made, promised = words.promises_made(summary)
    share = summary.get("promises_kept")
    if not made or share is None:
        return [("Promises", "none", "this policy makes none")]
    kept = say_.count(round(share * made))
    return [
        (
            "Promises kept",
            say_.percent(share),
            f"{kept} of {say_.count(made)}; {say_.percent(promised)} promised on average",
        ),
        (
            "Quality of service",
            say_.ratio(summary["qos"], 4),
            "of 1: work finished by its deadline, weighted by its promise",
        ),
        ("Brier score", say_.ratio(summary["brier"], 4), "of the promises; 0 is perfect"),
    ]


def _spread(three: Mapping[str, Any], text: Any, unit: str = "") -> tuple[str, str]:
    return (
        text(three["mean"]) + unit,
        f"on average; median {text(three['median'])}, 95 % within {text(three['p95'])}",
    )


def virtual_headline(summary: Mapping[str, Any], failures: int | None) -> str:
    """Return what was run of virtual machines, in one line."""
    from forestall.app.virtual.words import headline as parts

    return ", ".join(parts(summary, failures))


def virtual_rows(summary: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
    """Return (measure, value with unit, what it means) for a run of virtual machines."""
    from forestall.app.virtual.words import rows as told

    return told(summary)


def cycle_headline(summary: Mapping[str, Any], failures: int | None) -> str:
    """Return what was run of guests on shared hosts, in one line."""
    from forestall.app.cycle.words import headline as parts

    return ", ".join(parts(summary))


def cycle_rows(summary: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
    """Return (measure, value with unit, what it means) for a run of guests on shared hosts."""
    from forestall.app.cycle.words import rows as told

    return told(summary)


class Table(NamedTuple):
    """How the runs of a model are told."""

    headline: Callable[[Mapping[str, Any], int | None], str]
    rows: Callable[[Mapping[str, Any]], Sequence[tuple[str, ...]]]


TABLES: Final = {
    "promise": Table(headline, rows),
    "virtual": Table(virtual_headline, virtual_rows),
    "cycle": Table(cycle_headline, cycle_rows),
}
"""By model."""


def print_run(
    summary: Mapping[str, Any], cleaning: Cleaning, hints: Iterable[str], failures: int | None
) -> None:
    """Print a run: measures, what was left out or changed, hints."""
    told = TABLES[summary.get("model", "promise")]
    say(told.headline(summary, failures))
    say()
    show(told.rows(summary))
    print_notes(cleaning, hints)


def print_notes(cleaning: Cleaning, hints: Iterable[str] = ()) -> None:
    """Print what was left out or changed, with a few examples, and hints."""
    lines = [
        f"{remark.action}: {remark.counted} ({_some(remark.names)})" for remark in cleaning.remarks
    ]
    hinted = [f"hint: {hint}" for hint in hints]
    if lines or hinted:
        say()
    for line in (*lines, *hinted):
        say(line)


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
