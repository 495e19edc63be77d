"""The figures: what is drawn, and that they are the same each time."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.show.svg import png
from forestall.sharing.contention.curves import curves, memory_curves, threshold
from sharing.contention.contention_cases import linear, memory_points, points

pytest.importorskip("matplotlib")

from forestall.sharing.contention.figure import contention_figure, memory_figure


@pytest.mark.parametrize("wobble", [(0.0,), (-0.01, 0.0, 0.01)])
def test_both_priorities_with_limit_and_thresholds(wobble: tuple[float, ...]) -> None:
    found = points(linear, groups=(1, 4), wobble=wobble)
    normal, lowest = curves(found, "normal"), curves(found, "lowest")
    both = (
        threshold(normal, 0.05, np.random.default_rng(1)),
        threshold(lowest, 0.05, np.random.default_rng(1)),
    )
    figure = contention_figure(normal, lowest, both, 0.05)
    left, right = figure.axes
    assert len(left.containers) == 2  # a line with its bars for each group
    lines = [container.lines[0] for container in left.containers]  # type: ignore[attr-defined]
    assert np.asarray(lines[0].get_ydata()) == pytest.approx([10, 20, 30, 40, 50], abs=0.01)
    texts = [text.get_text() for axes in (left, right) for text in axes.texts]
    assert texts == ["5 %", "Th1 = 0 %", "5 %", "Th2 = 100 % (never)"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "1 owner process",
        "4 owner processes",
    ]
    assert png(figure) == png(contention_figure(normal, lowest, both, 0.05))


def test_memory() -> None:
    figure = memory_figure(memory_curves(memory_points(2.0)), 0.05)
    (axes,) = figure.axes
    assert axes.xaxis_inverted()
    assert "MB" in axes.get_xlabel()
    assert png(figure)[:4] == b"\x89PNG"
