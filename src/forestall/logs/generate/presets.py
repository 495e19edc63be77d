"""Availability of real systems, from the Failure Trace Archive, as presets for failure logs.

Weibull fits of up and down times: Kondo, Javadi, Iosup and Epema, CCGRID 2010, with the constants
as the data-centre simulator OpenDC has them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.logs.generate.failures import generate_failures
from forestall.logs.generate.laws import WeibullTimes
from forestall.logs.generate.times import Bursts

Keep = Literal["sample", "fit"]


@dataclass(frozen=True)
class Preset:
    """One system's up and down times in hours: Weibull fits, and the means of the sample.

    The fits were chosen by likelihood, and imply means (`fit_up`, `fit_down`) that can lie far
    below the sample's. `keep` says which mean a log has: "sample" keeps the shapes and scales the
    laws to the sample's means; "fit" takes the fits as they are.
    """

    name: str
    text: str
    up_shape: float
    up_scale: float
    down_shape: float
    down_scale: float
    sample_up: float
    sample_down: float
    keep: Keep = "sample"
    citation: str = "Failure Trace Archive; Kondo et al., CCGRID 2010"

    @property
    def fit_up(self) -> float:
        """Mean up time that the fit implies, h."""
        return self.up_scale * math.gamma(1 + 1 / self.up_shape)

    @property
    def fit_down(self) -> float:
        """Mean down time that the fit implies, h."""
        return self.down_scale * math.gamma(1 + 1 / self.down_shape)

    @property
    def means(self) -> tuple[float, float]:
        """Mean up and down time of a log made from this, h."""
        if self.keep == "fit":
            return self.fit_up, self.fit_down
        return self.sample_up, self.sample_down


PRESETS: Final = {
    preset.name: preset
    for preset in (
        Preset("lanl05", "LANL 05", 0.48, 816.60, 0.58, 2.18, 1779.99, 5.92),
        Preset("g5k06", "Grid'5000 06", 0.48, 14.37, 0.35, 0.47, 32.41, 7.41),
        Preset("ldns04", "local DNS 04", 0.51, 79.30, 0.63, 5.62, 141.06, 8.61),
        Preset("microsoft99", "Microsoft 99", 0.55, 35.30, 0.60, 9.34, 67.01, 16.49),
        Preset("nd07cpu", "Notre Dame 07 CPU", 0.45, 4.16, 0.51, 0.74, 13.73, 4.25),
        Preset("overnet03", "Overnet 03", 0.85, 2.04, 0.44, 2.98, 2.29, 12.00),
        Preset("pl05", "PlanetLab 05", 0.33, 19.35, 0.36, 5.59, 159.49, 49.61),
        Preset("skype06", "Skype 06", 0.64, 10.86, 0.63, 9.48, 16.27, 14.31),
        Preset("websites02", "web sites 02", 0.46, 3.68, 0.65, 0.61, 11.85, 1.18),
    )
}


def preset_failures(
    name: str, nodes: int, days: float, seed: int, *, heterogeneity: float = 0.0
) -> Failures:
    """Return failures with the up and down times of a preset.

    A node's mean time between failures is the mean up plus the mean down time; the times between
    them have the shape of the up times, and down times are drawn apart from them, so that a few
    nodes fail again while they are down. Raises ParameterError.
    """
    if name not in PRESETS:
        raise ParameterError("preset", name, f"one of {', '.join(PRESETS)}")
    preset = PRESETS[name]
    up, down = preset.means
    return generate_failures(
        nodes,
        days,
        seed,
        mttf_hours=up + down,
        shape=preset.up_shape,
        heterogeneity=heterogeneity,
        bursts=Bursts(),
        repair=WeibullTimes(down * 3600, preset.down_shape),
    )
