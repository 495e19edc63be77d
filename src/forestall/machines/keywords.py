"""The keywords of `fs.simulate_virtual`, written by docs/make_keywords.py."""

from __future__ import annotations

from typing import TypedDict

VirtualKeywords = TypedDict("VirtualKeywords", {
    "nodes": int, "processors_per_node": int, "node_sizes": str | None, "alpha": float | str,
    "prediction_accuracy": float, "prediction_error": str, "false_negatives": float,
    "predict_every": int | None, "lead": int | None, "migration": str, "migration_cost": int,
    "vm_memory": float | None, "link": float, "dirty_rate": float, "max_downtime": float,
    "tau": str, "overload_limit": float | None, "overload_hold": int, "past_deadline": str,
    "backfill": bool, "random_stays": bool, "task_processors": float, "least_rate": float,
    "slack": float, "checkpoint": str, "checkpoint_interval": int, "checkpoint_overhead": int,
    "downtime": int | str | None, "repeat_failures": bool, "min_runtime": int, "seed": int
}, total=False)  # fmt: skip
"""Parameters of `fs.simulate_virtual`; durations in s."""
