"""What results may depend on: versions of what made them."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from forestall.__about__ import __version__


def of_fits() -> dict[str, str]:
    """Return the versions that what is fitted or estimated may depend on."""
    return {"forestall": __version__, **{name: version(name) for name in ("numpy", "scipy")}}


def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    named = {"forestall": __version__, "python": platform.python_version()}
    for package in ("numpy", "numba", "polars"):
        try:
            named[package] = version(package)
        except PackageNotFoundError:
            named[package] = "unknown"
    return named
