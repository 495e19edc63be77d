"""The paper's claims beside what was measured: each is a test that can fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from studies.kit.claims import Claim, Finding
from studies.kit.means import Floats
from studies.promises.inputs import NASA, REBUILT, SDSC
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
CAREFUL, MIDDLE, CARELESS = 9, 5, 1
"""The user risk strategies that the paper draws, in tenths."""

DRAWN: Final = (CARELESS, MIDDLE, CAREFUL)
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
    return Finding(text, size_verdict(float(found.mean()), claimed))


def accuracy_loss(s: Surface, claimed: float) -> Finding:
    """The share of lost work that perfect prediction saves at U = .9."""
    u = s.u(CAREFUL)
    saved = _saved(s.lost[:, s.a(0), u], s.lost[:, s.a(10), u])
    base, after = float(s.lost[:, s.a(0), u].mean()), float(s.lost[:, s.a(10), u].mean())
    text = f"{_range(-saved, percent)}; {base:,.0f} to {after:,.0f} node-hours"
    if after > 0:
        text += f", a factor of {base / after:.0f}"
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
        return Finding("no work is lost", FAILS)
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


# All of them -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A claim to test: its short name, the paper's section and words, the test of a log's grid, and
    why it comes out as it does.

    `only` is what the names of the logs begin with that it is about; a test of two logs is None.
    """

    name: str
    section: str
    claim: str
    test: Callable[[Surface], Finding] | None
    why: str
    only: str = ""


ASKED: Final = (
    Asked(
        "levels", "5.1", "QoS tends to be in the 0.9 to 1 range",
        levels,
        "Without prediction a job that a failure strikes is late, and its chance of that grows "
        "with its node-hours, by which QoS weighs it. The rate of the failures and the sizes of "
        "these jobs give such values for failures without any pattern; only failures in bursts "
        "give the paper's.",
    ),
    Asked(
        "qos_accuracy", "abstract, 5.1, 6", "prediction raises QoS by as much as 6 %",
        lambda s: accuracy_gain(s, "qos", 0.06),
        "There is more to gain: without prediction QoS is lower here than in the paper, since "
        "these failures hardly come in bursts and so strike more jobs. Gathered into bursts they "
        "give the paper's 6 % on SDSC.",
    ),
    Asked(
        "utilization_accuracy", "abstract, 5.1, 6", "and utilization by as much as 6 %",
        lambda s: accuracy_gain(s, "utilization", 0.06),
        "T ends with the last job. On NASA the machine is idle enough that the last arrivals "
        "decide T whatever fails; on SDSC jobs that never checkpoint without prediction are begun "
        "again and again, and the queue drains a month later.",
    ),
    Asked(
        "lost_accuracy", "abstract, 5.1, 6", "and cuts lost work by 89 %, a factor of 9",
        lambda s: accuracy_loss(s, 8 / 9),
        "Without prediction the risk rule (Equation 1) never checkpoints, so every struck job "
        "loses all it has done; with perfect prediction most failures are avoided.",
    ),
    Asked(
        "nasa_onset", "5.1", "NASA: no benefit to QoS until about a >= U",
        onset,
        "A predicted failure is avoided by choosing other nodes, which costs no delay and does not "
        "depend on what the user accepts; so prediction helps on a lightly loaded machine whatever "
        "U is.",
        only="NASA",
    ),
    Asked(
        "sdsc_early", "5.1", "SDSC: better QoS even at a = 0.1",
        early_benefit,
        "Every draw is compared with the one run without prediction, whose QoS depends on chance: "
        "begun a month later the same failures give another. Over many starts the mean gain is "
        "small and positive; single runs often lose.",
        only="SDSC",
    ),
    Asked(
        "qos_monotone", "5.1", "at U = 0.9 QoS is nondecreasing in a",
        lambda s: nondecreasing(s.qos[:, :, s.u(CAREFUL)]),
        "A higher a reveals more failures and so changes every later placement, and with it which "
        "unknown failures strike.",
    ),
    Asked(
        "lost_early", "5.1, Figure 6",
        "NASA: low accuracy cuts lost work with no effect on QoS or utilization",
        lost_low_accuracy,
        "Placement already avoids the first predicted failures, and that improves QoS too.",
        only="NASA",
    ),
    Asked(
        "together", "5.1", "better QoS comes with higher utilization and less lost work",
        together,
        "Redoing lost work delays jobs. But utilization can follow only where the last arrivals do "
        "not fix it.",
    ),
    Asked(
        "ratio", "5.1", "SDSC loses about 10 times the work of NASA",
        None,
        "The busier log meets more of the same failures. The ratio falls with a: little work is "
        "left to lose on either log, and chance decides.",
    ),
    Asked(
        "qos_users", "5.1, 6", "careful users (U 0.1 to 0.9, at a = 1) raise QoS by 4 %",
        lambda s: user_gain(s, "qos", 0.04),
        "Careful users wait until their nodes are predicted to survive.",
    ),
    Asked(
        "utilization_users", "5.1, 6", "and utilization by 3 %",
        lambda s: user_gain(s, "utilization", 0.03),
        "With perfect prediction, placement avoids most failures for careless users too; little is "
        "left to gain in utilization.",
    ),
    Asked(
        "lost_users", "5.1, 6", "and lose 9 times less work",
        lambda s: user_loss(s, 9),
        "Careless users still meet the failures that placement cannot avoid at the earliest start; "
        "careful users wait for a later start.",
    ),
    Asked(
        "lost_lower", "5.1, Figures 5 and 6", "with higher U less work is lost",
        less_lost_with_risk,
        "Waiting avoids what placement alone cannot. But a user who waits gets nodes with little "
        "or no predicted risk, so Equation 1 seldom takes a checkpoint, and an unforeseen failure "
        "costs the whole job. On the full SDSC machine the two cancel until nearly all failures "
        "are foreseen.",
    ),
    Asked(
        "qos_users_monotone", "5.2, Figure 8", "at a = 1 QoS tends to increase with U",
        lambda s: nondecreasing(s.qos[:, s.a(10), :]),
        "The trend holds; single steps depend on which job gets which nodes.",
    ),
    Asked(
        "perfect", "5.1", "at a = 1 and U = 1 QoS is 1",
        perfect,
        "With all failures known and only certainty accepted, no job is placed where one strikes "
        "it.",
    ),
    Asked(
        "insensitive_words", "4.2, 5.2", "where a < U nothing varies with U",
        lambda s: insensitive(s, below_risk),
        "The sentence derives p_f < U from p_f <= a < U; but users look at p = 1 - p_f.",
    ),
    Asked(
        "insensitive_equation", "by Equation 3", "where a <= 1 - U nothing varies with U",
        lambda s: insensitive(s, below_rest),
        "Every promise is at least 1 - a, so a user who asks for no more takes the first offer, "
        "as one with U = 0 does.",
    ),
)  # fmt: skip


def evaluate(surfaces: Mapping[str, Surface], elsewhere: Floats | None = None) -> tuple[Claim, ...]:
    """Return every claim with what was found on each log.

    `elsewhere` are the gains in QoS of SDSC at a = .1, float64[start, seed], with the year of
    failures begun at other times.
    """
    return tuple(
        Claim(
            one.name, one.claim, *found, section=one.section, where=log, why=one.why,
            rests=_rests(log, surfaces, elsewhere),
        )
        for one in ASKED
        for log, found in _findings(one, surfaces, elsewhere).items()
    )  # fmt: skip


def _rests(log: str, surfaces: Mapping[str, Surface], elsewhere: Floats | None) -> str:
    """Return on what a finding rests: draws of the predicted failures, and years of failures."""
    if log == STARTS and elsewhere is not None:
        starts, draws = elsewhere.shape
        return (
            f"{starts} starts of one year of failures, {draws} draws of the predicted failures each"
        )
    known = surfaces.get(log)
    draws = len(known.qos) if known is not None else min(len(s.qos) for s in surfaces.values())
    return f"{draws} draws of the predicted failures, one year of failures"


def _findings(
    one: Asked, surfaces: Mapping[str, Surface], elsewhere: Floats | None
) -> dict[str, Finding]:
    if one.test is None:
        pairs = {BETWEEN: (SDSC, NASA), BETWEEN_REBUILT: (SDSC, REBUILT)}
        there = {k: pair for k, pair in pairs.items() if NASA in surfaces and SDSC in surfaces}
        return {k: ratio(surfaces[a], surfaces[b]) for k, (a, b) in there.items() if b in surfaces}
    found = {log: one.test(s) for log, s in surfaces.items() if log.startswith(one.only)}
    if one.test is early_benefit and elsewhere is not None:
        found[STARTS] = early_elsewhere(elsewhere)
    return found
