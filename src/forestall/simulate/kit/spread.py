"""How a measure is spread over jobs or tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def spread(values: npt.NDArray[Any]) -> dict[str, float]:
    """Return mean, median and 95th percentile."""
    return {
        "mean": float(np.mean(values)),
        "median": float(np.median(values)),
        "p95": float(np.percentile(values, 95)),
    }
