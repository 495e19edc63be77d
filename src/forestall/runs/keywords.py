"""The keywords of `fs.sweep`, written by docs/make_keywords.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

Numbers: TypeAlias = float | str | Sequence[float | str]
Words: TypeAlias = str | Sequence[str]
Flags: TypeAlias = bool | str | Sequence[bool]
Read: TypeAlias = str | int | float | Path
SweepKeywords = TypedDict("SweepKeywords", {
    "model": str, "nodes": Numbers, "policy": Any, "predictor": Words, "accuracy": Numbers,
    "risk": Numbers, "checkpoint": Words, "checkpoint_overhead": Numbers,
    "checkpoint_interval": Numbers, "vault": Words, "ring": Numbers, "spares": Numbers,
    "failovers": Numbers, "downtime": Numbers, "placement": Words, "topology": Words,
    "topology_slack": Numbers, "estimates": Words, "overrun": Words, "compression": Flags,
    "requeue": Words, "min_runtime": Numbers, "repeat_failures": Flags, "mtbf": Numbers,
    "users": Words, "seed": Numbers, "processors_per_node": Numbers, "node_sizes": Words,
    "strategy": Any, "alpha": Numbers, "prediction_accuracy": Numbers, "prediction_error": Words,
    "false_negatives": Numbers, "predict_every": Numbers, "lead": Numbers, "migration": Words,
    "migration_cost": Numbers, "vm_memory": Numbers, "link": Numbers, "dirty_rate": Numbers,
    "max_downtime": Numbers, "tau": Words, "overload_limit": Numbers, "overload_hold": Numbers,
    "past_deadline": Words, "backfill": Flags, "random_stays": Flags, "task_processors": Numbers,
    "least_rate": Numbers, "slack": Numbers, "scheduler": Any, "rank": Words,
    "job_length": Numbers, "restart": Words, "checkpoint_at_end": Flags,
    "restart_overhead": Numbers, "move_below": Numbers, "look_ahead": Numbers,
    "look_every": Numbers, "retry": Numbers, "retries": Numbers, "th1": Numbers, "th2": Numbers,
    "hold": Numbers, "guest_memory": Numbers, "spikes": Words, "warm_up": Numbers,
    "history": Numbers, "predict_step": Numbers, "horizon": Numbers, "pooling": Words,
    "load_memory": Numbers, "hosts": Read, "host_speeds": Read, "period": Read, "failures": Read,
    "failure_format": Read, "system": Read, "from": Read, "days": Read, "fold_nodes": Read,
    "jobs": Read, "strict": bool, "train": Read, "train_from": Read, "train_days": Read,
    "events": Read, "metrics": Read, "maintenance": Read, "machine": Read
}, total=False)  # fmt: skip
"""Options of `forestall sweep` by their keys."""
