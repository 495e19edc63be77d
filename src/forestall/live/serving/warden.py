"""The warden as a process of its own: it alone has Slurm's Admin rights."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forestall.core.model.errors import ParameterError
from forestall.live.serving.real import cluster_of, user_id
from forestall.live.serving.returns import returns_of
from forestall.live.serving.settings import LiveSettings
from forestall.live.slurm.actor import ClusterActor
from forestall.live.warden.server import Warden, WardenSettings


def _now() -> int:
    return int(time.time())


def run_warden(settings: LiveSettings, tell: Callable[[str], None]) -> None:
    """Be the warden until SIGTERM, SIGINT or SIGHUP (nohup's stays ignored). Raises
    ParameterError, TraceError, and InputError where another one listens."""
    named = settings.warden
    if not named.socket:
        raise ParameterError("warden.socket", named.socket, "the path of the warden's socket")
    users = frozenset(user_id(one, "warden.users") for one in named.users)
    own = WardenSettings(
        Path(named.socket), users or frozenset({os.geteuid()}), settings.guard.warden
    )
    cluster = cluster_of(settings.slurm)
    returns = returns_of(named, cluster, _now)
    warden = Warden(own, ClusterActor(cluster, lambda _: "", returns=returns), _now)

    def stop(*_: Any) -> None:
        warden.stop()

    ending = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {
        one: signal.signal(one, stop) for one in ending if signal.getsignal(one) != signal.SIG_IGN
    }
    try:
        switch = settings.guard.warden.switch
        warden.serve(lambda: tell(f"warden (switch: {switch}) listens at {named.socket}"))
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    tell("ended")
