"""The keywords of `fs.simulate_cycle`, written by docs/make_keywords.py."""

from __future__ import annotations

from typing import TypedDict

CycleKeywords = TypedDict("CycleKeywords", {
    "rank": str, "job_length": int | str | None, "restart": str,
    "checkpoint_interval": int | str | None, "checkpoint_overhead": int,
    "checkpoint_at_end": bool, "restart_overhead": int, "vault": str | None,
    "move_below": float | str | None, "look_ahead": int, "look_every": int, "retry": int,
    "retries": int, "th1": float, "th2": float, "hold": int, "guest_memory": float, "spikes": str,
    "warm_up": int, "history": int, "predict_every": int, "predict_step": int, "horizon": int,
    "pooling": str, "load_memory": int, "seed": int
}, total=False)  # fmt: skip
"""Parameters of `fs.simulate_cycle`; durations in s."""
