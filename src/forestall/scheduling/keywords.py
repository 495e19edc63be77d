"""The keywords of `fs.simulate`, written by docs/make_keywords.py."""

from __future__ import annotations

from typing import Any, TypedDict

PromiseKeywords = TypedDict("PromiseKeywords", {
    "nodes": int, "accuracy": float, "risk": float, "checkpoint": str | None,
    "checkpoint_overhead": int, "checkpoint_interval": int, "vault": str | None,
    "ring": int | None, "spares": int | None, "failovers": int | None,
    "downtime": int | str | None, "topology": str | None, "topology_slack": float | None,
    "estimates": str, "overrun": str, "compression": bool, "requeue": str, "min_runtime": int,
    "repeat_failures": bool, "mtbf": int | None, "users": str | None, "seed": int, "machine": Any
}, total=False)  # fmt: skip
"""Parameters of `fs.simulate`; durations in s."""
