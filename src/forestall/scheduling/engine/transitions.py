"""What may happen to jobs and nodes of the promise engine and of the classic policies, and when."""

from __future__ import annotations

from typing import Final

from forestall.core.engine.contract import Transitions
from forestall.core.model.events import EventKind

JOBS: Final = Transitions(
    "job",
    ("NEW", "WAITING", "RUNNING", "DONE"),
    {
        EventKind.SUBMITTED: {("NEW", "WAITING")},
        # A start that is due is not possible where a node is down or still has another job.
        EventKind.START_DUE: {("WAITING", "RUNNING"), ("WAITING", "WAITING")},
        EventKind.PASS: {("WAITING", "RUNNING")},
        EventKind.CHECKPOINT_REQUESTED: {("RUNNING", "RUNNING")},
        EventKind.CHECKPOINT_FINISHED: {("RUNNING", "RUNNING")},
        # Found out as a reservation begins; or, without reservations of nodes, just after a start.
        EventKind.CHECKPOINT_LOST: {("WAITING", "WAITING"), ("RUNNING", "RUNNING")},
        EventKind.FINISHED: {("RUNNING", "DONE")},
        EventKind.NODE_FAILED: {("RUNNING", "WAITING")},
        # Seen where nobody asked for it; where it was asked for; and elsewhere than believed.
        EventKind.STARTED: {("NEW", "RUNNING"), ("WAITING", "RUNNING"), ("RUNNING", "RUNNING")},
        # A job that waits: it was sent back when a node failed, and was not taken up again.
        EventKind.FAILED: {("RUNNING", "DONE"), ("WAITING", "DONE")},
        EventKind.CANCELLED: {("NEW", "DONE"), ("WAITING", "DONE"), ("RUNNING", "DONE")},
        EventKind.REQUEUED: {("RUNNING", "WAITING"), ("WAITING", "WAITING")},
        EventKind.START_REFUSED: {("RUNNING", "WAITING"), ("WAITING", "WAITING")},
        EventKind.OVERRUN: {("RUNNING", "RUNNING")},
    },
)
NODES: Final = Transitions(
    "node",
    ("UP", "DOWN", "DRAINED"),
    {
        EventKind.NODE_FAILED: {("UP", "DOWN"), ("DRAINED", "DOWN"), ("DOWN", "DOWN")},
        EventKind.NODE_RECOVERED: {("DOWN", "UP"), ("DRAINED", "UP")},
        # A node that is down may come back drained; and who drained it may change.
        EventKind.NODE_DRAINED: {("UP", "DRAINED"), ("DOWN", "DRAINED"), ("DRAINED", "DRAINED")},
        EventKind.PREDICTION_CHANGED: {
            ("UP", "UP"),
            ("DOWN", "DOWN"),
            ("DRAINED", "DRAINED"),
        },
    },
)
