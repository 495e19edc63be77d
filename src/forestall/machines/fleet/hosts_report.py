"""Machines, hosts and coordinators of a fleet on many hosts, as a report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from forestall.core.show.blocks import Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import or_dash
from forestall.machines.acting.hosts.pool import AFTER_LOSS

WAYS: Final = AFTER_LOSS
_GIB: Final = 2**30


def report_of(listing: Mapping[str, Any]) -> Report:
    """Return what `HostsFleet.listing` tells as a report."""
    of_machines = (
        ("Machine", "machine", str), ("Node", "node", str), ("State", _machine_state),
        ("Processors", "processors", lambda count: f"{count:g}"), ("Memory", "memory", _memory),
        ("Deadline", "deadline", or_dash(_date)), ("Checkpoint", "checkpoint", or_dash(str)),
    )  # fmt: skip
    of_nodes = (
        ("Node", "node", str), ("Cluster", "cluster", or_dash(str)), ("State", _node_state),
        ("Machines", "machines", str),
        ("Free processors", "free_processors", lambda free: f"{free:g}"),
        ("Free memory", "free_memory", _memory), ("Predicted failure", _foreseen),
    )  # fmt: skip
    of_coordinators = (
        ("Coordinator", "level", str), ("Running", "at_work", lambda at: "yes" if at else "no"),
        ("Process", "holder", lambda holder: " ".join(holder.split()[:2]) or "-"),
    )  # fmt: skip
    body = (
        Table.by("machines", of_machines, listing["machines"], right=(3, 4), most=0),
        Table.by("nodes", of_nodes, listing["nodes"], right=(3, 4, 5), most=0),
        Table.by("coordinators", of_coordinators, listing["coordinators"], right=(), most=0),
    )
    return Report("Machines", "", (Section("machines", "", body=body),), closing=())


def _machine_state(machine: Mapping[str, Any]) -> str:
    asked = f" ({machine['asked']} is asked for room)" if machine["asked"] else ""
    to = f" to {machine['target']}" if machine["target"] and machine["state"] == "moving" else ""
    return f"{machine['state']}{to}{asked}"


def _node_state(node: Mapping[str, Any]) -> str:
    return str(node["state"]) + (" (drained)" if node["drained"] else "")


def _foreseen(node: Mapping[str, Any]) -> str:
    if node["foreseen"] is None:
        return "-"
    spread = ""
    if node["early"] != node["late"]:
        spread = f" ({_date(node['early'])} to {_date(node['late'])})"
    by = f", {node['by']}" if node["by"] else ""
    leaving = " (leaving)" if node["leaving"] and not node["drained"] else ""
    return f"{_date(node['foreseen'])}{spread}{by}{leaving}"


def _memory(amount: float) -> str:
    return f"{amount / _GIB:.1f} GiB" if amount >= _GIB else f"{amount / 2**20:.0f} MiB"


def _date(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}"
