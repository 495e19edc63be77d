"""The vault of a run of promises: what kernels need to know, and room for what they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core._compile import records
from forestall.core.engine.growth import longer
from forestall.core.world.columns import whole, words
from forestall.core.world.sums import exact_sum
from forestall.scheduling.engine.plugin import row_of
from forestall.scheduling.simulation import saves_kernels  # noqa: F401  (what the world does with one)
from forestall.scheduling.simulation import saves_state as saves
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.saves_state import JobVault, NoSaves, SaveRules

if TYPE_CHECKING:
    from forestall.scheduling.simulation.run import Outcome

KINDS: Final = ("save", "lost")
_FIRST: Final = 1024
_SLOTS: Final = 64


def new_vault(jobs: int, parameters: Parameters) -> NoSaves | JobVault:
    """Return the vault before anything is kept."""
    stores, nodes = parameters.stores, parameters.nodes
    if stores is None:
        return NoSaves(0)
    words_of, room = (nodes + 63) // 64, stores.keep + 1
    shared = stores.layout in ("code", "local", "ring")
    ring = stores.pieces if stores.layout == "ring" else 0
    slots = _SLOTS if shared else 2
    first = -(-np.arange(stores.sites + 1, dtype=np.int64) * nodes // stores.sites)
    return JobVault(
        records(jobs, saves.KEEPING),
        records(_FIRST + 2 * nodes, saves.STORED),
        np.zeros((slots, room), dtype=np.int64),
        np.zeros((slots, room, 2, words_of), dtype=np.uint64),
        np.arange(slots, dtype=np.int64)[::-1].copy(),
        np.array([0, slots - 1, 0], dtype=np.int64),
        np.zeros(nodes + 1, dtype=np.int64),
        row_of(np.array(stores.numbers(nodes), dtype=np.int64), words_of),
        first,
        np.zeros(stores.pieces, dtype=np.int64),
        SaveRules(
            int(shared),
            int(stores.layout == "local"),
            stores.needed,
            stores.pieces,
            stores.keep,
            ring,
        ),
    )


def grown_vault(vault: NoSaves | JobVault) -> NoSaves | JobVault:
    """Return the vault with more room where room is short."""
    if isinstance(vault, NoSaves):
        return vault
    rows = longer(vault.rows, int(vault.at[saves.ROWS]) + len(vault.news) + 4)
    if vault.at[saves.SPARE] > 0:
        return vault._replace(rows=rows)
    old = len(vault.works)
    spare = np.zeros(2 * old, dtype=np.int64)
    spare[:old] = np.arange(2 * old - 1, old - 1, -1)
    vault.at[saves.SPARE] = old
    return vault._replace(
        rows=rows,
        works=longer(vault.works, 2 * old),
        nodes=longer(vault.nodes, 2 * old),
        spare=spare,
    )


def kept_of(vault: NoSaves | JobVault) -> npt.NDArray[Any] | None:
    """Return STORED[m], what became of checkpoints; None without a vault."""
    return None if isinstance(vault, NoSaves) else vault.rows[: vault.at[saves.ROWS]]


def checkpoints_table(outcome: Outcome) -> pl.DataFrame:
    """Return what became of every checkpoint, in the order of events.

    `kind`: a save, or lost, where a job found as it was about to start that its newest checkpoint
    cannot be had; [`start`, `until`) s; `complete`: false where a failure broke the save off;
    `work` of the job in it, s: of lost, in the newest one that can be had.
    """
    rows = outcome.saves
    assert rows is not None, "only runs with a vault have the table"
    return pl.DataFrame(
        {
            "job": outcome.workload.jobs.job[rows["job"]],
            "kind": words(KINDS, rows["kind"]),
            **whole(rows, "start", "until"),
            "complete": rows["complete"] != 0,
            **whole(rows, "work"),
        }
    )


def vault_measures(outcome: Outcome) -> dict[str, Any]:
    """Return measures of checkpoints in a vault; None where there is nothing to average.

    saves : completed; broken_saves : ended too early by a failure
    recoveries : runs that went on from a checkpoint
    fallbacks : how often a job found its newest checkpoint out of reach
    unrecovered : work that was saved and could not be had, node-s
    save_seconds, recovery_seconds : mean lengths, s, of completed saves and of recoveries
    bytes_saved : by completed saves
    """
    rows, stores = outcome.saves, outcome.parameters.stores
    assert rows is not None, "only runs with a vault have these measures"
    assert stores is not None, "only runs with a vault have these measures"
    runs, work = outcome.runs, outcome.workload
    saved = rows[rows["complete"] != 0]
    resumed = runs["job"][runs["resumed"] > 0]
    made = work.jobs.size[saved["job"]] * stores.pieces
    if stores.layout == "ring":  # a job of few nodes has no more copies than nodes
        made = np.minimum(made, work.jobs.size[saved["job"]] ** 2)
    return {
        "saves": len(saved),
        "broken_saves": int(((rows["kind"] == saves.SAVE) & (rows["complete"] == 0)).sum()),
        "recoveries": len(resumed),
        "fallbacks": int((rows["kind"] == saves.LOST).sum()),
        "unrecovered": exact_sum(runs["unrecovered"] * work.jobs.size[runs["job"]]),
        "save_seconds": _mean(saved["until"] - saved["start"]),
        "recovery_seconds": _mean(work.recovery[resumed]),
        "bytes_saved": exact_sum(made) * stores.piece[0],
    }


def _mean(values: npt.NDArray[np.int64]) -> float | None:
    return exact_sum(values) / len(values) if len(values) else None
