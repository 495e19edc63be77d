"""How far the nodes of least risk, taken one by one, are from the least together; and what nodes
near each other cost in promises."""

from __future__ import annotations

import polars as pl

import forestall as fs
from studies.kit.claims import UNTESTED, Claim
from studies.kit.text import Blocks, table
from studies.promises.claims import FAILS, HOLDS, PARTLY
from studies.promises.report import measures_row, spread
from studies.promises.study import (
    ABLATION_ACCURACIES,
    LEAST,
    NEAR,
    NEAR_RISKS,
    OFFERS,
    PAPER_LOGS,
    RISKS,
    SLACKS,
    WHERE,
)


def _some(runs: pl.DataFrame, study: str, **like: object) -> pl.DataFrame:
    return runs.filter(pl.col("study") == study, *(pl.col(k) == v for k, v in like.items()))


def _least_row(runs: pl.DataFrame, like: dict[str, object]) -> tuple[str, ...]:
    """Return one row: offers one by one, and the runs with the set of least risk beside those of
    the same draws without."""
    offers, least = _some(runs, OFFERS, **like), _some(runs, LEAST, **like)
    seen, risky, worse = (int(offers[f"offers_{n}"].sum()) for n in ("offers", "risky", "worse"))
    excess = float(offers["offers_excess"].sum()) / worse if worse else 0.0
    most = float(offers["offers_most"].cast(pl.Float64).to_numpy().max())
    both = least.join(_some(runs, "grid", **like), on="seed", suffix="_grid")
    gain = 100 * (both["qos"] - both["qos_grid"])
    wait = both["wait_mean"] - both["wait_mean_grid"]
    lost = both["lost_work"] - both["lost_work_grid"]
    return (
        f"{like['log']}", f"{like['accuracy']:g}", f"{like['risk']:g}",
        f"{seen:,}", f"{risky:,}", f"{worse:,}", f"{excess:.3f}", f"{most:.3f}",
        spread(gain, 2), spread(wait, 1), spread(lost, 0, 1 / 3600),
    )  # fmt: skip


def least_claims(runs: pl.DataFrame) -> tuple[Claim, ...]:
    """Return the paper's claim about which partition is selected, with what was found."""
    made = []
    for log in PAPER_LOGS:
        offers = _some(runs, OFFERS, log=log)
        if len(offers) == 0:
            continue
        seen, risky, worse = (
            int(offers[f"offers_{name}"].sum()) for name in ("offers", "risky", "worse")
        )
        text = f"more than the least in {worse:,} of {seen:,} offers, {risky:,} with a risk above 0"
        if worse:
            text += f"; p_f then {float(offers['offers_excess'].sum()) / worse:.3f} above the least"
        verdict = HOLDS if worse == 0 else PARTLY if worse < 0.05 * risky else FAILS
        if risky == 0:
            verdict = UNTESTED
        made.append(
            Claim(
                "least", "the scheduler selects the partition with the lowest probability of "
                "failure", text, verdict, section="3.3", where=log,
                why="The paper does not say how; here the scheduler takes nodes one by one, by "
                "their own risk. Where a failure hides a later one on another node, another set "
                "can have less risk. --placement least finds it.",
                rests=f"{offers['seed'].n_unique()} draws of the predicted failures, "
                f"{len(offers) // offers['seed'].n_unique()} pairs of a and U, every offer",
            )
        )  # fmt: skip
    return tuple(made)


def least_section(runs: pl.DataFrame) -> Blocks:
    """Return how far offers are from the least, and what the set of least risk changes."""
    rows = [
        _least_row(runs, {"log": log, "accuracy": accuracy, "risk": risk})
        for log in PAPER_LOGS
        for accuracy in ABLATION_ACCURACIES
        for risk in RISKS
    ]
    head = (
        "Log", "a", "U", "Offers looked at", "With a risk above 0", "Not the least",
        "Mean excess of p_f", "Largest", "With the least: QoS, points", "Mean wait, s",
        "Lost work, node-hours",
    )  # fmt: skip
    words = (
        "Offers of runs by the paper's rule (node by node), each compared with the least of all "
        "sets of free nodes, over the first draws; on the right the same jobs and draws with "
        "--placement least, less those without: mean (minimum to maximum)."
    )
    return table(head, rows), fs.reports.Prose(words)


def near_words(runs: pl.DataFrame) -> tuple[str, ...]:
    """Return what each preference costs and brings, over all a, U and draws."""
    lines = []
    keys = ["accuracy", "risk", "seed"]
    for log in PAPER_LOGS:
        for topology, words in WHERE.items():
            plain, *others = (
                _some(runs, NEAR, log=log, topology=topology, variant=name) for name in SLACKS
            )
            for name, some in zip(list(SLACKS)[1:], others, strict=True):
                both = some.join(plain, on=keys, suffix="_plain")
                qos, lost, near = (
                    both.select(pl.col(name, f"{name}_plain").cast(pl.Float64)).to_numpy()
                    for name in ("qos", "lost_work", "near")
                )
                points = 100 * float((qos[:, 0] - qos[:, 1]).mean())
                more = 100 * (float(lost[:, 0].sum()) / float(lost[:, 1].sum()) - 1)
                there, before = (100 * float(share) for share in near.mean(axis=0))
                lines.append(
                    f"{log}, {words}, {name}: {there:.0f} % of runs have near nodes instead "
                    f"of {before:.0f} %; QoS {points:+.2f} points, lost work {more:+.1f} %, "
                    f"mean of {len(both)} runs."
                )
    return tuple(lines)


def near_section(runs: pl.DataFrame) -> Blocks:
    """Return what nodes near each other cost in promises, and what is had for it."""
    rows = []
    for log in PAPER_LOGS:
        for accuracy in ABLATION_ACCURACIES:
            for risk in NEAR_RISKS:
                for topology, words in WHERE.items():
                    for name in SLACKS:
                        some = _some(
                            runs, NEAR, log=log, accuracy=accuracy, risk=risk, topology=topology,
                            variant=name,
                        )  # fmt: skip
                        rows.append((
                            log, f"{accuracy:g}", f"{risk:g}", words, name,
                            spread(some["near"], 3), spread(some["places_mean"], 2),
                            spread(some["promised"], 4), *measures_row(some),
                            spread(some["wait_mean"], 0),
                        ))  # fmt: skip
    head = (
        "Log", "a", "U", "Near each other", "Preferred", "Runs with near nodes (share)",
        "Switches or rows of a run", "Mean promise", "QoS", "Utilization", "Lost work, node-hours",
        "Mean wait, s",
    )  # fmt: skip
    return table(head, rows), fs.reports.Listing(near_words(runs))
