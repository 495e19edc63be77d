"""What stands at the top of a report: sentences, and figures that rest on one set of assumptions.

What jobs lost depends on whether they write checkpoints, which no record tells. So the headline
figures are those of one assumption, and those of the other are a `Scene` of their own, never beside
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from forestall.core.show.report import Scene
from forestall.site.advice.words import first_thing
from forestall.site.losses.amounts import every

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forestall.core.show.facts import Fact
    from forestall.core.show.report import Section
    from forestall.site.advice.advice import Advice
    from forestall.slurm.sources.asked import Asked

MOST_CARDS: Final = 8
COUNTS: Final = frozenset({"count", "jobs"})
"""Units of facts that count records: no results."""
LEADS: Final = ("losses", "nodes", "lemons")
"""Sections whose leads stand at the top of a page."""
BY_NAME: Final = "lemons"
"""The section whose lead names nodes."""
CHECKPOINTS: Final = frozenset({"lower", "checkpoints"})
NO_CHECKPOINTS: Final = frozenset({"upper", "no_checkpoints"})
"""Bounds of facts that assume that jobs write checkpoints, and that none does."""
WITH: Final = "ettr"
"""The section all of whose figures assume checkpoints."""
ADVICE: Final = "advice"


def cards(sections: Sequence[Section], unlike: frozenset[str] = frozenset()) -> list[Fact]:
    """Return the first fact of each section that is a result: a section leads with its most
    important one. A section that has but counts leads with the first of them. Facts of the bounds
    `unlike` are left out."""
    chosen = []
    for part in sections:
        told = [
            one
            for one in part.facts
            if one.value is not None and one.labels.get("bound") not in unlike
        ]
        best = [one for one in told if one.unit not in COUNTS] or told
        if best and part.key != ADVICE:
            chosen.append(best[0])
    return chosen[:MOST_CARDS]


def scenes_of(sections: Sequence[Section], asked: Asked) -> tuple[Scene, ...]:
    """Return the headline figures under each assumption on checkpoints; none where no figure
    depends on it."""
    bounds = {one.labels.get("bound") for part in sections for one in part.facts}
    if not bounds & CHECKPOINTS or not bounds & NO_CHECKPOINTS:
        return ()
    other = [part for part in sections if part.key != WITH]
    often = every(asked.checkpoint_interval)
    return (
        Scene(
            f"each job writes a checkpoint every {often}", tuple(cards(sections, NO_CHECKPOINTS))
        ),
        Scene("no job writes checkpoints", tuple(cards(other, CHECKPOINTS))),
    )


def leads(
    sections: Sequence[Section], advice: Sequence[Advice], asked: Asked, *, two: bool
) -> list[str]:
    """Return the sentences at the top: what was lost, how nodes are, and what to do first.

    Nodes by name are left out where jobs and failures are of `two` machines.
    """
    wanted = [key for key in LEADS if not (two and key == BY_NAME)]
    told = [part for key in wanted for part in sections if part.key == key]
    said = [part.lead for part in told if any(one.value is not None for one in part.facts)]
    return [text for text in (*said, first_thing(advice, asked)) if text]
