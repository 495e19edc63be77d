"""`forestall predict`: train predictors, ask them, and say which there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forestall._lazy import lazily
from forestall.cli.choice import with_options
from forestall.cli.registry import command, examples
from forestall.cli.runs.options import FAILURES, JSON, OUTPUT, QUIET, READ_FAILURES, chosen
from forestall.cli.screen import ProgressBar, say, say_json, show
from forestall.model.errors import ParameterError
from forestall.model.units import format_duration

with lazily():
    from forestall.app.judge import predict

if TYPE_CHECKING:
    from collections.abc import Mapping

BESIDE = "What was observed beside"


def group() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(
        help="Train predictors of failures on logs, ask them, and list them.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        epilog=examples(
            "forestall predict list",
            "forestall predict train rate failures.csv --out rate.predictor",
            "forestall predict ask rate.predictor --ahead 24h",
        ),
    )
    command(
        app,
        "train",
        "forestall predict train rate failures.csv --out rate.predictor",
        "forestall predict train boosted lanl.csv --system 20 --until 2004-09-01 --out b.predictor",
        "forestall predict train rules failures.csv --events ras.csv --out rules.predictor",
    )(train)
    command(
        app,
        "ask",
        "forestall predict ask rate.predictor --ahead 24h",
        "forestall predict ask rate.predictor --nodes 0-31 --ahead 6h --json",
        "forestall predict ask rate.predictor --since failures.csv --top 5",
    )(ask)
    command(app, "list", "forestall predict list", "forestall predict list --json")(listed)
    return app


EVENTS = Annotated[
    Path | None,
    typer.Option(
        "--events",
        metavar="FILE",
        help="An event log (RAS, syslog) of the same machine.",
        rich_help_panel=BESIDE,
        show_default=False,
    ),
]
METRICS = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="FILE",
        help="Metrics of the same nodes.",
        rich_help_panel=BESIDE,
        show_default=False,
    ),
]
NODES = Annotated[
    int | None,
    typer.Option(
        "--nodes",
        min=1,
        metavar="N",
        help="Nodes of the machine, where that is more than the logs tell.",
        rich_help_panel=FAILURES,
        show_default=False,
    ),
]
UNTIL = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Learn from what lies before this moment only: a date, or 10d (default: the end).",
        rich_help_panel=FAILURES,
        show_default=False,
    ),
]


@with_options(READ_FAILURES)
def train(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which predictor; see `forestall predict list`.")
    ],
    log: Annotated[
        Path, typer.Argument(metavar="FAILURES", help="A failure log of any known format.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FILE", help="The file to write.", rich_help_panel=OUTPUT),
    ],
    until: UNTIL = None,
    nodes: NODES = None,
    events: EVENTS = None,
    metrics: METRICS = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the predictor; may be repeated.",
            show_default=False,
        ),
    ] = None,
    quiet: QUIET = False,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Train a predictor on what was observed up to a moment, and write it to one file."""
    sources = predict.Sources(log, chosen(given), events, metrics, nodes, until)
    with ProgressBar("training", quiet=quiet or as_json) as bar:
        told = predict.train(name, sources, predict.settings_from(settings or []), out, bar.tell)
    if as_json:
        say_json(told)
    elif not quiet:
        print_trained(told)


@with_options(READ_FAILURES)
def ask(
    predictor: Annotated[
        Path, typer.Argument(metavar="PREDICTOR", help="A file of `forestall predict train`.")
    ],
    nodes: Annotated[
        str | None,
        typer.Option(
            "--nodes", metavar="0-3,7", help="Which nodes (default: all).", show_default=False
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="When the window begins: a date, or 10d (default: the latest known moment).",
            show_default=False,
        ),
    ] = None,
    ahead: Annotated[str, typer.Option("--ahead", metavar="DURATION", help="Its length.")] = "24h",
    since: Annotated[
        Path | None,
        typer.Option(
            "--since",
            metavar="FAILURES",
            help="A failure log with what happened since the training.",
            rich_help_panel=FAILURES,
            show_default=False,
        ),
    ] = None,
    events: EVENTS = None,
    metrics: METRICS = None,
    until: UNTIL = None,
    top: Annotated[
        int,
        typer.Option("--top", min=1, metavar="N", help="Rows to print.", rich_help_panel=OUTPUT),
    ] = 20,
    as_json: JSON = False,
    **given: Any,
) -> None:
    """Ask a trained predictor how likely nodes are to fail within a window."""
    values = chosen(given)
    told = {**values, "events": events, "metrics": metrics, "until": until}
    extra = next((key for key, value in told.items() if value is not None), None)
    if since is None and extra is not None:
        value = told[extra] if isinstance(told[extra], bool) else str(told[extra])
        raise ParameterError(extra, value, "a failure log as well ({since} FAILURES)")
    later = None if since is None else predict.Sources(since, values, events, metrics, None, until)
    answer = predict.ask(predictor, predict.PredictionQuestion(nodes, at, ahead, later))
    if as_json:
        say_json(answer)
    else:
        print_answer(answer, top)


def listed(as_json: JSON = False) -> None:
    """List the predictors that learn, baselines first."""
    rows = predict.listing()
    if as_json:
        say_json(rows)
        return
    heads = ("Name", "What it does", "Needs", "")
    table = [
        (
            row["name"],
            row["summary"],
            ", ".join(row["needs"]),
            "" if row["installed"] else f"needs forestall[{row['extra']}]",
        )
        for row in rows
    ]
    show(table, heads if any(row[3] for row in table) else heads[:3], wrap=(1,))


def print_trained(told: Mapping[str, Any]) -> None:
    """Print what a predictor has learnt from."""
    until = predict.spoken(told["trained_until_s"], told["origin_unix_s"])
    show(
        [
            ("predictor", f"{told['name']}: {told['summary']}"),
            ("learnt from", f"{told['trained_failures']:,} failures of {told['nodes']:,} nodes"),
            ("up to", until),
            *((one["action"], one["text"]) for one in told["remarks"]),
            ("file", told["file"]),
        ]
    )


def print_answer(answer: Mapping[str, Any], top: int) -> None:
    """Print the riskiest nodes."""
    rows = answer["nodes"]
    say(
        f"{answer['predictor']['name']}: within {format_duration(answer['ahead_s'])} from "
        f"{answer['at']}, {answer['expected_failures']:.3g} failures are expected of "
        f"{len(rows):,} nodes; that any fails: {answer['any_failure_probability']:.4f}"
    )
    say()
    named = any(row["name"] is not None for row in rows)
    heads = ("Node", *(("Name",) if named else ()), "Fails within it", "Median time to failure")
    table = [
        (
            str(row["node"]),
            *((row["name"] or "",) if named else ()),
            f"{row['failure_probability']:.6f}",
            _spoken_hours(row["median_time_to_failure_hours"]),
        )
        for row in rows[:top]
    ]
    show(table, heads, right=(0, len(heads) - 2, len(heads) - 1))
    if len(rows) > top:
        say(f"... and {len(rows) - top:,} nodes of less risk (--top N, --json)")


def _spoken_hours(hours: float | None) -> str:
    return "not foreseen" if hours is None else format_duration(hours * 3600)
