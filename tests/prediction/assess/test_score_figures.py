"""Figures of scores: they show what was found, also where there is little to show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from forestall.core.show.svg import png
from forestall.prediction.assess.calibration import Binning, reliability_table
from forestall.prediction.assess.figures import plot_precision_recall, plot_reliability, plot_roc
from forestall.prediction.assess.roc import roc

RNG = np.random.default_rng(1)
CASES = {
    "one": ([0.3] * 5, [0, 1, 0, 0, 1]),
    "never": ([0.0] * 4, [0] * 4),
    "always": ([1.0] * 3, [1] * 3),
    "tied": (RNG.integers(0, 3, 50) / 2, RNG.integers(0, 2, 50)),
    "spread": (10 ** RNG.uniform(-6, 0, 500), RNG.integers(0, 2, 500)),
    "low": (RNG.uniform(0.02, 0.1, 400), RNG.random(400) < 0.05),
}


@pytest.mark.parametrize("binning", ["width", "count"])
@pytest.mark.parametrize("name", CASES)
def test_reliability_diagrams_of_odd_tables(name: str, binning: Binning) -> None:
    chance, failed = CASES[name]
    table = reliability_table(chance, failed, 10, binning)
    figure = plot_reliability(table)
    above, below = figure.axes
    assert png(figure).startswith(b"\x89PNG")
    assert len(below.patches) == len(table)
    assert [bar.get_height() for bar in below.patches] == table.count.tolist()
    if np.ptp(table.end - table.begin) > 1e-9:
        middle = [bar.get_x() + bar.get_width() / 2 for bar in below.patches]
        assert middle == pytest.approx(table.said.tolist())
    low, high = above.get_xlim()
    assert low <= table.said.min() <= table.said.max() <= high
    low, high = above.get_ylim()
    assert table.seen.max() <= high
    assert above.get_xscale() == ("log" if (name, binning) == ("spread", "count") else "linear")


def test_counts_of_bins_are_readable() -> None:
    rng = np.random.default_rng(5)
    chance = rng.beta(0.1, 30, 20_000)
    failed = rng.random(20_000) < chance
    figure = plot_reliability(reliability_table(chance, failed, 10, "width"))
    figure.canvas.draw()
    below = figure.axes[1]
    ticks = [tick.get_text() for tick in below.get_yticklabels()]
    assert below.get_yscale() == "log"
    assert "1,000" in ticks
    assert not any("10^" in text or "mathdefault" in text for text in ticks)
    below = plot_reliability(reliability_table(0.1 + 0.9 * chance, failed, 10, "count")).axes[1]
    low, high = below.get_xlim()
    assert max(bar.get_width() for bar in below.patches) < 0.05 * (high - low)


def test_curves_show_their_areas_and_keep_their_ends() -> None:
    score = np.random.default_rng(2).normal(size=9000)
    failed = np.random.default_rng(3).random(9000) < 0.1
    curves = {"ours": roc(score + failed, failed), "theirs": roc(score, failed)}
    marked = {"threshold 1": curves["ours"].at_threshold(1.0)}
    (axes,) = plot_roc(curves, marked).axes
    labels = [line.get_label() for line in axes.lines]
    assert labels[1:] == [
        f"ours: area {curves['ours'].auc:.3f}", f"theirs: area {curves['theirs'].auc:.3f}",
        "threshold 1",
    ]  # fmt: skip
    across = np.asarray(axes.lines[1].get_xdata())
    assert (across[0], across[-1]) == (0, 1)
    assert len(across) <= 2000
    (axes,) = plot_precision_recall(curves, marked).axes
    assert any("average precision" in str(line.get_label()) for line in axes.lines)


@pytest.mark.parametrize("failed", [[0, 0, 0], [1, 1, 1]])
def test_curves_of_one_class_are_left_out(failed: Sequence[int]) -> None:
    curve = roc([1, 2, 3], failed)
    assert len(plot_roc({"x": curve}).axes[0].lines) == 1
    assert len(plot_precision_recall({"x": curve}).axes[0].lines) == 0
