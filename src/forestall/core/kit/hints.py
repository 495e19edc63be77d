"""What looks as if the user of a run meant something else, and which option would say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forestall.core.model.units import format_duration

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures

LONG_GAP = 86_400
"""Seconds between what a predictor has seen and a run from which on it is worth a hint."""


def on_unseen(seen_to: int, start: int) -> str:
    """Return that a predictor knows nothing of the time just before the run, where that is so."""
    gap = start - seen_to
    if gap < LONG_GAP:
        return ""
    return (
        f"the predictor knows nothing of the {format_duration(gap)} before the run, and assumes "
        "that no node failed then; train it up to the run (predict train {until}, or "
        "{train})"
    )


def on_failures(
    failures: Failures, parameters: Any, played: int, first: int, last: int
) -> list[str]:
    """Return what is odd about a failure log of which `played` failures came about between the
    first and the last second of the jobs."""
    if len(failures) == 0:
        return []
    found = []
    fold = failures.nodes / parameters.nodes
    if fold >= 2 and fold == int(fold):
        found.append(
            f"the failure log has {failures.nodes:,} nodes, {int(fold)} times the machine's; "
            f"{{fold_nodes}} {int(fold)} merges {int(fold)} neighboring nodes into one"
        )
    if played == 0:
        found.append(
            "no failure occurred: none on the machine's nodes falls between "
            f"{format_duration(first)} and {format_duration(last)}, the time of the jobs"
        )
    end = int(failures.time[0]) + failures.span
    if end < last and not parameters.repeat_failures:
        found.append(
            f"the failure log ends after {format_duration(end)} and the jobs after "
            f"{format_duration(last)}; {{repeat_failures}} repeats it"
        )
    return found
