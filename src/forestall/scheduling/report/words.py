"""Measures in plain words: what a person would say of a run, with figures and units."""

from __future__ import annotations

from math import sqrt

from forestall.core.show.words import Summary, duration, in_words, node_hours, number, percent


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
        return "This policy makes no promises."
    broken, expected = made * (1 - kept), made * (1 - promised)
    # Two standard deviations of independent promises, and one promise more: nothing is waved
    # through.
    chance = 2 * sqrt(made * max(promised * (1 - promised), 0)) + 1
    if abs(broken - expected) <= chance:
        verdict = (
            "The promises were calibrated: the observed share is consistent with the promised one"
        )
    else:
        verdict = (
            "The promises were cautious" if broken < expected else "The promises were too bold"
        ) + f": {broken:,.0f} were broken, {expected:,.1f} were expected"
    if made == 1:
        outcome = "kept" if kept == 1 else "broken"
        return f"One promise was made, with probability {percent(promised)}; it was {outcome}."
    capital = in_words(kept)[0].upper() + in_words(kept)[1:]
    text = (
        f"{capital} of {made:,} promises were kept ({percent(kept)}); the mean "
        f"promised probability was {percent(promised)}. {verdict}."
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
    again = f" Jobs had to be restarted {restarts:,.0f} times." if restarts > 1 else ""
    again = " One job had to be restarted." if restarts == 1 else again
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
