"""Predict failures, quote deadlines with probabilities, and account for what became of them.

>>> import forestall as fs
>>> fs.NodeSet.parse("0-3,7")
NodeSet(0-3,7)

Names are loaded when first asked for, so that `import forestall` takes no time.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from forestall.__about__ import __version__

if TYPE_CHECKING:
    from forestall.app.design import read_cluster as read_cluster
    from forestall.model import errors as errors
    from forestall.model.failures import Failures as Failures
    from forestall.model.jobs import Jobs as Jobs
    from forestall.model.nodes import NodeSet as NodeSet
    from forestall.predict.hazard import HazardPredictor as HazardPredictor
    from forestall.predict.trace import TracePredictor as TracePredictor
    from forestall.reliability.checkpoints import checkpoint_interval as checkpoint_interval
    from forestall.reliability.cluster import Cluster as Cluster
    from forestall.reliability.completion import completion_time as completion_time
    from forestall.reliability.fits.estimate import fit as fit
    from forestall.reliability.fits.ranking import fit_all as fit_all
    from forestall.reliability.lifetimes.registry import lifetime as lifetime
    from forestall.reliability.queues import Queue as Queue
    from forestall.traces import read_failures as read_failures
    from forestall.traces import read_jobs as read_jobs
    from forestall.traces.generate import generate_failures as generate_failures
    from forestall.traces.generate import generate_jobs as generate_jobs

_HOME: Final[dict[str, str]] = {
    "Cluster": "forestall.reliability.cluster",
    "Failures": "forestall.model.failures",
    "HazardPredictor": "forestall.predict.hazard",
    "Jobs": "forestall.model.jobs",
    "NodeSet": "forestall.model.nodes",
    "Queue": "forestall.reliability.queues",
    "TracePredictor": "forestall.predict.trace",
    "checkpoint_interval": "forestall.reliability.checkpoints",
    "completion_time": "forestall.reliability.completion",
    "errors": "forestall.model",
    "fit": "forestall.reliability.fits.estimate",
    "fit_all": "forestall.reliability.fits.ranking",
    "generate_failures": "forestall.traces.generate",
    "generate_jobs": "forestall.traces.generate",
    "lifetime": "forestall.reliability.lifetimes.registry",
    "read_cluster": "forestall.app.design",
    "read_failures": "forestall.traces",
    "read_jobs": "forestall.traces",
    "Parameters": "forestall.simulate.parameters",
}
"""Public names and the modules that hold them. A submodule stands beside its package."""

__all__ = ["__version__", "simulate", *_HOME]  # noqa: PLE0604


class _Simulate(ModuleType):
    """The room `forestall.simulate`, which is also the function that most users want of it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Simulate; see `forestall.app.simulate.simulate`."""
        return import_module("forestall.app.simulate").simulate(*args, **kwargs)


class _Package(ModuleType):
    """This package. Importing its room `simulate` puts a module where users expect a function: it
    is made to be both."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "simulate" and isinstance(value, ModuleType):
            value.__class__ = _Simulate
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name == "simulate":
        return import_module("forestall.simulate")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'forestall' has no attribute {name!r}")
    module = import_module(home)
    if not hasattr(module, name):
        import_module(f"{home}.{name}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
