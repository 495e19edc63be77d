"""The machine of a run in which jobs share nodes: read, checked against the run, and as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from forestall.core.files.documents import settings_text
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.nodes import RESOURCES, MachineSpec
from forestall.logs.machines import FORM, is_line, machine_from
from forestall.scheduling.rules.entries import ONLY_SHARED, SHARED_PLACEMENTS
from forestall.slurm.nodes import gpus_of, looks_like_nodes, read_nodes

if TYPE_CHECKING:
    from forestall.scheduling.simulation.parameters import Parameters

NOT_ON_SHARED = "not given, with {machine}: not built yet"
NOT_BUILT = ("vault", "ring", "spares", "failovers", "users", "topology", "topology_slack")
"""Parameters that runs on shared nodes do not know yet."""


def read_machine(given: MachineSpec | str | Path | Any) -> MachineSpec:
    """Return a machine from a MachineSpec, a file, or a line of equal nodes. Raises ParameterError
    and TraceError."""
    if isinstance(given, MachineSpec):
        return given
    if not isinstance(given, str | Path):
        raise ParameterError("machine", given, FORM)
    path = Path(given)
    ours = is_line(given) or path.suffix in {".csv", ".toml", ".gz", ".xz", ".zst"}
    if not ours and path.exists():
        slurm = path.suffix == ".json" or looks_like_nodes(settings_text(path))
        return read_slurm_machine(path) if slurm else machine_from(given)
    return machine_from(given)


def read_slurm_machine(path: Path) -> MachineSpec:
    """Return the machine that Slurm describes: a node's CPUs, memory (MiB), GPUs and their type,
    features and partitions. Nodes with GPUs of several types have the types joined (``a+b``).
    Raises TraceError for a node without CPUs."""
    nodes = read_nodes([path])
    for name, cpus in zip(nodes.names, nodes.cpus.tolist(), strict=True):
        if cpus < 1:
            raise TraceError(path, f"node {name} has no CPUs; expected 1 at least")
    amounts = [np.maximum(column, 0) for column in (nodes.cpus, nodes.memory_mb, nodes.gpus)]
    return MachineSpec(
        nodes.names,
        RESOURCES,
        np.stack(amounts, axis=1),
        tuple(gpus_of(gres)[1] for gres in nodes.gres),
        tuple(frozenset(filter(None, text.split(","))) for text in nodes.features),
        tuple(map(frozenset, nodes.partitions)),
        str(path),
    )


def defaults_of(machine: Any) -> dict[str, Any]:
    """Return the parameters that a run on this machine has where they are not given."""
    return {"nodes": len(read_machine(machine)), "placement": SHARED_PLACEMENTS[0]}


def check_own(policy: Any, placement: Any, *, log_events: bool) -> None:
    """Raise ParameterError for what runs on shared nodes cannot have: policies and placements of
    the user's own, and logs of events."""
    own = placement if callable(placement) else None
    for name, value in (("policy", policy), ("placement", own), ("log_events", log_events or None)):
        if value is not None:
            raise ParameterError(name, value, NOT_ON_SHARED)


def check_placement(settings: Parameters, machine: MachineSpec | None) -> None:
    """Raise ParameterError for parameters that a run on shared nodes cannot have, or only such
    a run."""
    if machine is None:
        if settings.placement in ONLY_SHARED:
            raise ParameterError("placement", settings.placement, "given with {machine}")
        return
    if settings.placement not in SHARED_PLACEMENTS:
        allowed = " or ".join((", ".join(SHARED_PLACEMENTS[:-1]), SHARED_PLACEMENTS[-1]))
        raise ParameterError("placement", settings.placement, f"{allowed}, with {{machine}}")
    if settings.nodes != len(machine):
        allowed = f"{len(machine)}, as {{machine}} has, or not given"
        raise ParameterError("nodes", settings.nodes, allowed)
    for name in NOT_BUILT:
        if (value := getattr(settings, name)) is not None:
            raise ParameterError(name, value, NOT_ON_SHARED)


def machine_table(machine: MachineSpec) -> pl.DataFrame:
    """Return ``node,name``, each resource, ``gpu_type,features,partitions``, a row a node."""
    return pl.DataFrame(
        {
            "node": list(range(len(machine))),
            "name": list(machine.names),
            **{name: machine.capacity[:, k] for k, name in enumerate(machine.resources)},
            "gpu_type": list(machine.gpu_type),
            "features": [" ".join(sorted(one)) for one in machine.features],
            "partitions": [" ".join(sorted(one)) for one in machine.partitions],
        }
    )
