"""Hacker and Meglicki, "Using Queue Structures to Improve Job Reliability", HPDC 2007.

The failures of LANL's system of 49 nodes by year of operation, the reliability of nodes, machines
and queues, nodes for a checkpoint interval, spares: Tables 1 to 5 and Figures 1 to 9 redone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from forestall.model.errors import TraceError
from forestall.show.style import new_figure
from forestall.traces.files.atomic import atomic_path
from studies.queues.figures import write_figures
from studies.queues.inputs import read_inputs
from studies.queues.report import values_table, verdict
from studies.queues.tables import Table, every_table

__all__ = ["Reproduction", "reproduce"]


@dataclass(frozen=True)
class Reproduction:
    """What came out: where the files are, the files, and the tables."""

    folder: Path
    files: tuple[Path, ...]
    tables: tuple[Table, ...]


def reproduce(data: Path, out: Path) -> Reproduction:
    """Redo the paper's tables and figures and write them into the folder `out`.

    Parameters
    ----------
    data : folder that holds the failure log (`inputs.LANL_FILE`)
    out : folder for `values.csv`, `verdict.md` and the figures

    Raises TraceError where the log is missing or cannot be used or `out` cannot be written to, and
    MissingExtraError without Matplotlib.
    """
    new_figure()  # before anything is written
    inputs = read_inputs(Path(data))
    tables = every_table(inputs)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(out, f"cannot be a folder for results: {error.strerror}") from None
    figures = write_figures(folder, inputs)
    texts = {
        "values.csv": values_table(tables).write_csv(),
        "verdict.md": verdict(tables, [path.name for path in figures]),
    }
    written = []
    for name, text in texts.items():
        with atomic_path(folder / name) as beside:
            beside.write_text(text, encoding="utf-8")
        written.append(folder / name)
    return Reproduction(folder, (*figures, *written), tables)
