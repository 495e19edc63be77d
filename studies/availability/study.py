"""The experiments: temporal reliability foretold and observed, by window, training and noise."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

import forestall as fs
from studies.availability.fits import by_powell, yule_walker
from studies.availability.inputs import Host, Whole, disturbed
from studies.kit.means import Floats

HOUR: Final = 3600
AR_SLIDES, MA_SLIDES = "AR(8), Yule-Walker", "MA(8), Powell"
LINEAR: Final = (AR_SLIDES, "AR(8)", "BM(8)", MA_SLIDES, "MA(8)", "ARMA(8,8)", "LAST")
"""Linear models; those without a method are of greatest likelihood."""
ORDER: Final = 8
COARSE: Final = 60
"""Seconds between the values of the series that the linear models foretell."""
FAILING: Final = 2.5
"""A foretold state, 1 to 5, from which on it is a failing one."""
SEMI_MARKOV, PLAIN = "semi-Markov", "semi-Markov, all stays"
FORMS: Final = {SEMI_MARKOV: False, PLAIN: True}
"""Whether stays after the first failure of a window count; see `HostHistory.process`."""

SCHEMA: Final = {
    "set": pl.String,
    "model": pl.String,
    "host": pl.Int64,
    "weekend": pl.Boolean,
    "hour": pl.Int64,
    "length_h": pl.Float64,
    "training": pl.Float64,
    "windows": pl.Int64,
    "predicted": pl.Float64,
    "observed": pl.Float64,
    "drawn": pl.Float64,
}

NOISE: Final = {
    "host": pl.Int64,
    "model": pl.String,
    "events": pl.Int64,
    "length_h": pl.Float64,
    "change": pl.Float64,
}


@dataclass(frozen=True)
class Plan:
    """How much is done.

    Attributes
    ----------
    hosts, days : generated hosts, and days of each
    period : seconds between their samples
    hours : at which windows begin
    lengths : of windows, h
    shares : of the days that training takes
    linear_hosts, share_hosts, noise_hosts : hosts in those experiments
    real_hosts : of each real trace, at most
    seed : of all that is drawn
    watched : seconds for which an agent is run to see what monitoring costs; 0: it is not
    """

    hosts: int = 20
    days: int = 91
    period: int = 6
    hours: tuple[int, ...] = tuple(range(0, 24, 3))
    lengths: tuple[int, ...] = tuple(range(1, 11))
    shares: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    linear_hosts: int = 6
    share_hosts: int = 6
    noise_hosts: int = 6
    real_hosts: int = 20
    seed: int = 1
    watched: int = 90


QUICK: Final = Plan(
    hosts=4,
    period=30,
    hours=(1, 9, 14, 20),
    lengths=(1, 3, 10),
    shares=(0.2, 0.5, 0.8),
    linear_hosts=1,
    share_hosts=2,
    noise_hosts=2,
    real_hosts=10,
    watched=0,
)


def available(host: Host, begins: Whole, steps: int) -> tuple[Whole, npt.NDArray[np.bool_]]:
    """Return the state at each sample, and whether the host was available then and for so many
    samples more."""
    runs = host.history.runs
    failing = np.isin(runs.state, host.history.failing)
    starts = np.append(runs.start[failing], np.iinfo(np.int64).max // 2)
    run = np.searchsorted(runs.start, begins, side="right") - 1
    following = starts[np.searchsorted(starts, begins, side="left")]
    return runs.state[run].astype(np.int64), ~failing[run] & (following > begins + steps)


def split(host: Host, weekends: bool, share: float) -> tuple[Whole, Whole]:
    """Return the samples with which the days of training and of test of one kind begin."""
    last = round(len(host.days) * share)
    kind = host.weekends == weekends
    place = np.arange(len(host.days))
    return host.days[kind & (place < last)], host.days[kind & (place >= last)]


def inside(host: Host, days: Whole, hour: int, hours: float) -> Whole:
    """Return the samples at an hour of days from which a window stays within what was seen."""
    period = host.history.runs.period
    begins = days + hour * HOUR // period
    return begins[begins + int(hours * HOUR) // period < host.history.runs.samples]


def rows_of(
    name: str, place: int, host: Host, plan: Plan, share: float, models: Sequence[str]
) -> list[tuple[object, ...]]:
    """Return rows of `SCHEMA`: what was foretold and observed of one host."""
    rows: list[tuple[object, ...]] = []
    rng = fs.stream(plan.seed, "availability", name, str(place), f"{share:g}")
    for weekends in (False, True):
        training, tests = split(host, weekends, share)
        if len(training) == 0 or len(tests) == 0:
            continue
        for hour in plan.hours:
            for hours in plan.lengths:
                if host.apart and hour + hours > 24:
                    continue  # the day that follows is another one
                cell = (name, place, weekends, hour, float(hours), share)
                rows += _cell_rows(host, training, tests, cell, models, rng)
    return rows


def _cell_rows(
    host: Host,
    training: Whole,
    tests: Whole,
    cell: tuple[str, int, bool, int, float, float],
    models: Sequence[str],
    rng: np.random.Generator,
) -> list[tuple[object, ...]]:
    """Return what each model foretold of one hour and length, beside what was observed."""
    name, place, weekends, hour, hours, share = cell
    history = host.history
    steps = int(hours) * HOUR // history.runs.period
    begins = inside(host, tests, hour, hours)
    state, stayed = available(host, begins, steps)
    begun = ~np.isin(state, history.failing)
    if not begun.any():
        return []
    start = history.origin + int(tests[0]) * history.runs.period
    learned = training + hour * HOUR // history.runs.period
    learned = learned[learned + steps < int(tests[0])]
    rows: list[tuple[object, ...]] = []
    for model in models:
        process = history.process(start, int(hours) * HOUR, after=FORMS[model], begins=learned)
        chance = np.ones(len(history.names))
        chance[list(process.transient)] = process.reliability_of_each(steps)[:, -1]
        told = chance[state[begun]]
        drawn = float((rng.random(len(told)) < told).mean())
        rows.append(
            (name, model, place, weekends, hour, hours, share, len(told), float(told.mean()),
             float(stayed[begun].mean()), drawn)
        )  # fmt: skip
    return rows


def linear_rows(name: str, place: int, host: Host, plan: Plan) -> list[tuple[object, ...]]:
    """Return rows of `SCHEMA` by the linear models: each foretells the sequence of states, of which
    a value nearer to S3 than to S2 is a failure."""
    step = COARSE // host.history.runs.period
    series = host.history.runs.sequence()[::step].astype(np.float64) + 1
    middle = int(split(host, False, 0.5)[1][0]) // step
    fitted, width = linear_models(series[:middle]), fs.hosts.best_window(series[:middle], ORDER)
    most = max(plan.lengths) * HOUR // COARSE
    rows: list[tuple[object, ...]] = []
    for weekends in (False, True):
        _, tests = split(host, weekends, 0.5)
        for hour in plan.hours:
            days = tests // step + hour * HOUR // COARSE
            for model, told in _first_failures(series, fitted, width, days, most).items():
                for hours in plan.lengths:
                    begins = inside(host, tests, hour, hours)
                    steps = hours * HOUR // host.history.runs.period
                    state, stayed = available(host, begins, steps)
                    begun = ~np.isin(state, host.history.failing)
                    if begun.any():
                        kept = told[: len(begins)][begun] >= hours * HOUR // COARSE
                        rows.append(
                            (name, model, place, weekends, hour, float(hours), 0.5,
                             int(begun.sum()), float(kept.mean()), float(stayed[begun].mean()),
                             None)
                        )  # fmt: skip
    return rows


def linear_models(training: Floats) -> dict[str, fs.hosts.Arma]:
    """Return the models of mean and past, fitted to all of the training."""
    return {
        AR_SLIDES: yule_walker(training, ORDER),
        "AR(8)": fs.hosts.fit_arma(training, ORDER, 0),
        MA_SLIDES: by_powell(training, ORDER),
        "MA(8)": fs.hosts.fit_arma(training, 0, ORDER),
        "ARMA(8,8)": fs.hosts.fit_arma(training, ORDER, ORDER),
    }


def _first_failures(
    series: Floats, fitted: Mapping[str, fs.hosts.Arma], width: int, begins: Whole, most: int
) -> dict[str, Whole]:
    """Return for each linear model int64[windows]: the step of the window at which it foretells the
    first failure, `most` where none; of LAST, how long the window before it was free of failures.
    """
    found: dict[str, Whole] = {}
    for model, one in fitted.items():
        told = one.filtered(series).states[begins] @ one.ahead(most).T + one.mean
        found[model] = _first(told >= FAILING, most)
    means = np.array([series[max(0, b - width) : b].mean() for b in begins])
    found["BM(8)"] = np.where(means >= FAILING, 0, most)
    before = [series[max(0, b - most) : b][::-1] >= FAILING for b in begins]
    found["LAST"] = np.array([_first(one[None], most)[0] for one in before])
    return {model: found[model] for model in LINEAR}


def _first(failing: npt.NDArray[np.bool_], most: int) -> Whole:
    """Return the place of the first True in each row, `most` where there is none."""
    return np.where(failing.any(axis=1), np.argmax(failing, axis=1), most)


def table(rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    """Return rows as a table with the columns of `SCHEMA`."""
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def noise_rows(host: Host, place: int, plan: Plan) -> list[tuple[object, ...]]:
    """Return rows of `NOISE`: the relative change of temporal reliability from 8:00 on, by false
    events between 8:00 and 9:00 of one weekday of training."""
    rng = fs.stream(plan.seed, "availability", "noise", str(place))
    training, tests = split(host, False, 0.5)
    day = int(np.flatnonzero(host.days == rng.choice(training))[0])
    period = host.history.runs.period
    start = host.history.origin + int(tests[0]) * period
    begins = training + 8 * HOUR // period
    state, _ = available(host, begins, 0)
    share = np.bincount(state, minlength=len(host.history.names)).astype(np.float64)
    share[list(host.history.failing)] = 0
    share /= share.sum()
    base: dict[tuple[str, float], float] = {}
    rows: list[tuple[object, ...]] = []
    for events in range(11):
        noisy = disturbed(host, day, events, rng)
        for hours in (0.5, *(float(h) for h in plan.lengths)):
            length = int(hours * HOUR)
            for model, after in FORMS.items():
                process = noisy.history.process(start, length, after=after, begins=begins)
                told = float(process.reliability(share, length // period)[-1])
                before = base.setdefault((model, hours), told)
                change = abs(told - before) / before if before > 0 else None
                rows.append((place, model, events, hours, change))
    return rows


def noise_table(rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    """Return rows of `noise_rows` as a table."""
    return pl.DataFrame(rows, schema=NOISE, orient="row")


def cost_rows(host: Host, plan: Plan, rounds: int = 5) -> list[tuple[float, float]]:
    """Return (length_h, seconds) of one prediction: learning and all its horizons."""
    _, tests = split(host, False, 0.5)
    period = host.history.runs.period
    start = host.history.origin + int(tests[0]) * period + 9 * HOUR
    rows = []
    for hours in plan.lengths:
        spent = []
        for _ in range(rounds):
            begun = time.perf_counter()
            host.history.temporal_reliability(start, hours * HOUR, 0)
            spent.append(time.perf_counter() - begun)
        rows.append((float(hours), float(np.median(spent))))
    return rows


# Measures ----------------------------------------------------------------------------------------


def relative_errors(rows: pl.DataFrame, *, each: bool, truth: str = "observed") -> pl.DataFrame:
    """Return (set, model, weekend, length_h, training, error, least, most, cells, left_out).

    The error is the mean of |predicted - observed| / observed: over hosts and hours (`each`), or
    over hours, the windows of all hosts taken together. Cells in which nothing was available are
    left out, and counted.
    """
    keys = ["set", "model", "weekend", "length_h", "training"]
    cells = rows
    if not each:
        weight = pl.col("windows")
        cells = rows.group_by([*keys, "hour"], maintain_order=True).agg(
            (pl.col("predicted") * weight).sum() / weight.sum(),
            (pl.col(truth) * weight).sum() / weight.sum(),
        )
    error = (pl.col("predicted") - pl.col(truth)).abs() / pl.col(truth)
    good = pl.col(truth) > 0
    return cells.group_by(keys, maintain_order=True).agg(
        error.filter(good).mean().alias("error"),
        error.filter(good).min().alias("least"),
        error.filter(good).max().alias("most"),
        good.sum().alias("cells"),
        (~good).sum().alias("left_out"),
    )
