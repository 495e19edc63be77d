"""What commands on studies share: the folder is checked, the work done, the answer told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from forestall.core.commands.options import Force, Json, Quiet, StudyOut
from forestall.core.commands.screen import ProgressBar, say, say_json, say_report
from forestall.core.commands.spellings import spelled
from forestall.core.model.spelling import all_named

if TYPE_CHECKING:
    from forestall.core.kit.study_folder import StudyFolder, Summarized
    from forestall.core.show.report import Report

S = TypeVar("S", bound="Summarized")


@dataclass(frozen=True)
class Output:
    """Where an answer goes and how: a folder (None: none), by force, as JSON, or quietly."""

    out: StudyOut = None
    force: Force = False
    quiet: Quiet = False
    as_json: Json = False


def tell_study(
    folder: StudyFolder[S],
    work: Callable[[ProgressBar], S],
    steps: str,
    output: Output,
    told: Callable[[S], Report] | None = None,
) -> None:
    """Do the work, whose progress is counted in `steps`, write its folder and print its report;
    `told` is the report as it is printed, where that is another than the folder's."""
    if output.out is not None:
        folder.check(output.out, force=output.force)
    with ProgressBar(steps, quiet=output.quiet) as bar:
        found = work(bar)
    written = ""
    if output.out is not None:
        with ProgressBar("figures", quiet=output.quiet) as bar:
            report = all_named(folder.report(found), spelled)
            written = folder.write(found, output.out, bar, report)
    if output.as_json:
        say_json(found.summary)
    elif not output.quiet:
        say_report((told or folder.report)(found))
        if written:
            say()
            say(written)
