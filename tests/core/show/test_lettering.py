"""Names in figures are drawn as they are: no formulas, no characters that no screen shows."""

from __future__ import annotations

import logging

import pytest

from forestall.core.show.style import dress, legend, new_figure
from forestall.core.show.svg import inline_svg, png, svg

pytest.importorskip("matplotlib")
NAME = "$\\bad$\x1b[31m\u202e"
SHOWN = "$\\bad$\\x1b[31m\\u202e"


def test_names_are_drawn_as_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    figure = new_figure((16, 4))
    left, right, powers = figure.subplots(1, 3)
    left.bar([0, 1], [1, 2], label=NAME)
    left.set_xticks([0, 1], [NAME, "b"])
    left.annotate(f"at {NAME}", (0, 1))
    dress(left, f"title {NAME}\nbelow", NAME, NAME)
    legend(left)
    right.barh([NAME, "b"], [1, 2])
    powers.plot([1, 1000], [1, 1000])
    powers.set_xscale("log")
    for _ in range(2):  # a folder has each figure as PNG, as SVG, and in the page
        text = inline_svg(figure, "names", NAME)
        assert svg(figure)
        assert png(figure)
    assert text.count(f">{SHOWN}<") >= 4  # two ticks, a label, the legend
    assert f"title {SHOWN}" in text
    assert "<!-- below" not in text
    assert not set("\x1b\u202e") & set(text)
    assert "mathdefault" not in text  # powers are drawn as such
    assert not caplog.records
