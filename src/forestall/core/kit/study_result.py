"""A study as Python has it: what was found, and all that its folder would hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from forestall.core._lazy import lazily
from forestall.core.kit.study_folder import S, StudyFolder
from forestall.core.show.result import ShownResult

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.core.show.report import Report


@dataclass(frozen=True, repr=False)
class StudyResult(ShownResult, Generic[S]):
    """What a study found.

    Attributes
    ----------
    study : everything, as the study has it
    folder : how it is shown and written
    """

    study: S
    folder: StudyFolder[S]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Its tables by name (Polars), as the CSV files of its folder; those that it has."""
        rows = zip(self.folder.tables, self.folder.rows(self.study), strict=True)
        return {Path(name).stem: table for name, table in rows if table is not None}

    @property
    def table(self) -> pl.DataFrame:
        """The first of its tables."""
        return next(iter(self.tables.values()), pl.DataFrame())

    def to_dict(self) -> dict[str, Any]:
        """Return what `summary.json` in its folder holds."""
        return dict(self.study.summary)

    def _as_report(self) -> Report:
        return self.folder.report(self.study)

    def _save_folder(self, folder: Path) -> Path:
        self.folder.check(folder, force=False)
        self.folder.write(self.study, folder)
        return folder
