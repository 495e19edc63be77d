"""`python -m studies`: the papers behind it, from real logs or machines of known truth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from forestall.cli.registry import command, examples
from forestall.cli.screen import ProgressBar, say, show


def group() -> typer.Typer:
    """Return the group with a command for each paper."""
    app = typer.Typer(
        help="Redraw the figures of the papers that forestall builds on.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        epilog=examples(
            "python -m studies promises --data traces",
            "python -m studies queues --data traces",
            "python -m studies assessment",
            "python -m studies availability --data traces",
            "python -m studies virtual --data traces",
            "python -m studies cycle-sharing --data traces",
        ),
    )
    command(app, "promises", "python -m studies promises --data traces --out promises")(promises)
    command(app, "queues", "python -m studies queues --data traces --out queues")(queues)
    command(app, "assessment", "python -m studies assessment --out assessment")(assessment)
    command(
        app,
        "availability",
        "python -m studies availability --data traces --out availability",
        "python -m studies availability --quick",
    )(availability)
    command(
        app,
        "virtual",
        "python -m studies virtual --data traces --out virtual",
        "python -m studies virtual --quick",
    )(virtual)
    command(
        app,
        "cycle-sharing",
        "python -m studies cycle-sharing --data traces --out cycle-sharing",
        "python -m studies cycle-sharing --contention none",
        "python -m studies cycle-sharing --quick",
    )(cycle_sharing)
    return app


WORKERS = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes (default: one a core).", show_default=False),
]

DATA = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Folder with the real logs (default: $FORESTALL_DATA).",
        show_default=False,
    ),
]


def promises(
    data: DATA = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and verdict.")
    ] = Path("forestall-promises"),
    workers: WORKERS = None,
) -> None:
    """Oliner et al., DSN 2005: Figures 1 to 12, and its claims beside what is measured here."""
    from studies.promises import reproduce

    named = _logs(data)
    with ProgressBar("runs") as bar:
        found = reproduce(named, out, workers=workers or 0, progress=bar)
    for claim in found.claims:
        say(f"{claim.claim} ({claim.section})")
        for log, finding in claim.findings.items():
            say(f"{log}: {finding.verdict}; {finding.measured}", indent=2)
    say()
    say(f"Figures, tables and verdict.md are in {found.folder}")


def queues(
    data: DATA = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and verdict.")
    ] = Path("forestall-queues"),
) -> None:
    """Hacker and Meglicki, HPDC 2007: Tables 1 to 5 and Figures 1 to 9, and why they differ."""
    from studies.queues import reproduce
    from studies.queues.report import HEADS, cells

    found = reproduce(_logs(data), out)
    for table in found.tables:
        say(f"{table.name}: {table.title}")
        show([cells(value) for value in table.values], HEADS, right=(1, 2, 3), wrap=(0,))
        for reason in table.why:
            say(reason, indent=2)
        say()
    say(f"Figures, values.csv and verdict.md are in {found.folder}")


def assessment(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and verdict.")
    ] = Path("forestall-assessment"),
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="Of the generated machines.")
    ] = 1,
) -> None:
    """Brandt et al., Sandia: is memory worth acting on? Figures 2 and 3 on machines of known
    truth."""
    from studies.assessment import Plan, reproduce
    from studies.assessment.report import headline

    with ProgressBar("machines") as bar:
        found = reproduce(out, plan=Plan(seed=seed), progress=bar)
    say(headline(found.claims))
    say()
    for claim in found.claims:
        say(f"{claim.claim} ({claim.section}; the paper: {claim.paper})")
        say(f"{claim.verdict}; {claim.measured}", indent=2)
    say()
    say(f"Figures, tables and verdict.md are in {found.folder}")


def availability(
    data: DATA = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and verdict.")
    ] = Path("forestall-availability"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer hosts and windows: a look in some seconds.")
    ] = False,
) -> None:
    """Bagchi et al., cycle sharing: accuracy of temporal reliability, against linear models, noise
    and training. Without --data on generated hosts alone."""
    from studies.availability import QUICK, reproduce

    named = _logs(data) if data is not None or "FORESTALL_DATA" in os.environ else None
    with ProgressBar("windows") as bar:
        found = reproduce(out, data=named, plan=QUICK if quick else None, progress=bar)
    for claim in found.claims:
        say(f"{claim.claim} ({claim.hosts})")
        say(f"{claim.verdict}; {claim.measured}", indent=2)
    say()
    say(f"Figures, tables and verdict.md are in {found.folder}")


def virtual(
    data: DATA = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and verdict.")
    ] = Path("forestall-virtual"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer days and seeds: a look within a minute.")
    ] = False,
    workers: WORKERS = None,
) -> None:
    """Fu and Xu, ARES 2009: jobs and tasks completed over prediction accuracy, and where each
    strategy begins to pay. Without --data on generated failures alone. Goes on where it was broken
    off."""
    from studies.virtual import QUICK, reproduce

    named = _logs(data) if data is not None or "FORESTALL_DATA" in os.environ else None
    plan = QUICK if quick else None
    with ProgressBar("runs") as bar:
        found = reproduce(out, data=named, plan=plan, workers=workers or 0, progress=bar)
    for claim in found.claims:
        say(f"{claim.claim} ({claim.section})")
        say(f"{claim.verdict}; {claim.measured}", indent=2)
    say()
    say(f"Figures, tables and verdict.md are in {found.folder}")


def cycle_sharing(
    data: DATA = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and verdict.")
    ] = Path("forestall-cycle-sharing"),
    contention: Annotated[
        str | None,
        typer.Option(
            "--contention",
            metavar="measure|none|DIR",
            help="Measure on this host what a guest takes from its owner (3 min, all cores), "
            "leave it out, or read it from a folder of forestall calibrate "
            "(default: measure; none with --quick).",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer hosts, days and seeds: a look in some seconds.")
    ] = False,
    workers: WORKERS = None,
) -> None:
    """Bagchi et al., cycle sharing: makespan, failures and unscheduled jobs under Condor-style
    matchmaking, Falcon and an omniscient scheduler, and why. Without --data on generated hosts
    alone. Goes on where it was broken off."""
    from studies.cycle_sharing import QUICK, contend, reproduce

    named = _logs(data) if data is not None or "FORESTALL_DATA" in os.environ else None
    plan = QUICK if quick else None
    with ProgressBar("contention") as bar:
        study = contend(contention or ("none" if quick else "measure"), progress=bar)
    with ProgressBar("runs") as bar:
        found = reproduce(
            out, data=named, plan=plan, contention=study, workers=workers or 0, progress=bar
        )
    for claim in found.claims:
        say(f"{claim.claim} ({claim.hosts})")
        say(f"{claim.verdict}; {claim.measured}", indent=2)
    say()
    say(f"Figures, tables and verdict.md are in {found.folder}")


def _logs(data: Path | None) -> Path:
    """Return the folder with the real logs, as given or as the environment says."""
    from forestall.model.errors import ParameterError

    named = data or (Path(os.environ["FORESTALL_DATA"]) if "FORESTALL_DATA" in os.environ else None)
    if named is None or not named.is_dir():
        raise ParameterError("--data", str(named or ""), "a folder with the real logs")
    return named
