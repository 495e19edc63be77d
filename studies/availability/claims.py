"""The slides' claims beside what was measured: each is a test that can fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from studies.availability.inputs import GENERATED_SET, Host
from studies.availability.study import LINEAR, PLAIN, SEMI_MARKOV, relative_errors

HOLDS, PARTLY, FAILS = "confirmed", "confirmed in part", "not confirmed"

OCCURRENCES: Final = (405, 453)
SHARES: Final = {"CPU": (0.69, 0.79), "memory": (0.19, 0.30), "revocation": (0.0, 0.03)}
ACCURACY: Final = 0.86
DISTURBANCE: Final = 0.06
COST: Final = 0.00006
"""What the slides say; accuracy is 1 less the relative error."""


@dataclass(frozen=True)
class Claim:
    """A claim of the slides, and what was found: on which hosts, in words, and whether it holds."""

    claim: str
    hosts: str
    measured: str
    verdict: str


@dataclass(frozen=True)
class Results:
    """What the experiments gave.

    Attributes
    ----------
    hosts : the generated ones
    accuracy : rows of `study.SCHEMA`: all sets, half of the days for training
    training : the same of generated hosts for other shares
    linear : the same by the linear models, and by the semi-Markov process for the same windows
    noise : host, model, events, length_h, change
    cost : length_h, seconds
    """

    hosts: tuple[Host, ...]
    accuracy: pl.DataFrame
    training: pl.DataFrame
    linear: pl.DataFrame
    noise: pl.DataFrame
    cost: pl.DataFrame


def evaluate(results: Results) -> tuple[Claim, ...]:
    """Return all claims in the order of the slides."""
    return (
        statistics(results.hosts),
        *accuracy(results.accuracy),
        *ahead(results.linear),
        *robust(results.noise),
        cheap(results.cost),
    )


def per_cent(value: float, digits: int = 1) -> str:
    """Return a share as text."""
    return f"{100 * value:.{digits}f} %"


def statistics(hosts: Sequence[Host]) -> Claim:
    """How often machines are not available, and why."""
    found = [host.statistics for host in hosts]
    totals = [one.total for one in found]
    words, good = [], [OCCURRENCES[0] <= total <= OCCURRENCES[1] for total in totals]
    for k, (kind, (low, high)) in enumerate(SHARES.items()):
        shares = [one.occurrences[k] / max(one.total, 1) for one in found]
        words.append(f"{kind} {per_cent(min(shares), 0)} to {per_cent(max(shares), 0)}")
        good += [low - 0.005 <= share <= high + 0.005 for share in shares]
    days = sum(host.history.runs.samples * host.history.runs.period for host in hosts) / 86_400
    return Claim(
        "405 to 453 unavailabilities a machine in 3 months: 69 to 79 % CPU, 19 to 30 % memory, "
        "0 to 3 % revocation",
        f"{GENERATED_SET}, {len(hosts)} machines, {days:,.0f} machine-days",
        f"{min(totals)} to {max(totals)} a machine; {', '.join(words)} (the generator is made to "
        "give this; the states are found again from its samples)",
        HOLDS if all(good) else PARTLY,
    )


def accuracy(rows: pl.DataFrame) -> list[Claim]:
    """The mean accuracy over windows of all lengths, on weekdays and weekends."""
    claims = []
    names = rows["set"].unique(maintain_order=True).to_list()
    for name in names:
        for model in (SEMI_MARKOV, PLAIN):
            mine = rows.filter((pl.col("set") == name) & (pl.col("model") == model))
            if len(mine) == 0:
                continue
            words, measured = [], []
            for each, what in ((True, "of each host and hour"), (False, "of all hosts together")):
                errors = relative_errors(mine, each=each)
                mean = 1 - float(errors["error"].to_numpy().mean())
                worst = errors.sort("error")[-1]
                measured.append(mean)
                days = "weekends" if worst["weekend"][0] else "weekdays"
                words.append(
                    f"{per_cent(mean)} {what} (least {per_cent(1 - worst['error'][0])} at "
                    f"{worst['length_h'][0]:g} h, {days})"
                )
            floor = relative_errors(mine, each=True, truth="drawn")["error"].to_numpy().mean()
            words.append(f"chance alone leaves {per_cent(1 - float(floor))} of each host and hour")
            good = sum(value > ACCURACY for value in measured)
            claims.append(
                Claim(
                    f"mean accuracy above 86 %: {model}",
                    name,
                    "; ".join(words),
                    (FAILS, PARTLY, HOLDS)[good],
                )
            )
    return claims


def ahead(rows: pl.DataFrame) -> list[Claim]:
    """The semi-Markov process beside each linear model, on the same windows."""
    claims = []
    errors = relative_errors(rows, each=True)
    keys = ["weekend", "length_h"]
    for ours in (SEMI_MARKOV, PLAIN):
        mine = errors.filter(pl.col("model") == ours)
        words, beaten, lost = [], [], 0
        for model in LINEAR:
            both = mine.join(errors.filter(pl.col("model") == model), on=keys, suffix="_linear")
            one, two = both["error"].to_numpy(), both["error_linear"].to_numpy()
            words.append(f"{model} {per_cent(float(two.mean()))}")
            beaten.append(bool(one.mean() < two.mean()))
            lost += int((one >= two).sum())
        cells = len(mine) * len(LINEAR)
        verdict = HOLDS if all(beaten) else (PARTLY if any(beaten) else FAILS)
        claims.append(
            Claim(
                f"ahead of every linear model: {ours}",
                f"{GENERATED_SET}, {rows['host'].n_unique()} machines",
                f"mean relative error {per_cent(float(mine['error'].to_numpy().mean()))} against "
                f"{', '.join(words)}; behind in {lost} of {cells} comparisons by length and kind "
                "of day",
                verdict,
            )
        )
    return claims


def robust(rows: pl.DataFrame) -> list[Claim]:
    """What ten false events change of predictions for windows over 2 h."""
    claims = []
    for model in (SEMI_MARKOV, PLAIN):
        mine = rows.filter(
            (pl.col("model") == model) & (pl.col("events") == 10) & pl.col("change").is_not_null()
        )
        long = mine.filter(pl.col("length_h") > 2)
        short = mine.filter(pl.col("length_h") <= 2)["change"].to_numpy()
        by_length = long.group_by("length_h").agg(pl.col("change").mean())["change"].to_numpy()
        worst, most = float(by_length.max()), float(long["change"].to_numpy().max())
        good = (worst < DISTURBANCE) + (most < DISTURBANCE)
        claims.append(
            Claim(
                f"10 false events in an hour disturb windows over 2 h by less than 6 %: {model}",
                f"{GENERATED_SET}, {rows['host'].n_unique()} machines",
                f"{per_cent(worst)} in the mean over machines at the worst length, "
                f"{per_cent(most)} at most; up to 2 h: {per_cent(float(short.mean()))} in the "
                f"mean, {per_cent(float(short.max()))} at most",
                (FAILS, PARTLY, HOLDS)[good],
            )
        )
    return claims


def cheap(rows: pl.DataFrame) -> Claim:
    """The cost of a prediction as a share of the job that it is made for."""
    shares = rows["seconds"].to_numpy() / (3600 * rows["length_h"].to_numpy())
    slowest = 1000 * float(rows["seconds"].to_numpy().max())
    return Claim(
        "a prediction costs less than 0.006 % of a remote job",
        GENERATED_SET,
        f"at most {per_cent(float(shares.max()), 6)} of a job as long as the window (up to "
        f"{slowest:.1f} ms for learning and all its steps, on the machine that ran this)",
        HOLDS if float(shares.max()) < COST else FAILS,
    )
