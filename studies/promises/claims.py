"""Tests of the paper's claims on the grid of a job log: each can hold, fail, or find nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from studies.kit.claims import Finding, UntestableError
from studies.kit.means import Floats, mean_of
from studies.promises.surface import Surface

HOLDS, LARGER, SMALLER, PARTLY, FAILS = (
    "holds",
    "holds in direction, larger",
    "holds in direction, smaller",
    "holds in part",
    "does not hold",
)
BETWEEN, BETWEEN_REBUILT = "SDSC to NASA", "SDSC to NASA rebuilt"
STARTS: Final = "SDSC, failures begun later"
ODD, POWERS = "log", "powers of two"
"""Sizes of jobs: those of the log, and each rounded to a power of two."""
CAREFUL, MIDDLE, CARELESS = 9, 5, 1
"""The user risk strategies that the paper draws, in tenths."""

DRAWN: Final = (CARELESS, MIDDLE, CAREFUL)
LOW: Final = 3
"""Accuracies up to this are low, in tenths."""
NEGLIGIBLE: Final = 0.005
"""A difference of shares up to this is negligible."""
ONSET: Final = 0.1
"""A benefit counts from the accuracy on at which a tenth of the whole gain is there."""


def percent(value: float) -> str:
    """Return a relative change as text with a sign."""
    return f"{100 * value:+.1f} %".replace("-0.0", "+0.0")


def points(value: float) -> str:
    """Return a difference of shares as text with a sign, in percentage points."""
    return f"{100 * value:+.1f}".replace("-0.0", "+0.0")


def size_verdict(measured: float, claimed: float) -> str:
    """Return the verdict on an effect of about `claimed`: within a third of it counts as that
    size."""
    if measured <= 0:
        return FAILS
    if measured < claimed * 2 / 3:
        return SMALLER
    return LARGER if measured > claimed * 4 / 3 else HOLDS


def _means(values: Floats) -> Floats:
    means: Floats = values.mean(axis=0)
    return means


def _range(values: Floats, write: Callable[[float], str]) -> str:
    mean, low, high = (write(float(v)) for v in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean} ({low} to {high})"


def _gain(values: Floats, base: float) -> str:
    """Tell gains of a share: in points, and relative to what it was."""
    relative = percent(float(values.mean()) / base)
    return f"{_range(values, points)} points from {base:.3f} ({relative} of it)"


# Accuracy (Section 5.1) --------------------------------------------------------------------------


def levels(s: Surface) -> Finding:
    """QoS lies between .9 and 1."""
    shown = s.qos[:, :, [s.u(u) for u in DRAWN]]
    share = float((shown >= 0.9).mean())
    verdict = HOLDS if share == 1 else PARTLY if share >= 0.5 else FAILS
    text = f"from {shown.min():.3f} to {shown.max():.3f}; {100 * share:.0f} % of runs at .9 or more"
    return Finding(text, verdict)


def accuracy_gain(s: Surface, measure: str, claimed: float) -> Finding:
    """The gain from no prediction to perfect prediction, the largest of the drawn U."""
    values = s.measure(measure)
    gains = values[:, s.a(10), :] - values[:, s.a(0), :]
    best = max(DRAWN, key=lambda u: float(gains[:, s.u(u)].mean()))
    found = gains[:, s.u(best)]
    base = float(values[:, s.a(0), s.u(best)].mean())
    text = f"{_gain(found, base)}, at U = .{best}"
    if measure == "qos" and s.periodic is not None:
        text += f"; periodic checkpoints without prediction {s.periodic[0]:.3f}"
    return Finding(text, size_verdict(float(found.mean()), claimed))


def accuracy_loss(s: Surface, claimed: float) -> Finding:
    """The share of lost work that perfect prediction saves at U = .9."""
    u = s.u(CAREFUL)
    saved = _saved(s.lost[:, s.a(0), u], s.lost[:, s.a(10), u])
    base, after = float(s.lost[:, s.a(0), u].mean()), float(s.lost[:, s.a(10), u].mean())
    text = f"{_range(-saved, percent)}; {base:,.0f} to {after:,.0f} node-hours"
    if after > 0:
        text += f", a factor of {base / after:.0f}"
    if s.periodic is not None:
        text += f"; periodic checkpoints without prediction {s.periodic[1]:,.0f}"
    return Finding(text, _saved_verdict(float(saved.mean()), claimed))


def _saved(before: Floats, after: Floats) -> Floats:
    """Return the share of lost work that is saved; 0 where none was lost."""
    return 1 - np.where(before > 0, after, 1.0) / np.where(before > 0, before, 1.0)


def _saved_verdict(saved: float, claimed: float) -> str:
    """Compare what is left, since shares near 1 hide their differences."""
    if saved <= 0:
        return FAILS
    left = (1 - saved) / (1 - claimed)
    return LARGER if left < 2 / 3 else SMALLER if left > 4 / 3 else HOLDS


def early_benefit(s: Surface) -> Finding:
    """QoS improves already at a = .1."""
    gains = [s.qos[:, s.a(1), s.u(u)] - s.qos[:, s.a(0), s.u(u)] for u in DRAWN]
    every = np.concatenate(gains)
    alike = all(np.array_equal(g, gains[0]) for g in gains)
    texts = [f"U = .{u}: {_range(g, points)} points" for u, g in zip(DRAWN, gains, strict=True)]
    texts = [f"{_range(gains[0], points)} points at each U"] if alike else texts
    means = [float(g.mean()) for g in gains]
    if min(means) > 0 and float((every > 0).mean()) >= 0.9:
        verdict = HOLDS
    else:
        verdict = PARTLY if max(means) > 0 else FAILS
    up = f"; up in {100 * float((every > 0).mean()):.0f} % of the draws"
    return Finding("; ".join(texts) + up, verdict)


def early_elsewhere(gains: Floats) -> Finding:
    """The same with the year of failures begun at other times; gains float64[start, seed]."""
    if not gains.any():
        raise UntestableError("prediction changes nothing in any run")
    up = float((gains > 0).mean())
    text = f"{points(float(gains.mean()))} points in the mean of {len(gains)} starts; "
    text += f"up in {100 * up:.0f} % of the runs"
    if float(gains.mean()) <= 0:
        return Finding(text, FAILS)
    return Finding(text, HOLDS if up >= 0.9 else PARTLY)


def onset(s: Surface) -> Finding:
    """QoS does not improve before a is about U."""
    texts, late = [], []
    for u in DRAWN:
        curve = _means(s.qos)[:, s.u(u)]
        gain = curve - curve[0]
        above = np.flatnonzero(gain >= ONSET * max(float(gain.max()), 0.0) + 1e-12)
        begin = s.tenths_a[int(above[0])] if len(above) else 10
        late.append(begin >= u)
        texts.append(f"U .{u}: from a = {begin / 10:g}")
    verdict = HOLDS if all(late) else PARTLY if sum(late) > 1 else FAILS
    return Finding("; ".join(texts), verdict)


def nondecreasing(curves: Floats, unit: str = "points") -> Finding:
    """Whether curves float64[seed, points] never go down; counts the steps that do."""
    steps = np.diff(curves, axis=1)
    down = int((steps < 0).sum())
    mean_steps = np.diff(curves.mean(axis=0))
    scale = 100 if unit == "points" else 1
    text = f"{down} of {steps.size} steps go down"
    if down:
        text += f", the largest by {-scale * float(steps.min()):.1f} {unit}"
        text += f"; {int((mean_steps < 0).sum())} of {mean_steps.size} in the mean"
    if down == 0:
        return Finding(text, HOLDS)
    return Finding(text, PARTLY if bool((mean_steps >= 0).all()) else FAILS)


def lost_low_accuracy(s: Surface) -> Finding:
    """Low accuracy saves lost work while QoS and utilization stay as they are (U = .1)."""
    u, a = s.u(CARELESS), s.a(3)
    saved = _saved(s.lost[:, s.a(0), u], s.lost[:, a, u])
    qos = s.qos[:, a, u] - s.qos[:, s.a(0), u]
    used = s.utilization[:, a, u] - s.utilization[:, s.a(0), u]
    text = f"at a = .3: lost work {_range(-saved, percent)}, QoS {_range(qos, points)} points, "
    text += f"utilization {_range(used, points)} points"
    flat = max(abs(float(qos.mean())), abs(float(used.mean()))) < 0.005
    if float(saved.mean()) <= 0:
        return Finding(text, FAILS)
    return Finding(text, HOLDS if flat else PARTLY)


def ratio(sdsc: Surface, nasa: Surface) -> Finding:
    """SDSC loses ten times as much work as NASA."""
    columns = [sdsc.u(u) for u in DRAWN]
    up, down = _means(sdsc.lost)[:, columns], _means(nasa.lost)[:, columns]
    ratios = (up / np.where(down > 0, down, np.nan)).ravel()
    ratios = ratios[np.isfinite(ratios)]
    if len(ratios) == 0:
        raise UntestableError("no work is lost")
    middle = float(np.median(ratios))
    text = f"{middle:.1f} times in the median of a and U ({ratios.min():.1f} to "
    text += f"{ratios.max():.1f}); {ratios[0]:.1f} at the lowest accuracy"
    return Finding(text, size_verdict(middle - 1, 9))


def together(s: Surface) -> Finding:
    """QoS, utilization and lost work improve together, over the whole grid."""
    qos, used, lost = (_means(v).ravel() for v in (s.qos, s.utilization, s.lost))
    lost_r = _correlation(qos, lost)
    if float(np.ptp(used)) < 1e-9:
        return Finding(f"utilization never changes; with lost work r = {lost_r:.2f}", FAILS)
    used_r = _correlation(qos, used)
    strong = used_r > 0.5 and lost_r < -0.5
    weak = used_r > 0 and lost_r < 0
    text = f"correlation of QoS with utilization {used_r:.2f}, with lost work {lost_r:.2f}"
    return Finding(text, HOLDS if strong else PARTLY if weak else FAILS)


def _correlation(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1]) if np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0


def careless_middle(s: Surface) -> Finding:
    """At low accuracies QoS at U = .1 is that at U = .5."""
    rows = [s.a(t) for t in s.tenths_a if 0 < t <= LOW]
    off = s.qos[:, rows, s.u(CARELESS)] - s.qos[:, rows, s.u(MIDDLE)]
    text = f"up to a = .{LOW} {_range(off, points)} points apart"
    return Finding(text, HOLDS if float(np.abs(off.mean(axis=0)).max()) <= NEGLIGIBLE else FAILS)


def careless_late(s: Surface) -> Finding:
    """At U = .1 QoS gains nothing below a = .8, and next to nothing from there on."""
    curve = _means(s.qos)[:, s.u(CARELESS)]
    gain = np.abs(curve - curve[0])
    early = max(float(gain[s.a(t)]) for t in s.tenths_a if t < 8)
    late = max(float(gain[s.a(t)]) for t in s.tenths_a if t >= 8)
    text = f"{points(early)} points at most below a = .8, {points(late)} from there on"
    good = [early <= NEGLIGIBLE, late <= 2 * NEGLIGIBLE]
    return Finding(text, HOLDS if all(good) else PARTLY if any(good) else FAILS)


def negated(s: Surface) -> Finding:
    """Users at U = .1 have at most half of the gain in QoS that those at U = .9 have."""
    gain = {u: float((s.qos[:, s.a(10), s.u(u)] - s.qos[:, s.a(0), s.u(u)]).mean())
            for u in (CARELESS, CAREFUL)}  # fmt: skip
    text = f"{points(gain[CARELESS])} points at U = .1, {points(gain[CAREFUL])} at U = .9"
    return Finding(text, HOLDS if gain[CARELESS] <= gain[CAREFUL] / 2 > 0 else FAILS)


def idle_or_lost(s: Surface) -> Finding:
    """From a = .5 on, careful users leave more nodes idle than careless ones, and lose less."""
    rows = [s.a(t) for t in s.tenths_a if t >= MIDDLE]
    idle, lost = (
        mean[rows, s.u(CAREFUL)] - mean[rows, s.u(CARELESS)]
        for mean in (_means(s.idle), _means(s.lost))
    )
    both = (idle > 0) & (lost < 0)
    text = f"from a = .5 on U = .9 leaves {points(float(idle.mean()))} points of node-time idle "
    text += f"beside U = .1 and loses {float(lost.mean()):+,.0f} node-hours in the mean; both at "
    text += f"{int(both.sum())} of {len(rows)} accuracies"
    return Finding(text, HOLDS if both.all() else PARTLY if both.any() else FAILS)


# Sizes of jobs (Section 5.1) ---------------------------------------------------------------------


def fragments(shares: Mapping[str, float]) -> Finding:
    """Odd sizes leave more node-time idle while jobs wait than powers of two do."""
    if not any(shares.values()):
        raise UntestableError("no node is idle while a job waits")
    odd, powers = shares[ODD], shares[POWERS]
    text = f"{100 * odd:.1f} % of node-time is idle while jobs wait; with powers of two "
    return Finding(f"{text}{100 * powers:.1f} %", HOLDS if odd > powers else FAILS)


def avoids(hit: Mapping[str, Floats]) -> Finding:
    """Prediction avoids a larger share of the failures that strike jobs with odd sizes than with
    powers of two; int[a, seed] of such failures, accuracies from 0 on."""
    if not all(counts[0].any() for counts in hit.values()):
        raise UntestableError("no failure strikes a job")
    share = {name: 1 - counts[1:] / counts[0].mean() for name, counts in hit.items()}
    more = [mean_of(one) for one in share[ODD] - share[POWERS]]
    over = ", ".join(f"{100 * one.mean:+.1f} ({100 * one.low:+.1f} to {100 * one.high:+.1f})"
                     for one in more)  # fmt: skip
    text = f"share of failures that strike no more, beside powers of two, by a: {over} points"
    above = [one.above for one in more]
    return Finding(text, HOLDS if all(above) else PARTLY if any(above) else FAILS)


# Users (Section 5.2) -----------------------------------------------------------------------------


def user_gain(s: Surface, measure: str, claimed: float) -> Finding:
    """The gain from careless to careful users (U .1 to .9) at perfect prediction."""
    values = s.measure(measure)[:, s.a(10), :]
    found = values[:, s.u(CAREFUL)] - values[:, s.u(CARELESS)]
    base = float(values[:, s.u(CARELESS)].mean())
    text = _gain(found, base)
    return Finding(text, size_verdict(float(found.mean()), claimed))


def user_loss(s: Surface, factor: float) -> Finding:
    """The factor by which careful users lose less work than careless ones at perfect prediction."""
    lost = s.lost[:, s.a(10), :]
    before, after = float(lost[:, s.u(CARELESS)].mean()), float(lost[:, s.u(CAREFUL)].mean())
    found = before / after if after > 0 else np.inf
    text = f"factor {found:.1f} ({before:,.0f} to {after:,.0f} node-hours)"
    return Finding(text, size_verdict(found - 1, factor - 1))


def less_lost_with_risk(s: Surface) -> Finding:
    """At every accuracy careful users lose less work than careless ones."""
    mean = _means(s.lost)
    rows = [s.a(t) for t in s.tenths_a if t > CARELESS]
    lower = mean[rows, s.u(CAREFUL)] < mean[rows, s.u(CARELESS)]
    text = (
        f"U = .9 loses less than U = .1 at {int(lower.sum())} of {len(rows)} accuracies from .2 on"
    )
    share = float(lower.mean())
    return Finding(text, HOLDS if share == 1 else PARTLY if share >= 0.5 else FAILS)


def perfect(s: Surface) -> Finding:
    """At a = U = 1 QoS is exactly 1, and no work is lost."""
    qos, lost = s.qos[:, s.a(10), s.u(10)], s.lost[:, s.a(10), s.u(10)]
    exact = bool((qos == 1).all() and (lost == 0).all())
    return Finding(
        f"QoS {qos.min():.6g}, lost work {lost.max():.6g} in every draw", HOLDS if exact else FAILS
    )


def insensitive(s: Surface, inside: Callable[[int, int], bool]) -> Finding:
    """At each accuracy nothing depends on U where `inside(a, U)` (in tenths) says so."""
    groups = broken = 0
    for i, a in enumerate(s.tenths_a):
        columns = [j for j, u in enumerate(s.tenths_u) if inside(a, u)]
        for measures in zip(s.qos[:, i], s.utilization[:, i], s.lost[:, i], strict=True):
            if len(columns) < 2:
                continue
            groups += 1
            broken += any(len(np.unique(values[columns])) > 1 for values in measures)
    text = f"broken in {broken} of {groups} pairs of accuracy and draw"
    return Finding(text, HOLDS if broken == 0 else FAILS)


def below_risk(a: int, u: int) -> bool:
    """The paper's words: a < U."""
    return a < u


def below_rest(a: int, u: int) -> bool:
    """The paper's Equation 3: p = 1 - p_f >= U for every p_f <= a, which is a <= 1 - U."""
    return a <= 10 - u
