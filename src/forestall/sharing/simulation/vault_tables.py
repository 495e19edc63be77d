"""What became of checkpoints in a vault: every transfer, and measures of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.model.cycle import MILLION
from forestall.core.world.columns import whole, words
from forestall.core.world.sums import exact_sum
from forestall.sharing.simulation.tables import millionths
from forestall.sharing.simulation.vault_state import LAST, RESTORE, SAVE
from forestall.sharing.simulation.vaults import sites_of

if TYPE_CHECKING:
    from forestall.sharing.simulation.outcome import CycleOutcome, StoredCheckpoints

KINDS: Final = ("save", "last", "restore")
_BEYOND: Final = ("remote", "submitter")
"""Layouts all of whose bytes go between sites."""


def checkpoints_table(outcome: CycleOutcome) -> pl.DataFrame:
    """Return every transfer of a checkpoint, in the order in which they began.

    `kind`: a save, the last one of a guest whose host is taken back, or a restore; `host`: that of
    the guest; [`start`, `until`) s; `complete`: false where the host or the traces ended it first;
    `version` of the job, and `base`, the first version that it leans on; `work` of the job in it,
    s of a host of speed 1; `bytes` to be carried; `stores`: the hosts that keep its pieces, or
    those that they are read from, with spaces between; "server" for one that is no shared host.
    """
    stored = outcome.stored
    assert stored is not None, "only runs with a vault have the table"
    rows = stored.transfers
    return pl.DataFrame(
        {
            "job": outcome.workload.jobs.job[rows["job"]],
            "kind": words(KINDS, rows["kind"]),
            **whole(rows, "host", "start", "until"),
            "complete": rows["complete"] != 0,
            **whole(rows, "version", "base"),
            "work": millionths(rows["work"]),
            **whole(rows, "bytes"),
            "stores": pl.Series(_stores(stored, len(outcome.hosts)), dtype=pl.String),
        }
    )


def _stores(stored: StoredCheckpoints, hosts: int) -> list[str]:
    """Return the stores of each transfer in words."""
    return [
        " ".join("server" if one == hosts else str(one) for one in row if one >= 0)
        for row in stored.places.tolist()
    ]


def vault_measures(outcome: CycleOutcome) -> dict[str, Any]:
    """Return measures of checkpoints in a vault; None where there is nothing to average.

    saves, last_saves, restores : completed; broken_saves, broken_restores : ended too early
    skipped : saves for which too few hosts could be reached
    behind : stays that went on from less than had been kept, or from scratch where something had
    unrecovered : work that was kept and could not be had, s of a host of speed 1
    save_seconds, restore_seconds : mean lengths of completed ones, s
    time_share : time of guests in transfers, last saves left out, as a share of their time on hosts
    bytes_saved, bytes_restored : of completed transfers; bytes_between_sites : those of them that
        went from one site to another, to a remote server or to the submitting machine
    """
    stored, stays = outcome.stored, outcome.stays
    assert stored is not None, "only runs with a vault have these measures"
    rows = stored.transfers
    over, kind = rows["complete"] != 0, rows["kind"]
    length = rows["until"] - rows["start"]
    saves, last, restores = (kind == k for k in (SAVE, LAST, RESTORE))
    kept = _kept_before(stays)
    behind = kept - stays["resumed"]
    held = exact_sum(stays["end"] - stays["start"])
    busy = exact_sum(length[saves | restores])
    return {
        "saves": int((saves & over).sum()),
        "last_saves": int((last & over).sum()),
        "restores": int((restores & over).sum()),
        "broken_saves": int((saves & ~over).sum()),
        "broken_restores": int((restores & ~over).sum()),
        "skipped": stored.skipped,
        "behind": int((behind > 0).sum()),
        "unrecovered": exact_sum(behind) / MILLION,
        "save_seconds": _mean(length[saves & over]),
        "restore_seconds": _mean(length[restores & over]),
        "time_share": busy / held if held else None,
        "bytes_saved": exact_sum(rows["bytes"][(saves | last) & over]),
        "bytes_restored": exact_sum(rows["bytes"][restores & over]),
        "bytes_between_sites": _between_sites(outcome, over),
    }


def _mean(values: npt.NDArray[np.int64]) -> float | None:
    return exact_sum(values) / len(values) if len(values) else None


def _kept_before(stays: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return int64[stays]: what of its job's work was kept before each stay, millionths."""
    order = np.lexsort((stays["start"], stays["job"]))
    job, saved = stays["job"][order], stays["saved"][order]
    before = np.zeros(len(stays), dtype=np.int64)
    before[1:] = np.where(job[1:] == job[:-1], saved[:-1], 0)
    found = np.empty_like(before)
    found[order] = before
    return found


def _between_sites(outcome: CycleOutcome, over: npt.NDArray[np.bool_]) -> int:
    """Return the bytes of completed transfers that went between sites."""
    stored, stores = outcome.stored, outcome.parameters.stores
    assert stored is not None
    assert stores is not None
    rows = stored.transfers[over]
    if stores.layout in _BEYOND:
        return exact_sum(rows["bytes"])
    if stores.layout == "server":
        return 0
    site = sites_of(len(outcome.hosts), stores.sites)
    places = stored.places[over]
    there = places >= 0
    far = there & (site[np.where(there, places, 0)] != site[rows["host"]][:, None])
    each = rows["bytes"] // np.maximum(there.sum(axis=1), 1)
    return exact_sum(far.sum(axis=1) * each)
