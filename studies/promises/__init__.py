"""Oliner et al., "Probabilistic QoS Guarantees for Supercomputing Systems", DSN 2005.

Two job logs of 10,000 jobs on 128 nodes, a year of 1,021 failures, prediction accuracy a and user
risk strategy U from 0 to 1: Figures 1 to 12 redrawn, each claim beside what was measured, what
each mechanism does, and whether the promises are honest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from forestall.model.errors import TraceError
from forestall.show.style import new_figure
from forestall.traces.files.atomic import atomic_path
from studies.promises import report
from studies.promises.claims import Claim, evaluate
from studies.promises.figures import write_figures
from studies.promises.inputs import SDSC, Inputs, read_inputs
from studies.promises.runs import play_all, promises_table, runs_table
from studies.promises.study import BURSTS, EARLY, PAPER_LOGS, Plan, cases
from studies.promises.surface import gains_elsewhere, surface

__all__ = ["Reproduction", "reproduce"]


@dataclass(frozen=True)
class Reproduction:
    """What came out.

    Attributes
    ----------
    folder : where the files are; files : their paths
    runs : the tidy table of all runs, as in `runs.csv`
    promises : the promises of the grid, counted by how high they were, as in `promises.csv`
    claims : the paper's claims with what was found
    burst_claims : the same with as many failures gathered into bursts of five
    """

    folder: Path
    files: tuple[Path, ...]
    runs: pl.DataFrame
    promises: pl.DataFrame
    claims: tuple[Claim, ...]
    burst_claims: tuple[Claim, ...]

    @property
    def table(self) -> pl.DataFrame:
        """The claims as a table ``claim,section,log,measured,verdict``."""
        rows = [
            (claim.claim, claim.section, log, finding.measured, finding.verdict)
            for claim in self.claims
            for log, finding in claim.findings.items()
        ]
        return pl.DataFrame(
            rows, schema=["claim", "section", "log", "measured", "verdict"], orient="row"
        )


def reproduce(
    data: Path,
    out: Path,
    *,
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Redo the paper's experiments and write figures, tables and verdicts into the folder `out`.

    Parameters
    ----------
    data : folder that holds the logs (`inputs.NASA_FILE`, `inputs.SDSC_FILE`, `inputs.LANL_FILE`)
    out : folder for `runs.csv`, `promises.csv`, `claims.json`, `claims.md`, `verdict.md` and the
    figures
    workers : processes (0: one for each core); the bytes written do not depend on it
    progress : called with the number of runs done and of all runs

    Raises TraceError where a log is missing or cannot be used or `out` cannot be written to, and
    MissingExtraError without Matplotlib.
    """
    new_figure()  # before minutes are spent
    inputs = read_inputs(Path(data))
    folder = _folder(Path(out))
    played = play_all(cases(Plan()), inputs, workers=workers, progress=progress)
    return written(inputs, runs_table(played), promises_table(played), folder)


def _folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(out, f"cannot be a folder for results: {error.strerror}") from None
    return out


def written(
    inputs: Inputs, runs: pl.DataFrame, promises: pl.DataFrame, folder: Path
) -> Reproduction:
    """Evaluate the runs of a whole plan, write everything into the folder, and return it."""
    surfaces = {log: surface(runs, log) for log in inputs.jobs}
    bursts = {log: surface(runs, log, BURSTS) for log in PAPER_LOGS}
    claims = evaluate(surfaces, gains_elsewhere(runs, SDSC, EARLY))
    burst_claims = evaluate(bursts)
    figures = write_figures(folder, surfaces, bursts, runs, promises)
    claimed = report.claims_section(claims, burst_claims)
    sections = {
        "Inputs": report.inputs_section(inputs, runs) + "\n" + report.repeat_note(runs),
        "Claims": claimed,
        "Which part does what": report.ablation_section(runs),
        "Why the effects are larger": report.controls_section(inputs, runs),
        "Are the promises honest?": report.calibration_section(inputs, promises),
    }
    texts = {
        "runs.csv": runs.write_csv(),
        "promises.csv": promises.write_csv(),
        "claims.json": report.claims_json(claims, burst_claims),
        "claims.md": claimed,
        "verdict.md": report.verdict(sections, [path.name for path in figures]),
    }
    files = (*figures, *_write(folder, texts.items()))
    return Reproduction(folder, files, runs, promises, tuple(claims), tuple(burst_claims))


def _write(folder: Path, texts: Iterable[tuple[str, str]]) -> list[Path]:
    paths = []
    for name, text in texts:
        with atomic_path(folder / name) as beside:
            beside.write_text(text, encoding="utf-8")
        paths.append(folder / name)
    return paths
