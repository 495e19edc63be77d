"""The results as sections."""

from __future__ import annotations

from typing import Final

import polars as pl

import forestall as fs
from studies.availability.claims import Found
from studies.availability.inputs import GRID_LEAST_DAYS, GRID_SET, PLANETLAB_SET
from studies.availability.study import COARSE, PLAIN, SEMI_MARKOV, relative_errors
from studies.kit.text import Blocks, listing, share, table

NOTES: Final = f"""\
- A window begins at an hour of a day of test; windows that begin while the host is not available
  are left out (no job can start then). TR observed is the share of the rest that stay available
  throughout, TR predicted the mean of what the process, learned from the same clock window of the
  days of training, says of the states that they begin in. Days of training come before all days of
  test. Cells in which nothing was observed available have no relative error, and are left out.
- "{SEMI_MARKOV}" counts stays up to the first failure of a window, "{PLAIN}"
  those after it too, as the slides' formulas read. Where unavailabilities come in rows, as people's
  work does, the pauses within a row are short, and the second takes every return to S1 or S2 for
  the beginning of one. How much that matters depends on how they come in rows, which the slides do
  not tell; the generator puts them into sessions of work.
- "Chance alone": the same measure where the outcomes are drawn from what was predicted, that is,
  of a prediction that is exactly right; the days of test are few.
- The linear models are fitted to all days of training, the same that the process is learned from,
  one value a {COARSE} s, and predict the states 1 to 5 of each window from all that came before
  it; a value from 2.5 on is a failure, and a window without one counts as available. As in the
  slides, AR is fitted by the equations of Yule and Walker and MA by Powell's method (least squares
  of its one-step errors); beside them AR, MA and ARMA are of greatest likelihood. BM is the mean of
  at most the last 8 values; LAST repeats the window of the same length before. A
  forecast of means soon comes near the mean of all states, which is one that a job can run in: AR,
  BM, MA and ARMA predict next to no failures, so that their lines coincide.
- Noise: 1 to 10 false unavailabilities of 1 to 5 min each on one weekday of training, between 8:00
  and 9:00; windows begin at 8:00.
- {GRID_SET}: nodes up or down (one state in which a job can run), drawn of those that were watched
  for at least {GRID_LEAST_DAYS} days; many downs are reboots by users. {PLANETLAB_SET}: slices of
  the same name seen on at least 4 weekdays are joined to one host; a slice's CPU stands for the
  host's load, the days lie up to weeks apart, and there is no memory, no weekend and no outage in
  it. With 2 to 4 days of training a host, only all hosts together say something.
"""


def by_length(rows: pl.DataFrame) -> fs.reports.Table:
    """Return relative errors by length and kind of day, a column a model."""
    errors = relative_errors(rows, each=True)
    models = errors["model"].unique(maintain_order=True).to_list()
    out = []
    for name in errors["set"].unique(maintain_order=True).to_list():
        for weekend in (False, True):
            mine = errors.filter((pl.col("set") == name) & (pl.col("weekend") == weekend))
            for hours in sorted(mine["length_h"].unique().to_list()):
                cells = [name, "weekend" if weekend else "weekday", f"{hours:g}"]
                for model in models:
                    one = mine.filter((pl.col("length_h") == hours) & (pl.col("model") == model))
                    cells.append(_error(one))
                out.append(cells)
    return table(("Hosts", "Days", "Window, h", *models), out)


def _error(one: pl.DataFrame) -> str:
    if len(one) == 0 or one["error"][0] is None:
        return ""
    left = f", {one['left_out'][0]} left out" if one["left_out"][0] else ""
    return f"{share(one['error'][0])} (max {share(one['most'][0], 0)}{left})"


def training_section(rows: pl.DataFrame) -> fs.reports.Table:
    """Return relative errors by the share of the days that training takes."""
    errors = relative_errors(rows, each=True)
    lengths = sorted(errors["length_h"].unique().to_list())
    out = []
    for weekend in (False, True):
        for part in sorted(errors["training"].unique().to_list()):
            cells = ["weekend" if weekend else "weekday", f"{part:g} : {1 - part:.1g}"]
            for hours in lengths:
                one = errors.filter(
                    (pl.col("weekend") == weekend)
                    & (pl.col("training") == part)
                    & (pl.col("length_h") == hours)
                )
                cells.append(share(one["error"][0]) if len(one) else "")
            out.append(cells)
    return table(("Days", "Training : test", *(f"{hours:g} h" for hours in lengths)), out)


def noise_section(rows: pl.DataFrame) -> fs.reports.Table:
    """Return the mean change of predictions by false events, by length."""
    mean = rows.group_by("model", "events", "length_h", maintain_order=True).agg(
        pl.col("change").mean()
    )
    lengths = sorted(mean["length_h"].unique().to_list())
    out = []
    for model in mean["model"].unique(maintain_order=True).to_list():
        for events in (1, 2, 5, 10):
            mine = mean.filter((pl.col("model") == model) & (pl.col("events") == events))
            values = dict(mine.select("length_h", "change").iter_rows())
            shown = ["" if values.get(h) is None else share(values[h]) for h in lengths]
            out.append([model, str(events), *shown])
    return table(("Form", "False events", *(f"{hours:g} h" for hours in lengths)), out)


def cost_section(rows: pl.DataFrame) -> fs.reports.Table:
    """Return what predictions cost."""
    out = [
        (f"{hours:g}", f"{1000 * spent:.2f}", share(spent / (3600 * hours), 6))
        for hours, spent in rows.iter_rows()
    ]
    return table(("Window, h", "Learning and prediction, ms", "Share of such a job"), out)


def sections(found: Found, claims: Blocks) -> dict[str, Blocks]:
    """Return the sections of the report, that of the claims among them."""
    return {
        "Claims": claims,
        "How it was measured": listing(NOTES),
        "Relative error by window": by_length(found.accuracy),
        "Beside the linear models": by_length(found.linear),
        "Training": training_section(found.training),
        "Noise": noise_section(found.noise),
        "Cost": cost_section(found.cost),
    }
