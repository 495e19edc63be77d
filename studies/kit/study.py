"""A study: from a paper's inputs to its figures, tables and claims in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import polars as pl

import forestall as fs
from studies.kit.claims import FIELDS, Claim, claims_table, say_claims
from studies.kit.files import folder_for, write_all
from studies.kit.kept_runs import Case, Row, play_all
from studies.kit.text import CLOSING, Blocks, as_json, closing_table, images, report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Plan = TypeVar("Plan")
Inputs = TypeVar("Inputs")
Found = TypeVar("Found")
Given = TypeVar("Given")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Session(Generic[Plan, Inputs]):
    """What a study is played with.

    Attributes
    ----------
    plan, inputs : how much is played, and with what
    folder : of the results
    workers : processes (0: one for each core); results do not depend on it
    on : a cluster that plays the runs, as `fs.over_cluster` takes it; `workers` are its jobs then
    progress : called with what is done and all there is to do, or None
    """

    plan: Plan
    inputs: Inputs
    folder: Path
    workers: int = 0
    progress: Progress | None = None
    on: str | None = None

    def rows(
        self,
        play: Callable[[tuple[Case, ...], Given], list[Row]],
        batches: Sequence[tuple[Case, ...]],
        given: Given,
        stamp: Mapping[str, Any],
        chunk: int = 1,
    ) -> pl.DataFrame:
        """Return the table of all runs, kept in the folder as they are done; see `play_all`."""
        rows = play_all(
            play, batches, given, self.folder, stamp, workers=self.workers, chunk=chunk,
            on=self.on, progress=self.progress,
        )  # fmt: skip
        return pl.DataFrame(rows, infer_schema_length=None)

    def tell(self, done: int, total: int) -> None:
        """Say how far the study is."""
        if self.progress is not None:
            self.progress(done, total)


@dataclass(frozen=True)
class Results:
    """What a study found, ready to be written.

    Attributes
    ----------
    claims : the paper's claims with what was found; where each says on what it rests, `verdict.md`
        ends with one row a claim, and `claims.csv` keeps them
    figures, captions : by the names of their files
    tables : by name; each becomes a CSV
    facts : of `claims.json`, which is not written without
    sections : of `verdict.md`, blocks by title; `lead` : its first words; `verdict` : what was
        found, where there is one sentence for it
    texts : further files
    """

    claims: tuple[Claim, ...]
    figures: Mapping[str, Figure]
    tables: Mapping[str, pl.DataFrame]
    sections: Mapping[str, Blocks]
    facts: Mapping[str, Any] = field(default_factory=dict)
    lead: str = ""
    verdict: str = ""
    captions: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reproduction(Generic[Found]):
    """What came out: where the files are, the files, the claims, tables by name, and what else was
    found."""

    folder: Path
    files: tuple[Path, ...]
    claims: tuple[Claim, ...]
    tables: Mapping[str, pl.DataFrame]
    found: Found


def _say(made: Reproduction[Any]) -> None:
    say_claims(made.claims)


@dataclass(frozen=True)
class Study(Generic[Plan, Inputs, Found]):
    """How a paper is redone.

    Attributes
    ----------
    paper : who wrote it, how it is called, where it stands
    title : of `verdict.md`
    full, quick : the plan of all that is played, and of a look, where there is one
    read : the inputs below a folder (None: without real ones); takes further options of the study
        by name
    play : what was found
    results : what is made of it
    pictures : heading of the figures in `verdict.md`
    say : prints what was found
    asked : what becomes of the command's further options, by name: each takes what was asked,
        whether a look is enough, and a callback for progress, and gives what `read` takes
    """

    paper: str
    title: str
    full: Plan
    read: Callable[..., Inputs]
    play: Callable[[Session[Plan, Inputs]], Found]
    results: Callable[[Found], Results]
    quick: Plan | None = None
    pictures: str = "Figures"
    say: Callable[[Reproduction[Any]], None] = _say
    asked: Mapping[str, Callable[[Any, bool, Progress], Any]] = field(default_factory=dict)

    def planned(self, *, quick: bool = False, **changes: Any) -> Plan:
        """Return the plan with other values."""
        chosen = self.quick if quick and self.quick is not None else self.full
        return replace(chosen, **changes) if changes else chosen  # type: ignore[type-var]

    def reproduce(
        self,
        out: str | Path,
        *,
        data: str | Path | None = None,
        plan: Plan | None = None,
        workers: int = 0,
        on: str | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> Reproduction[Found]:
        """Redo the paper and write figures, tables and the verdict into the folder `out`.

        Parameters
        ----------
        data : folder with the real logs
        plan : how much is played (default: all of it)
        workers : processes (0: one for each core); the bytes written do not depend on it
        on : a cluster that plays the runs, as `fs.over_cluster` takes it, with as many worker jobs
        progress : called with what is done and with all there is to do
        more : further options of the study

        Raises TraceError where a log is missing or cannot be used or `out` cannot be written to,
        and MissingExtraError without Matplotlib.
        """
        fs.style.new_figure()  # before minutes are spent
        chosen = self.full if plan is None else plan
        inputs = self.read(None if data is None else Path(data), chosen, **more)
        session = Session(chosen, inputs, folder_for(out), workers, progress, on)
        return self.write(session.folder, self.play(session))

    def write(self, folder: Path, found: Found) -> Reproduction[Found]:
        """Write all that is made of what was found: all files or none."""
        made = self.results(found)
        texts = {f"{name}.csv": table.write_csv() for name, table in made.tables.items()}
        if made.facts:
            texts["claims.json"] = as_json({"paper": self.paper, **made.facts})
        texts |= made.texts
        sections = {**made.sections, self.pictures: images(made.figures, made.captions)}
        if made.claims and all(one.rests for one in made.claims):
            sections[CLOSING] = closing_table(made.claims)
            texts["claims.csv"] = claims_table(made.claims, FIELDS).write_csv()
        told = report(
            self.title, made.lead or f"{self.paper}.", sections,
            (made.verdict,) if made.verdict else (),
        )  # fmt: skip
        texts["verdict.md"] = fs.reports.markdown(told, figures=".png")
        files = write_all(folder, made.figures, texts)
        return Reproduction(folder, files, made.claims, made.tables, found)
