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
- Windows begin on the hour of a test day. Windows that begin while the host is unavailable are left
  out, since no job can start then. Observed TR is the share of the remaining windows that stay
  available throughout. Predicted TR is the mean prediction, for the states in which the windows
  begin, of a process learned from the same clock window of the training days. Training days come
  before all test days. Cells in which nothing was observed available have no relative error and are
  left out.
- "{SEMI_MARKOV}" counts stays up to the first failure of a window; "{PLAIN}"
  also counts later ones, as the slides' formulas read. Where unavailabilities come in rows, because
  people work in sessions, the pauses within a row are short, and the second reading predicts such a
  short pause after every return to S1 or S2. The slides do not state how their unavailabilities
  cluster; the generator puts them into sessions of work.
- "Chance alone" is the same measure with outcomes drawn from the prediction: the score of an
  exactly right prediction, given the few test days.
- The linear models are fitted to the same training days, one value per {COARSE} s, and predict
  states 1 to 5 of each window from all earlier values. A value of 2.5 or more is a failure; a
  window without one counts as available. As in the slides, AR uses the Yule-Walker equations and MA
  Powell's method (least squares of its one-step errors); AR, MA and ARMA by maximum likelihood are
  shown too. BM is the mean of at most the last 8 values; LAST repeats the previous window of the
  same length. A forecast of means soon approaches the mean of all states, and a job can run in that
  state: AR, BM, MA and ARMA predict almost no failures, so their lines coincide.
- Noise: 1 to 10 false unavailabilities of 1 to 5 min each on one training weekday between 8:00 and
  9:00; windows begin at 8:00.
- {GRID_SET}: nodes are up or down (one state in which a job can run), drawn from those observed for
  at least {GRID_LEAST_DAYS} days; many outages are reboots by users. {PLANETLAB_SET}: slices of
  the same name seen on at least 4 weekdays are joined to one host; a slice's CPU stands for the
  host's load. The days lie up to weeks apart, with no memory, weekends or outages. With 2 to 4
  training days a host, only all hosts together are informative.
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
