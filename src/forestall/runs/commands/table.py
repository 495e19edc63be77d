"""A run as a table in the terminal: every number with its unit and what it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from forestall.core._lazy import lazily
from forestall.core.commands.screen import say, show
from forestall.core.commands.spellings import spelled
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.spelling import named
from forestall.core.show.text import fact_rows
from forestall.scheduling.report import digest as promise_digest

with lazily():
    from forestall.machines.report import digest as virtual_digest
    from forestall.sharing.report import digest as cycle_digest

if TYPE_CHECKING:
    from forestall.core.show.facts import Fact
    from forestall.core.show.words import Summary

NAMED = 5


class Digest(Protocol):
    """A run in short, as each model tells it."""

    def headline(self, summary: Summary, failures: int | None) -> list[str]:
        """Return what was run, in parts."""

    def measures(self, summary: Summary) -> tuple[Fact, ...]:
        """Return each measure of a run with its unit and what it means."""


DIGESTS: Final[Mapping[str, Digest]] = {
    "promise": promise_digest,
    "virtual": virtual_digest,
    "cycle": cycle_digest,
}
"""By model."""


def print_run(
    summary: Mapping[str, Any], cleaning: Cleaning, hints: Iterable[str], failures: int | None
) -> None:
    """Print a run: measures, what was left out or changed, hints."""
    digest = DIGESTS[summary.get("model", "promise")]
    say(", ".join(digest.headline(summary, failures)))
    say()
    show(fact_rows(digest.measures(summary)))
    print_notes(cleaning, hints)


def print_notes(cleaning: Cleaning, hints: Iterable[str] = ()) -> None:
    """Print what was left out or changed, with a few examples, and hints."""
    lines = [
        f"{remark.action}: {remark.counted} ({_some(remark.names)})" for remark in cleaning.remarks
    ]
    hinted = [f"hint: {named(hint, spelled)}" for hint in hints]
    if lines or hinted:
        say()
    for line in (*lines, *hinted):
        say(line)


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
