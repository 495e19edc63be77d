"""Alibaba's cluster of shared nodes with GPUs (Weng et al., USENIX ATC 2023) as jobs and a machine.

A share of a GPU counts as one; tasks without an end or without a start are left out.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import polars as pl

from forestall.core.model.nodes import RESOURCES, MachineSpec

NODES = "openb_node_list_all_node.csv.xz"
TASKS = "openb_pod_list_default.csv.xz"


def _table(path: Path) -> pl.DataFrame:
    return pl.read_csv(lzma.decompress(path.read_bytes()))


def alibaba_machine(folder: Path, *, every: int = 1) -> MachineSpec:
    """Return the 1,523 nodes of nine kinds, or each so-manieth of them."""
    nodes = _table(folder / NODES)[::every]
    amounts = [nodes["cpu_milli"] // 1000, nodes["memory_mib"], nodes["gpu"]]
    count = len(nodes)
    return MachineSpec(
        tuple(nodes["sn"]),
        RESOURCES,
        np.stack([column.to_numpy() for column in amounts], axis=1).astype(np.int64),
        tuple(nodes["model"].fill_null("")),
        (frozenset(),) * count,
        (frozenset(),) * count,
        str(folder / NODES),
    )


def alibaba_jobs(folder: Path, *, times: int = 1, faster: int = 1) -> pl.DataFrame:
    """Return the tasks as a job table, so many times one after the other, and so many times as
    fast as they came."""
    tasks = _table(folder / TASKS).filter(
        pl.col("scheduled_time").is_not_null(),
        pl.col("deletion_time") < pl.col("deletion_time").max(),
        pl.col("deletion_time") > pl.col("scheduled_time"),
    )
    span = int(tasks["creation_time"].max()) + 1  # type: ignore[arg-type]
    all_of_them = pl.concat(
        [tasks.with_columns(pl.col("creation_time") + k * span) for k in range(times)]
    ).sort("creation_time", maintain_order=True)
    runtime = all_of_them["deletion_time"] - all_of_them["scheduled_time"]
    return pl.DataFrame(
        {
            "job": np.arange(1, len(all_of_them) + 1),
            "submit": all_of_them["creation_time"] // faster,
            "size": np.ones(len(all_of_them), dtype=np.int64),
            "runtime": runtime,
            "estimate": runtime,
            "cores": (all_of_them["cpu_milli"] + 999) // 1000,
            "memory": all_of_them["memory_mib"],
            "gpus": all_of_them["num_gpu"],
            "gpu_type": all_of_them["gpu_spec"].fill_null(""),
        }
    )
