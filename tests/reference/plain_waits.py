"""Waiting-time bounds as plainly as can be: lists, exact sums, one event after the other."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from forestall.core.model.job_records import NEVER
from forestall.site.learning.waits.classes import Classes
from forestall.site.learning.waits.online import AIMS, KEPT, BoundRule, WaitHistory
from forestall.site.learning.waits.runs import STEP, autocorrelation, run_lengths


@cache
def plain_rank(number: int, quantile: float, confidence: float) -> int:
    """Return the smallest k with sum_{j<k} C(n, j) q^j (1-q)^(n-j) >= c, by a plain sum of floats
    (exact where n is small); 0 where there is none."""
    total = 0.0
    for j in range(number):
        total += math.exp(
            math.lgamma(number + 1) - math.lgamma(j + 1) - math.lgamma(number - j + 1)
            + j * math.log(quantile) + (number - j) * math.log1p(-quantile)
        )  # fmt: skip
        if total >= confidence:
            return j + 1
    return 0


def exact_rank(number: int, quantile: Fraction, confidence: Fraction) -> int:
    """Return the same by fractions."""
    total = Fraction(0)
    for j in range(number):
        total += math.comb(number, j) * quantile**j * (1 - quantile) ** (number - j)
        if total >= confidence:
            return j + 1
    return 0


class PlainClass:
    """What is known of a class."""

    def __init__(self) -> None:
        self.waits: list[int] = []
        self.broken = 0
        self.run = 0
        self.changed = -math.inf
        self.short = 0.0
        self.added = 0
        self.measured = -1
        self.rho = 0.0


def plain_replay(
    waits: WaitHistory, classes: Classes, rule: BoundRule
) -> tuple[list[int], list[int]]:
    """Return the bound (-1: none) and the level that each job gets."""
    count = len(waits)
    known = [PlainClass() for _ in range(classes.count)]
    aims = [(1 - rule.quantile) * 0.8**k for k in range(AIMS if rule.gain else 1)]
    for one in known:
        one.short = 1 - rule.quantile
    kept = max(KEPT, least(rule))
    lengths = run_lengths(rule.quantile, kept, rule.alpha)
    bounds, levels = [-1] * count, [-1] * count
    events: list[tuple[int, int, int, int]] = []  # when, leaving before breaking, order, job
    leave = sorted(range(count), key=lambda job: (int(waits.left[job]), job))
    for place, job in enumerate(leave):
        if waits.left[job] < NEVER:
            events.append((int(waits.left[job]), 0, place, job))

    def mine(job: int) -> list[PlainClass]:
        return [known[classes.parent[level, classes.fine[job]]] for level in range(4)]

    def judge(job: int, missed: bool, now: int) -> None:
        if levels[job] < 0:
            return
        if rule.gain:
            shared = mine(job)[2]
            shared.short += rule.gain * (aims[0] - missed)
            shared.short = min(max(shared.short, 0.0), aims[0])
        one = mine(job)[levels[job]]
        if not rule.changes or waits.ready[job] < one.changed:
            return
        one.run = one.run + 1 if missed else 0
        if one.run < lengths[0]:
            return
        if one.measured < 0 or 4 * (one.added - one.measured) > len(one.waits):
            rho = autocorrelation(one.waits)
            one.rho, one.measured = 0.0 if math.isnan(rho) else rho, one.added
        step = math.ceil(max(one.rho, 0.0) / STEP - 1e-9)
        if one.run < lengths[min(step, len(lengths) - 1)]:
            return
        one.waits = one.waits[-kept:]
        one.run, one.changed, one.measured = 0, now, -1

    def happen(before: int) -> None:
        while True:
            due = [event for event in events if event[0] < before]
            if not due:
                return
            event = min(due)
            events.remove(event)
            now, breaking, _, job = event
            if breaking:
                for one in mine(job):
                    one.broken += rule.waiting
                judge(job, True, now)
                continue
            wait = now - int(waits.ready[job])
            broken = bounds[job] >= 0 and wait > bounds[job]
            for one in mine(job):
                one.broken -= broken and rule.waiting
                if waits.started[job]:
                    one.waits = [*one.waits, wait][-rule.history :]
                    one.added += 1
            if waits.started[job] and not broken:
                judge(job, False, now)

    def quote(job: int) -> None:
        share = mine(job)[2].short
        aim = next((a for a in aims if a <= share), aims[-1]) if rule.gain else aims[0]
        for longest in (False, True):
            if longest and aim == aims[0]:
                return
            for level, one in enumerate(mine(job)):
                together = len(one.waits) + one.broken
                if together > 2 * rule.history:
                    continue
                of = aims[0] if longest else aim
                rank = plain_rank(together, 1 - of, rule.confidence)
                if 0 < rank <= len(one.waits):
                    ordered = sorted(one.waits)
                    bounds[job] = ordered[-1] if longest else ordered[rank - 1]
                    levels[job] = level
                    return

    for job in range(count):
        now = int(waits.ready[job])
        happen(now)
        quote(job)
        if bounds[job] >= 0 and waits.left[job] - now > bounds[job]:
            events.append((now + bounds[job], 1, job, job))
    happen(waits.until)
    return bounds, levels


def least(rule: BoundRule) -> int:
    """Return the fewest waits with a bound."""
    number = 1
    while plain_rank(number, rule.quantile, rule.confidence) == 0:
        number += 1
    return number
