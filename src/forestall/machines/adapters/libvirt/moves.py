"""Live migration between two of libvirt's hosts, from host to host.

The hosts carry it out between themselves (peer to peer): whoever asked for it may die meanwhile.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from forestall.machines.acting.backend import Moved, MoveError, Why
from forestall.machines.acting.hosts.pool import HostCallError
from forestall.machines.adapters.libvirt.domains import writable_disks
from forestall.machines.adapters.libvirt.lines import HostLine, module

_AFTER: Final = 15.0
"""s that a move has to end in after it was called off."""


@dataclass(frozen=True)
class MoveRules:
    """How memory travels, and disks.

    Attributes
    ----------
    timeout : s after which a move is called off
    bandwidth : MiB/s at most; 0: no limit
    converge : slow a guest down that writes faster than memory can be sent
    tunnelled : send it through libvirt's own connection
    copied : send what is on disks that the guest writes to; else they lie where all hosts reach
        them, and libvirt refuses to move a machine where it sees that they do not
    """

    timeout: float = 120.0
    bandwidth: int = 0
    converge: bool = True
    tunnelled: bool = False
    copied: bool = False


def moved(
    machine: str,
    source: HostLine,
    target: str,
    peer: str,
    data: str,
    rules: MoveRules,
    there: HostLine,
) -> Moved:
    """Move a machine, and return what it took. Raises MoveError.

    Parameters
    ----------
    source, there : lines to the host that has it, and to the target
    target, peer, data : name of the target, how other hosts reach it, where memory is sent to
    rules : how memory travels
    """
    libvirt = module()
    how = (libvirt.VIR_MIGRATE_LIVE | libvirt.VIR_MIGRATE_PEER2PEER
           | libvirt.VIR_MIGRATE_PERSIST_DEST | libvirt.VIR_MIGRATE_UNDEFINE_SOURCE
           | libvirt.VIR_MIGRATE_ABORT_ON_ERROR)  # fmt: skip
    how |= libvirt.VIR_MIGRATE_AUTO_CONVERGE if rules.converge else 0
    how |= libvirt.VIR_MIGRATE_TUNNELLED if rules.tunnelled else 0
    words: dict[str, Any] = {}
    if data and not rules.tunnelled:
        words[libvirt.VIR_MIGRATE_PARAM_URI] = data
    if rules.bandwidth:
        words[libvirt.VIR_MIGRATE_PARAM_BANDWIDTH] = rules.bandwidth
    begun = time.monotonic()

    def act(connection: Any) -> None:
        domain = connection.lookupByName(machine)
        copies = rules.copied and writable_disks(domain.XMLDesc(0))
        disks = libvirt.VIR_MIGRATE_NON_SHARED_DISK if copies else 0
        domain.migrateToURI3(peer, words, how | disks)

    call = source.begin(act)
    try:
        try:
            call.answer(rules.timeout)
        except HostCallError as error:
            if call.over.is_set():
                raise
            _call_off(machine, source)
            call.answer(_AFTER)
            raise MoveError(
                machine, Why.TIMEOUT, f"not done within {rules.timeout:.0f} s", alive=True
            ) from error
    except HostCallError as error:
        raise _not_moved(machine, target, error) from error
    return _figures(machine, source.node, target, time.monotonic() - begun, there)


def _call_off(machine: str, source: HostLine) -> None:
    with suppress(HostCallError):
        HostLine(source.node, source.uri).ask(
            lambda connection: connection.lookupByName(machine).abortJob(), _AFTER
        )


def _not_moved(machine: str, target: str, error: HostCallError) -> MoveError:
    """Return why a move did not come off; whoever asked for it looks where the machine is now."""
    libvirt, cause = module(), error.__cause__
    code = cause.get_error_code() if isinstance(cause, libvirt.libvirtError) else None
    if error.silent:
        return MoveError(machine, Why.BROKEN, str(error), alive=True,
                         fate="it is not known yet where it runs")  # fmt: skip
    if code == libvirt.VIR_ERR_MIGRATE_UNSAFE:
        fate = "it has disks that the hosts do not share; disks = 'copied' copies them"
        return MoveError(machine, Why.REFUSED, str(error), alive=True, fate=fate)
    if code == libvirt.VIR_ERR_OPERATION_ABORTED:
        return MoveError(machine, Why.CANCELLED, str(error), alive=True)
    if code == libvirt.VIR_ERR_NO_DOMAIN:
        return MoveError(machine, Why.REFUSED, str(error), alive=True, fate="nothing was started")
    return MoveError(machine, Why.BROKEN, str(error), alive=True, blames_target=True)


def _figures(machine: str, source: str, target: str, seconds: float, there: HostLine) -> Moved:
    told: dict[str, Any] = {}
    libvirt = module()

    def act(connection: Any) -> None:
        domain = connection.lookupByName(machine)
        told.update(domain.jobStats(libvirt.VIR_DOMAIN_JOB_STATS_COMPLETED))

    with suppress(HostCallError):  # it may have been moved on, or its host may have died
        there.ask(act, 5.0)
    down = told.get("downtime")
    return Moved(
        machine, source, target, seconds, math.nan, math.nan if down is None else down / 1000,
        int(told.get("memory_processed", 0)), int(told.get("memory_iteration", 0)),
    )  # fmt: skip
