"""How nodes return to service as the settings say: at once, or after a test job."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path

from forestall.core.model.errors import ParameterError, of_system
from forestall.live.serving.settings import WardenProcess
from forestall.live.slurm.testing import CheckedReturns, NodeTest
from forestall.slurm.cluster.cluster import LiveCluster


def returns_of(
    warden: WardenProcess, cluster: LiveCluster, clock: Callable[[], int]
) -> CheckedReturns | None:
    """Return what brings nodes back by way of the test job, None where there is none; its script is
    read once. Raises TraceError, ParameterError."""
    if not warden.test:
        return None
    with of_system(warden.test, "cannot be read"):
        script = Path(warden.test).read_text(encoding="utf-8", errors="replace")
    if not script.startswith("#!"):
        raise ParameterError("warden.test", warden.test, "a script that begins with #!")
    return CheckedReturns(cluster, NodeTest(script, warden.test_time, getpass.getuser()), clock)
