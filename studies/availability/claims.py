"""The slides' claims beside what was measured: each is a test that can fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from studies.availability.inputs import GENERATED_SET, Host
from studies.availability.study import LINEAR, PLAIN, SEMI_MARKOV, relative_errors
from studies.kit.claims import CONFIRMED, Claim
from studies.kit.text import share

HOLDS, PARTLY, FAILS = CONFIRMED
UNCLEAR: Final = "not measured"

OCCURRENCES: Final = (405, 453)
SHARES: Final = {"CPU": (0.69, 0.79), "memory": (0.19, 0.30), "revocation": (0.0, 0.03)}
ACCURACY: Final = 0.86
DISTURBANCE: Final = 0.06
COST: Final = 0.00006
MONITORING: Final = 0.01
"""What the slides say; accuracy is 1 less the relative error."""


@dataclass(frozen=True)
class Found:
    """What the experiments gave.

    Attributes
    ----------
    hosts : the generated ones
    accuracy : rows of `study.SCHEMA`: all sets, half of the days for training
    training : the same of generated hosts for other shares
    linear : the same by the linear models, and by the semi-Markov process for the same windows
    noise : host, model, events, length_h, change
    cost : length_h, seconds
    watching : shares of one processor and of memory that an agent takes; None: not measured
    watched : seconds for which it was run
    """

    hosts: tuple[Host, ...]
    accuracy: pl.DataFrame
    training: pl.DataFrame
    linear: pl.DataFrame
    noise: pl.DataFrame
    cost: pl.DataFrame
    watching: tuple[float, float] | None = None
    watched: int = 0


def evaluate(found: Found) -> tuple[Claim, ...]:
    """Return all claims in the order of the slides."""
    return (
        statistics(found.hosts),
        *accuracy(found.accuracy),
        *ahead(found.linear),
        *robust(found.noise),
        cheap(found.cost),
        light(found.watching, found.watched),
    )


def statistics(hosts: Sequence[Host]) -> Claim:
    """How often machines are not available, and why."""
    found = [host.statistics for host in hosts]
    totals = [one.total for one in found]
    words, good = [], [OCCURRENCES[0] <= total <= OCCURRENCES[1] for total in totals]
    for k, (kind, (low, high)) in enumerate(SHARES.items()):
        shares = [one.occurrences[k] / max(one.total, 1) for one in found]
        words.append(f"{kind} {share(min(shares), 0)} to {share(max(shares), 0)}")
        good += [low - 0.005 <= part <= high + 0.005 for part in shares]
    days = sum(host.history.runs.samples * host.history.runs.period for host in hosts) / 86_400
    return Claim(
        "statistics",
        "405 to 453 unavailabilities a machine in 3 months: 69 to 79 % CPU, 19 to 30 % memory, "
        "0 to 3 % revocation",
        f"{min(totals)} to {max(totals)} a machine; {', '.join(words)} (the generator is built to "
        "give this; the states are derived again from its samples)",
        HOLDS if all(good) else PARTLY,
        section="Evaluation of Availability Prediction",
        where=f"{GENERATED_SET}, {len(hosts)} machines, {days:,.0f} machine-days",
        rests=f"{len(hosts)} generated hosts of one seed, built to give this",
    )


def accuracy(rows: pl.DataFrame) -> Iterator[Claim]:
    """The mean accuracy over windows of all lengths, on weekdays and weekends."""
    names = rows["set"].unique(maintain_order=True).to_list()
    for name in names:
        for model in (SEMI_MARKOV, PLAIN):
            mine = rows.filter((pl.col("set") == name) & (pl.col("model") == model))
            if len(mine) == 0:
                continue
            words, measured = [], []
            for each, what in ((True, "per host and hour"), (False, "for all hosts together")):
                errors = relative_errors(mine, each=each)
                mean = 1 - float(errors["error"].to_numpy().mean())
                worst = errors.sort("error")[-1]
                measured.append(mean)
                days = "weekends" if worst["weekend"][0] else "weekdays"
                words.append(
                    f"{share(mean)} {what} (lowest {share(1 - worst['error'][0])} at "
                    f"{worst['length_h'][0]:g} h, {days})"
                )
            floor = relative_errors(mine, each=True, truth="drawn")["error"].to_numpy().mean()
            words.append(f"chance alone leaves {share(1 - float(floor))} per host and hour")
            good = sum(value > ACCURACY for value in measured)
            yield Claim(
                "accuracy",
                f"mean accuracy above 86 %: {model}",
                "; ".join(words),
                (FAILS, PARTLY, HOLDS)[good],
                section="Prediction Accuracy",
                where=name,
                rests="half of the days for training, the rest for testing; one seed; compared "
                "with what chance alone leaves",
            )


def ahead(rows: pl.DataFrame) -> Iterator[Claim]:
    """The semi-Markov process beside each linear model, on the same windows."""
    errors = relative_errors(rows, each=True)
    keys = ["weekend", "length_h"]
    for ours in (SEMI_MARKOV, PLAIN):
        mine = errors.filter(pl.col("model") == ours)
        words, beaten, lost = [], [], 0
        for model in LINEAR:
            both = mine.join(errors.filter(pl.col("model") == model), on=keys, suffix="_linear")
            one, two = both["error"].to_numpy(), both["error_linear"].to_numpy()
            words.append(f"{model} {share(float(two.mean()))}")
            beaten.append(bool(one.mean() < two.mean()))
            lost += int((one >= two).sum())
        cells = len(mine) * len(LINEAR)
        yield Claim(
            "ahead",
            f"ahead of every linear model: {ours}",
            f"mean relative error {share(float(mine['error'].to_numpy().mean()))} against "
            f"{', '.join(words)}; behind in {lost} of {cells} comparisons by length and kind "
            "of day",
            CONFIRMED.of(beaten),
            section="Comparison with Linear Time Series Models",
            where=f"{GENERATED_SET}, {rows['host'].n_unique()} machines",
            rests="the same training days for all models, windows of 1 to 10 h on weekdays and "
            "weekends",
        )


def robust(rows: pl.DataFrame) -> Iterator[Claim]:
    """What ten false events change of predictions for windows over 2 h."""
    for model in (SEMI_MARKOV, PLAIN):
        mine = rows.filter(
            (pl.col("model") == model) & (pl.col("events") == 10) & pl.col("change").is_not_null()
        )
        long = mine.filter(pl.col("length_h") > 2)
        short = mine.filter(pl.col("length_h") <= 2)["change"].to_numpy()
        by_length = long.group_by("length_h").agg(pl.col("change").mean())["change"].to_numpy()
        worst, most = float(by_length.max()), float(long["change"].to_numpy().max())
        good = (worst < DISTURBANCE) + (most < DISTURBANCE)
        yield Claim(
            "robust",
            f"10 false events in an hour disturb windows over 2 h by less than 6 %: {model}",
            f"{share(worst)} in the mean over machines at the worst length, "
            f"{share(most)} at most; up to 2 h: {share(float(short.mean()))} in the "
            f"mean, {share(float(short.max()))} at most",
            (FAILS, PARTLY, HOLDS)[good],
            section="Prediction Robustness",
            where=f"{GENERATED_SET}, {rows['host'].n_unique()} machines",
            rests="one draw of false events for each machine and number of events",
        )


def cheap(rows: pl.DataFrame) -> Claim:
    """The cost of a prediction as a share of the job that it is made for."""
    shares = rows["seconds"].to_numpy() / (3600 * rows["length_h"].to_numpy())
    slowest = 1000 * float(rows["seconds"].to_numpy().max())
    return Claim(
        "cheap",
        "a prediction costs less than 0.006 % of a remote job",
        f"at most {share(float(shares.max()), 6)} of a job as long as the window (up to "
        f"{slowest:.1f} ms for learning and all its steps, on the machine that ran this)",
        HOLDS if float(shares.max()) < COST else FAILS,
        section="Overhead",
        where=GENERATED_SET,
        rests="medians of five predictions at each length, measured on one machine",
    )


def light(watching: tuple[float, float] | None, seconds: int) -> Claim:
    """What watching a host costs it."""
    name, claim = "light", "monitoring takes at most 1 % of CPU and 1 % of memory"
    where = "the machine that ran this"
    rests = "an agent that samples every 6 s, on one machine, without its start and "
    rests += "its hourly learning"
    if watching is None:
        words, verdict = "not measured", UNCLEAR
    else:
        cpu, memory = watching
        words = f"{share(cpu, 2)} of one processor and {share(memory, 2)} of the memory at most, "
        words += f"over {seconds} s"
        verdict = CONFIRMED.of([cpu <= MONITORING, memory <= MONITORING])
    return Claim(name, claim, words, verdict, section="Overhead", where=where, rests=rests)
