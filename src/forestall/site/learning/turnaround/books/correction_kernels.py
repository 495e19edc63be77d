"""Entries of the curve that corrects probabilities by how earlier ones were kept."""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.site.learning.turnaround import groups_kernels as groups


@entry
def learn(book, chances, kept):
    """Take in what became of promises, in the order in which they ended, and draw the curve."""
    for k in range(len(chances)):
        groups.curve_seen(book, 0, chances[k], kept[k])
    groups.bend(book, 0)


@entry
def on_curve(book, chance):
    """Return a probability on the curve; beyond its last point it goes on level."""
    own = book.groups[0]
    if own.bent == 0:
        return chance
    return groups.bent(book, 0, min(chance, own.curve[own.bent - 1, 0]))
