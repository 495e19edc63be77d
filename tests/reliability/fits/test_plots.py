"""What the plots show is what the fits and life tables say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from forestall.core.model.errors import ParameterError
from forestall.core.show.style import new_figure
from forestall.reliability.fits.estimate import fit
from forestall.reliability.fits.plots import (
    plot_hazard,
    plot_pp,
    plot_pp_each,
    plot_qq,
    plot_survival,
    probabilities,
)
from forestall.reliability.history.life_table import kaplan_meier, nelson_aalen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RNG = np.random.default_rng(2)
ENDED, STOPPED = 50 * RNG.weibull(0.7, 200), RNG.exponential(100.0, 200)
GAPS, CENSORED = np.minimum(ENDED, STOPPED), STOPPED < ENDED
FITS = [fit(GAPS, name, censored=CENSORED) for name in ("weibull", "exponential")]
PLOTS: list[Callable[..., Figure]] = [plot_pp, plot_qq, plot_hazard, plot_survival]


def test_probabilities_without_censoring_are_the_middles_of_steps() -> None:
    fitted = fit(ENDED, "weibull")
    observed, law = probabilities(fitted)
    np.testing.assert_allclose(observed, (np.arange(200) + 0.5) / 200, atol=1e-12)
    np.testing.assert_allclose(law, fitted.cdf(np.sort(ENDED)))


def test_probabilities_with_censoring_are_kaplan_and_meier_s() -> None:
    observed, law = probabilities(FITS[0])
    curve = kaplan_meier(GAPS, CENSORED)
    before = np.concatenate([[1.0], curve.estimate[:-1]])
    np.testing.assert_allclose(observed, 1 - (before + curve.estimate) / 2)
    np.testing.assert_allclose(law, FITS[0].cdf(curve.time))


def test_zeros_are_no_points_but_count() -> None:
    observed, _ = probabilities(fit([0, 0, 1.5, 3, 4], "weibull", resolution=0.5))
    np.testing.assert_allclose(observed, [0.5, 0.7, 0.9])


@pytest.mark.parametrize("parts", [1, 3, 5])
def test_a_pp_plot_of_each_part(parts: int) -> None:
    figure = plot_pp_each({f"part {k}": FITS for k in range(parts)}, title="T")
    drawn = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title(loc="left") for axes in drawn] == [f"part {k}" for k in range(parts)]
    for axes in drawn:
        for line, fitted in zip(axes.lines[1:], FITS, strict=True):
            np.testing.assert_allclose(line.get_xydata(), np.column_stack(probabilities(fitted)))
    assert [text.get_text() for text in drawn[0].get_legend().get_texts()] == [
        fitted.family.title for fitted in FITS
    ]


def test_pp_and_qq_show_the_points() -> None:
    axes = plot_pp(FITS).axes[0]
    lines = {str(line.get_label()): line for line in axes.lines}
    for fitted in FITS:
        observed, law = probabilities(fitted)
        line = lines[fitted.family.title]
        np.testing.assert_allclose(line.get_xdata(), observed)
        np.testing.assert_allclose(line.get_ydata(), law)
    axes = plot_qq(FITS[0], unit="h").axes[0]
    line = axes.lines[-1]
    observed, _ = probabilities(FITS[0])
    np.testing.assert_allclose(line.get_xdata(), FITS[0].quantile(observed))
    np.testing.assert_allclose(line.get_ydata(), kaplan_meier(GAPS, CENSORED).time)
    assert axes.get_xlabel().endswith("(h)")


def test_many_points_are_thinned_to_the_ends() -> None:
    gaps = np.sort(np.random.default_rng(0).weibull(0.7, 5000))
    line = plot_qq(fit(gaps, "weibull")).axes[0].lines[-1]
    shown = np.asarray(line.get_ydata())
    assert len(shown) <= 600
    np.testing.assert_allclose(shown[:50], gaps[:50])
    np.testing.assert_allclose(shown[-50:], gaps[-50:])


def test_survival_shows_kaplan_and_meier_and_the_laws() -> None:
    axes = plot_survival(FITS, log_time=False).axes[0]
    curve = kaplan_meier(GAPS, CENSORED)
    steps, *laws = axes.lines
    np.testing.assert_allclose(np.asarray(steps.get_ydata())[1:-1], curve.estimate)
    np.testing.assert_allclose(np.asarray(steps.get_xdata())[1:-1], curve.time)
    for fitted, line in zip(FITS, laws, strict=True):
        ages = np.asarray(line.get_xdata())
        np.testing.assert_allclose(line.get_ydata(), fitted.sf(ages))
        assert ages[-1] == pytest.approx(GAPS.max())


def test_observed_hazard_is_nelson_and_aalen_s() -> None:
    axes = plot_hazard(FITS, bins=6, level=0.9).axes[0]
    (container,) = axes.containers
    points, _, (across, along) = container.lines  # type: ignore[misc]
    edges = np.array([segment[:, 0] for segment in across.get_segments()])
    border = np.append(edges[:, 0], edges[-1, 1])
    rate, low, high = nelson_aalen(GAPS, CENSORED, level=0.9).rates(border)
    np.testing.assert_allclose(points.get_ydata(), rate)
    band = np.array([segment[:, 1] for segment in along.get_segments()])
    np.testing.assert_allclose(band, np.column_stack([low, high]))
    assert len(rate) == 6
    exponential = axes.lines[-1]
    scale = FITS[1].params["scale"]
    np.testing.assert_allclose(exponential.get_ydata(), 1 / scale)


@pytest.mark.parametrize("plot", PLOTS)
def test_axes_labels_and_legend(plot: Callable[..., Figure]) -> None:
    figure = new_figure()
    first, second = figure.subplots(1, 2)
    assert plot(FITS, second) is figure
    assert not first.lines
    assert second.get_xlabel()
    assert second.get_ylabel()
    texts = {text.get_text() for text in second.get_legend().get_texts()}
    assert {"Weibull", "Exponential"} <= texts
    figure.canvas.draw()
    box = second.get_legend().get_window_extent()
    assert box.y0 >= second.get_window_extent().y1 - 1  # above the axes, off the data
    colours = [line.get_color() for line in second.lines if line.get_label() in texts]
    assert len(set(colours)) == len(colours)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize(
    ("gaps", "censored"),
    [
        ([1.0, 3.0], None),
        ([1.0, 3.0, 5.0], [0, 0, 1]),
        ([0, 0, 1, 1, 4], None),
        ([2e-290, 3e-290, 9e-290], None),
        ([5.0, 5.0, 5.0], None),
    ],
)
def test_small_and_odd_samples(
    plot: Callable[..., Figure], gaps: list[float], censored: list[int] | None
) -> None:
    figure = plot(fit(gaps, "exponential", censored=censored))
    figure.canvas.draw()
    assert figure.axes[0].lines


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="fits"):
        plot_pp([])
    with pytest.raises(ParameterError, match="one sample"):
        plot_pp([FITS[0], fit([1.0, 2.0, 3.0], "weibull")])
    with pytest.raises(ParameterError, match="bins"):
        plot_hazard(FITS, bins=0)
