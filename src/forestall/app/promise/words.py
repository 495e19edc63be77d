"""Measures in plain words: what a person would say of a run, with figures and units."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, sqrt
from typing import Any

from forestall.model.units import format_duration

Summary = Mapping[str, Any]
NOTHING = "\N{EN DASH}"
"""Stands where a run has no such measure."""
NODE_HOURS = " node-hours"


def number(value: object) -> float | None:
    """Return a finite number, or None for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)


def percent(value: object) -> str:
    """Return a share as per cent, with digits enough to tell it from 0 and from 100."""
    share = number(value)
    if share is None:
        return NOTHING
    if 0 < share < 0.0001:
        return "under 0.01 %"
    if 0.9999 < share < 1:
        return "over 99.99 %"
    if 0 < share < 0.001 or 0.999 < share < 1:
        return f"{100 * share:.2f} %"
    return f"{100 * share:.1f} %"


def ratio(value: object, digits: int = 3) -> str:
    """Return a plain number."""
    plain = number(value)
    return NOTHING if plain is None else f"{plain:,.{digits}f}"


def count(value: object) -> str:
    """Return a whole number, thousands apart."""
    whole = number(value)
    return NOTHING if whole is None else f"{whole:,.0f}"


def duration(value: object) -> str:
    """Return a time span in the unit that suits it."""
    seconds = number(value)
    return NOTHING if seconds is None else format_duration(seconds)


def node_hours(value: object) -> str:
    """Return node-seconds as node-hours."""
    seconds = number(value)
    if seconds is None:
        return NOTHING
    hours = seconds / 3600
    return f"{hours:,.{1 if 0 < hours < 100 else 0}f}{NODE_HOURS}"


def counted(number_of: object, one: str) -> str:
    """Return a count with its noun: "1 job", "2 jobs"."""
    return f"{count(number_of)} {one}{'' if number_of == 1 else 's'}"


def in_words(share: float) -> str:
    """Return a share as people say it: all, about 9 in 10, about 97 in 100, none.

    >>> in_words(1), in_words(0.9), in_words(0.971), in_words(0.9996), in_words(0)
    ('all', 'about 9 in 10', 'about 97 in 100', 'more than 999 in 1,000', 'none')
    """
    if share >= 1:
        return "all"
    if share <= 0:
        return "none"
    if abs(share * 10 - round(share * 10)) < 0.05 and 0 < round(share * 10) < 10:
        return f"about {round(share * 10)} in 10"
    if 0.01 <= share < 0.995:
        return f"about {round(share * 100)} in 100"
    if share > 0.999:
        return "more than 999 in 1,000"
    if share < 0.001:
        return "fewer than 1 in 1,000"
    return f"about {round(share * 1000)} in 1,000"


def promises_made(summary: Summary) -> tuple[int, float]:
    """Return how many promises were made, and the mean of what they promised."""
    rows = [row for row in summary.get("calibration") or [] if row["count"]]
    made = sum(row["count"] for row in rows)
    if not made:
        return 0, 0.0
    return made, sum(row["count"] * row["promised_mean"] for row in rows) / made


def on_promises(summary: Summary) -> str:
    """Say whether promises were worth what they said."""
    made, promised = promises_made(summary)
    kept = number(summary.get("promises_kept"))
    if not made or kept is None:
        return "No promises were made under this policy, so there are none to account for."
    broken, expected = made * (1 - kept), made * (1 - promised)
    # Two standard deviations of independent promises, and one promise more: nothing is waved
    # through.
    chance = 2 * sqrt(made * max(promised * (1 - promised), 0)) + 1
    if abs(broken - expected) <= chance:
        verdict = "The promises were honest: what was promised is what came true"
    else:
        verdict = (
            "The promises were cautious" if broken < expected else "The promises were too bold"
        ) + f": {broken:,.0f} were broken, where they allowed for {expected:,.1f}"
    if made == 1:
        outcome = "kept" if kept == 1 else "broken"
        return f"One promise was made, of {percent(promised)}, and it was {outcome}."
    capital = in_words(kept)[0].upper() + in_words(kept)[1:]
    text = (
        f"{capital} of {made:,} promises were kept ({percent(kept)}), where {percent(promised)} "
        f"was promised on average. {verdict}."
    )
    brier = number(summary.get("brier"))
    if brier is not None:
        text += (
            f" Their Brier score is {brier:.4f} (0 is perfect; promising every job the same "
            f"{percent(kept)} would have scored {kept * (1 - kept):.4f})."
        )
    return text


def on_work(summary: Summary) -> str:
    """Say what the machine did with its time and what failures took."""
    seconds = summary.get("node_seconds") or {}
    lost, useful = number(summary.get("lost_work")) or 0.0, number(seconds.get("useful")) or 0.0
    text = f"{percent(summary.get('utilization'))} of all node time did useful work. "
    if lost == 0:
        return text + "No work was lost to failures."
    share = f", {percent(lost / useful)} of the useful work" if useful else ""
    restarts = number(summary.get("restarts")) or 0
    again = f" Jobs had to be started again {restarts:,.0f} times." if restarts > 1 else ""
    again = " One job had to be started again." if restarts == 1 else again
    return f"{text}Failures destroyed {node_hours(lost)}{share}.{again}"


def on_waiting(summary: Summary) -> str:
    """Say how long jobs waited."""
    wait = summary.get("wait") or {}
    if number(wait.get("median")) is None:
        return "No job was started."
    return (
        f"Half of the jobs waited no longer than {duration(wait.get('median'))}, "
        f"95 % no longer than {duration(wait.get('p95'))}; the mean is "
        f"{duration(wait.get('mean'))}."
    )


def plain_kind(slug: str) -> str:
    """Return a slug in words: ``larger_than_machine`` is "larger than machine"."""
    return slug.replace("_", " ")
