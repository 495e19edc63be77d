"""Falcon's rules as Python calls them."""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.sharing.rules import falcon_kernels as falcon


@entry
def estimate(out, forecast, host, state, work, present):
    """Write what is expected of a job on a host; see `falcon_kernels.estimate`."""
    falcon.estimate(out[0], forecast, host, state, work, present)


@entry
def estimate_by_means(out, forecast, host, state, work):
    """The same by mean loads; see `falcon_kernels.estimate_by_means`."""
    falcon.estimate_by_means(out[0], forecast, host, state, work)


@entry
def choose(estimates, count):
    """Return which of so many estimates is chosen, and why; see `falcon_kernels.choose`."""
    return falcon.choose(estimates, count)
