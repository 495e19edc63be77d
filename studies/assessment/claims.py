"""The paper's claims beside what is found on machines whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import kolmogorov

from forestall import judge
from studies.assessment import paper
from studies.assessment.scenario import Machine
from studies.kit.claims import Asked, Claim, Finding, Verdicts
from studies.kit.means import Floats

WORDS: Final = Verdicts("confirmed", "in part", "not confirmed")
UNLIKELY: Final = 0.01
MOSTLY: Final = 0.8
"""Share of the failed jobs that a rule about all of them must be right for."""
NEAR: Final = 0.05
"""How far two shares may be apart that count as the same."""


@dataclass(frozen=True)
class Played:
    """All machines: that of the figures; pairs with and without a relation; small ones without; and
    the permutation of a sample of the paper's size and area; policies in a closed loop (the summary
    of `judge.play_policies`). `seed` is that of all."""

    seed: int
    main: Machine
    related: tuple[Machine, ...]
    unrelated: tuple[Machine, ...]
    nulls: tuple[Machine, ...]
    sample: judge.Permutation
    loop: Mapping[str, Any]

    @property
    def tested(self) -> tuple[Machine, ...]:
        """All machines with a relation."""
        return self.main, *self.related

    @property
    def without(self) -> tuple[Machine, ...]:
        """All machines without one."""
        return *self.unrelated, *self.nulls


def _range(values: Sequence[float], digits: int = 3) -> str:
    mean, low, high = float(np.mean(values)), min(values), max(values)
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def significance(played: Played) -> Finding:
    """Two of 3000 random areas exceed 0.562."""
    one, two, _ = paper.CASES
    p = judge.expected_p(paper.AREA, one, two)
    often = p * paper.DRAWS
    at_least = 1 - np.exp(-often) * (1 + often)
    found = played.sample
    fits = at_least > UNLIKELY and found.exceed <= 5 * paper.EXCEED
    return Finding(
        f"{found.exceed} of {found.draws:,} (p = {found.p_value:.2g}) for {one} and {two} periods "
        f"of area {found.auc:.3f}; {often:.1f} are expected, and 2 or more occur in "
        f"{100 * at_least:.0f} % of such tests",
        WORDS.of([fits]),
    )


def predictivity(played: Played) -> Finding:
    """Active memory tells failing jobs, modestly."""
    machines = played.tested
    areas = [one.area.auc for one in machines]
    small = sum(one.chance.p_value < 0.05 for one in machines)
    error = float(np.std(areas, ddof=1)) / np.sqrt(len(areas)) if len(areas) > 1 else 0.0
    sure = float(np.mean(areas)) - 2 * error > 0.5
    return Finding(
        f"area {_range(areas)} on {len(areas)} machines with a relation; p below 0.05 on {small}",
        "confirmed" if sure and 2 * small > len(areas) else "in part" if sure else "not confirmed",
    )


def uniform_p(values: Floats) -> float:
    """Return the p-value of Kolmogorov and Smirnov's test that values are uniform on [0, 1], by
    Stephens' form of the law of many."""
    count = len(values)
    ordered = np.sort(values)
    place = np.arange(count + 1) / count
    distance = max(float(np.max(place[1:] - ordered)), float(np.max(ordered - place[:-1])))
    root = np.sqrt(count)
    return float(kolmogorov((root + 0.12 + 0.11 / root) * distance))


def diagonal(played: Played) -> Finding:
    """Without a relation the area is 0.5 within its interval, and p-values are uniform."""
    machines = played.without
    areas = np.array([one.area.auc for one in machines])
    covered = sum(one.area.low <= 0.5 <= one.area.high for one in machines)
    p = uniform_p(np.array([one.chance.p_value for one in machines]))
    error = float(np.std(areas, ddof=1)) / np.sqrt(len(areas))
    near = abs(float(areas.mean()) - 0.5) < 3 * error
    enough = covered / len(machines) > 0.85
    good = near and p > UNLIKELY and enough
    return Finding(
        f"mean area {areas.mean():.3f} ± {2 * error:.3f} on {len(machines)} machines without a "
        f"relation; {covered} of {len(machines)} intervals (95 %) contain 0.5; p-values uniform "
        f"(Kolmogorov-Smirnov p = {p:.2f})",
        "confirmed" if good else "in part" if near else "not confirmed",
    )


def bias(played: Played) -> Finding:
    """Case III in the ROC curve would bias it."""
    machines = played.without
    areas = [one.biased for one in machines]
    above = sum(value > 0.5 for value in areas)
    return Finding(
        f"area of Case I against Cases II and III without any relation: {_range(areas)}; above "
        f"0.5 on {above} of {len(areas)} machines",
        "confirmed" if above > 0.95 * len(areas) else "in part",
    )


def rise(played: Played) -> Finding:
    """The net-benefit curve rises to the end while actions are free."""
    machines = played.tested
    falls = []
    for one in machines:
        net = one.curve.net
        falls.append(float(np.max(np.maximum.accumulate(net) - net)) / float(net.max()))
    worst = max(falls)
    return Finding(
        f"the curve never falls by more than {100 * worst:.2g} % of its height",
        "confirmed" if worst < 0.01 else "not confirmed",
    )


def knee(played: Played) -> Finding:
    """A fifth of the reboots brings four fifths of the benefit."""
    parts = [one.part for one in played.tested]
    mean = float(np.mean(parts))
    return Finding(
        f"{_range([100 * part for part in parts], 0)} % on {len(parts)} machines",
        "confirmed" if mean >= 0.7 else "in part" if mean > 0.5 else "not confirmed",
    )


def bend(played: Played) -> Finding:
    """The bend of the curve shows the value of the prediction."""
    pairs = list(zip(played.related, played.unrelated, strict=True))
    gaps = np.array([one.part - other.part for one, other in pairs])
    error = float(np.std(gaps, ddof=1)) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.inf
    mean = float(gaps.mean())
    without = [100 * other.part for _, other in pairs]
    blind = [100 * one.blind_part for one, _ in pairs]
    most = float(np.mean(without)) / 100 - paper.SHARE
    own = mean / (mean + most) if mean + most > 0 else 0.0
    sure = mean - 2 * error > 0
    part = f"{100 * max(own, 0):.0f} %"
    return Finding(
        f"20 % of the periods bring {_range(without, 0)} % on the same machines without any "
        f"relation, {100 * mean:+.1f} ± {200 * error:.1f} points with one, {part} of the "
        f"height above random actions; permuting the failures predicts {_range(blind, 0)} %",
        "confirmed" if sure and own > 0.5 else "in part" if sure and own > 0.1 else "not confirmed",
    )


def action_cost(played: Played) -> Finding:
    """With a cost of its own, an action pays by the metric where it does not at random."""
    machines = played.tested
    random = [one.random_breaks_even for one in machines]
    metric = [one.breaks_even for one in machines]
    truly = [(one.truth.random_breaks_even, one.truth.breaks_even) for one in machines]
    ratio = float(np.mean(np.array(metric) / np.array(random)))
    good = all(a > b for a, b in (*zip(metric, random, strict=True), *((m, r) for r, m in truly)))
    return Finding(
        f"random actions lose from {_range(random, 2)} node-hours an action on, actions by the "
        f"metric (in 5 % of the periods or more) from {_range(metric, 2)} on: {ratio:.1f} times; "
        f"counting only what memory destroyed, from {_range([r for r, _ in truly], 2)} and from "
        f"{_range([m for _, m in truly], 2)} on",
        "confirmed" if good else "in part",
    )


def truth(played: Played) -> Finding:
    """The attribution finds the jobs and nodes that memory struck."""
    machines = played.tested
    killed = sum(one.truth.killed for one in machines)
    found = sum(one.truth.found for one in machines)
    failed = sum(one.truth.failed for one in machines)
    areas = [one.truth.area_killed for one in machines if np.isfinite(one.truth.area_killed)]
    share, part = found / max(killed, 1), killed / failed
    tells = (
        bool(areas) and float(np.mean(areas)) > 0.5 + 2 * float(np.std(areas)) / len(areas) ** 0.5
    )
    return Finding(
        f"of {failed:,} failed jobs memory killed {killed:,} ({100 * part:.0f} %); the "
        f"blamed period was on the node truly shortest of memory for {100 * share:.0f} % of "
        f"these; area {_range(areas)} for killed against completed jobs",
        WORDS.of([part * share > MOSTLY, tells and share > 0.5]),
    )


def saved(played: Played) -> Finding:
    """Every failed job could have been saved, so the vertical axis is to be scaled down: by one
    factor, if what the worst 20 % of the periods truly save is the share that the axis says."""
    machines = played.tested
    lost = sum(one.truth.lost for one in machines)
    caught = sum(one.truth.caught for one in machines)
    nominal = sum(float(one.occasions.gain.sum()) for one in machines)
    share = caught / lost if lost else 0.0
    says = float(np.mean([one.part for one in machines]))
    return Finding(
        f"memory destroyed {100 * lost / nominal:.0f} % of the node-hours on the axis; acting in "
        f"the worst 20 % of the periods would have saved {100 * share:.0f} % of that, where the "
        f"axis says {100 * says:.0f} %",
        WORDS.of([lost < nominal, abs(share - says) < NEAR]),
    )


def threshold(played: Played) -> Finding:
    """A threshold that reboots 20 % of the time is at an active memory of 0.09."""
    found = [one.threshold for one in played.tested]
    within = [min(found) <= paper.THRESHOLD <= max(found)]
    return Finding(
        f"{_range(found)} on {len(found)} machines; without a relation "
        f"{_range([one.threshold for one in played.unrelated])}",
        WORDS.of(within),
    )


def loop(played: Played) -> Finding:
    """What acting brings cannot be had from a record in which nobody acted."""
    rows = {one["policy"]: one for one in played.loop["policies"]}
    reboot = rows[f"reboot from {paper.THRESHOLD:g}"]
    actions = reboot["static_actions"] / reboot["actions"]
    share, counted = reboot["saved_share"], reboot["static_saved_share"]
    low, high = reboot["net_per_month_ci_node_hours"]
    return Finding(
        f"rebooting from {paper.THRESHOLD:g} on: the record gives {reboot['static_actions']:,.0f} "
        f"actions for {100 * counted:.0f} % of what memory destroys, simulated it is "
        f"{reboot['actions']:,.0f} for {100 * share:.0f} % ({actions:.1f} times fewer), "
        f"{reboot['net_per_month_node_hours']:,.0f} node-hours a month "
        f"({low:,.0f} to {high:,.0f}); placing jobs on the nodes with the lowest memory saves "
        f"{100 * rows['steer']['saved_share']:.0f} % without an action",
        WORDS.of([actions > 1 + NEAR, counted - share > NEAR]),
    )


SAMPLE: Final = "the paper's counts and area; one sample of that size and area, its order permuted"
RELATED: Final = "all generated machines with a relation; ranges are minimum to maximum"
UNRELATED: Final = "all generated machines without a relation; ranges are minimum to maximum"
PAIRS: Final = "pairs of generated machines that differ in the relation alone; two standard errors"
TRUTH: Final = "the truth of the generated machines with a relation"

LOOPED: Final = "closed-loop runs of as many generated machines; 95 % intervals over machines"

ASKED: Final = (
    Asked(
        "significance", "4.4", "An area of 0.562 is exceeded by 2 of 3000 random ones",
        significance, paper=f"{paper.EXCEED} of {paper.DRAWS}", rests=SAMPLE,
        why="The null of an area depends on nothing but the two counts while there are no ties.",
    ),
    Asked(
        "predictivity", "4.4", "Memory predicts failures better than chance, modestly",
        predictivity, paper=f"area {paper.AREA}", rests=RELATED,
        why="Most failures of the scenario have other causes, as the paper assumes for its own, so "
        "even perfect knowledge of memory gives a modest area; one machine may not show it "
        "in 16 days.",
    ),
    Asked(
        "diagonal", "4.4", "Without a relation the ROC curve is the diagonal on average",
        diagonal, paper="area 0.5", rests=UNRELATED,
        why="The permutation test assumes independent periods; here they nearly are.",
    ),
    Asked(
        "bias", "4.4",
        "With Case III the ROC curve would be biased, because jobs go to the highest nodes",
        bias, paper="no number", rests=UNRELATED,
        why="Case III consists of the nodes that another node of the same job exceeds.",
    ),
    Asked(
        "rise", "4.4, Figure 3", "The net benefit rises monotonically, so acting always seems best",
        rise, paper="rises to the end", rests=RELATED,
        why="An action costs only the time by which a period is shorter than 90 s: almost nothing.",
    ),
    Asked(
        "knee", "4.4, Figure 3",
        "Acting in the worst 20 % of the idle periods brings about 80 % of the gain",
        knee, paper=f"{100 * paper.PART:.0f} %", rests=RELATED,
        why="It depends on the width and length of the jobs attributed to high nodes, which the "
        "paper does not state.",
    ),
    Asked(
        "threshold", "4.4", "Rebooting 20 % of the time is a threshold of active memory of 0.09",
        threshold, paper=f"{paper.THRESHOLD}", rests=RELATED,
        why="The memory use of idle nodes and the speed of leaks were chosen to give the "
        "paper's mean and deviation, not its quantiles.",
    ),
    Asked(
        "bend", "4.4, Figure 3",
        "The strong bend of the curve shows the value of the predictive method",
        bend, paper="a strong bend", rests=PAIRS,
        why="The curve bends without prediction: a period with a high value is charged with more "
        "and wider jobs, because each job goes to its highest node. The paper keeps this bias out "
        "of Figure 2, but it shapes Figure 3. Compare a curve with that of the same actions with "
        "permuted failures, not with random actions.",
    ),
    Asked(
        "action_cost", "4.4",
        "With costs of rebooting, moderate intelligent rebooting pays where random does not",
        action_cost, paper="could well remain positive", rests=RELATED,
        why="Because the curve bends, the first actions bring more than the average action. For "
        "the nominal curve, attribution explains that (the claim above), but it also holds for "
        "what memory truly destroyed, and by a wider margin.",
    ),
    Asked(
        "truth", "4.2, rules 2 and 4",
        "A failed job was caused by its node with the highest memory in the preceding idle time",
        truth, paper="taken to be so", rests=TRUTH,
        why="Where memory was the cause the rule mostly names the right node, and ranks such jobs "
        "well. Most failures had another cause; rule 4, which attributes all of them to "
        "memory, makes the area of all failures modest.",
    ),
    Asked(
        "saved", "4.4",
        "The vertical axis is nominal: realistic benefits are smaller by a suitable factor",
        saved, paper="a suitable factor", rests=TRUTH,
        why="The factor is the share of the loss that actions can prevent (--scale). One factor "
        "for the whole curve is not enough: the worst periods contain more of what memory "
        "destroyed than of what the axis counts, so the first actions are worth more than a "
        "scaled curve shows.",
    ),
    Asked(
        "loop", "6",
        "The benefit of predicting and responding cannot be evaluated directly from historical "
        "data in which nobody responded",
        loop, paper="no number", rests=LOOPED,
        why="A cleaned node stays clean, so later idle periods need no action. A node that loses "
        "memory to the job just before has no idle period in between, or one that ends before "
        "the first sample.",
    ),
)  # fmt: skip


def evaluate(played: Played) -> tuple[Claim, ...]:
    """Return every claim with its verdict."""
    return tuple(one.of(played) for one in ASKED)
