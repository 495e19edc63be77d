"""The vault of a run of cycle sharing: what kernels need to know, and room for what they keep."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.engine.growth import longer
from forestall.core.model.cycle import S2
from forestall.core.model.errors import ParameterError
from forestall.core.model.stores import CHOICES, LAYOUTS, Stores
from forestall.sharing.simulation import vault_state as vaults
from forestall.sharing.simulation.outcome import HostRuns, StoredCheckpoints
from forestall.sharing.simulation.parameters import DAY, CycleParameters
from forestall.sharing.simulation.vault_state import GuestVault, NoVault, StoreRules

Int = npt.NDArray[np.int64]
_FIRST = 1024


def new_vault(jobs: int, runs: HostRuns, parameters: CycleParameters) -> NoVault | GuestVault:
    """Return the vault before anything is kept; ParameterError where the hosts that may keep pieces
    are too few."""
    stores = parameters.stores
    if stores is None:
        return NoVault(0)
    if stores.layout == "ring":
        raise ParameterError("vault", stores.text, "a ring in runs of promises: guests have none")
    hosts = len(runs.first) - 1
    rules = rules_of(stores, parameters)
    keeps = np.zeros(hosts, dtype=np.int64)
    keeps[list(stores.numbers(hosts))] = 1
    # The host that a job runs on keeps none of its pieces.
    if stores.layout == "code" and keeps.sum() <= rules.pieces:
        allowed = f"more than {rules.pieces} hosts to keep pieces, of {hosts} hosts"
        raise ParameterError("vault", stores.text, allowed)
    pieces, room = rules.pieces, rules.room
    return GuestVault(
        records(jobs, vaults.KEEPING),
        records(jobs * room, vaults.VERSION).reshape(jobs, room),
        np.zeros((jobs, room, pieces), dtype=np.int64),
        records(_FIRST, vaults.TRANSFER),
        np.full((_FIRST, pieces), -1, dtype=np.int64),
        np.zeros(jobs + 1, dtype=np.int64),
        np.zeros(vaults.COUNTERS, dtype=np.int64),
        rules,
        seen_of(runs, keeps, stores.sites),
        new_desk(hosts, pieces),
    )


def rules_of(stores: Stores, parameters: CycleParameters) -> StoreRules:
    """Return the stores as kernels read them."""
    (raw, raw_next), (piece, piece_next) = stores.raw, stores.piece
    depth = stores.chain
    return StoreRules(
        layout=LAYOUTS.index(stores.layout),
        choice=CHOICES.index(stores.choice),
        needed=stores.needed,
        pieces=stores.pieces,
        raw=raw,
        raw_next=raw_next,
        piece=piece,
        piece_next=piece_next,
        depth=depth,
        keep=stores.keep,
        room=stores.keep + depth,
        speed=stores.speed,
        near=stores.near,
        far=stores.far,
        host=stores.host,
        server=stores.line if stores.layout == "submitter" else stores.server,
        disk=stores.disk,
        grace=stores.grace,
        history=parameters.history * DAY,
    )


def sites_of(hosts: int, sites: int) -> Int:
    """Return int64[hosts]: the site of each host; hosts are dealt in order of their numbers."""
    return np.arange(hosts, dtype=np.int64) * sites // max(hosts, 1)


def seen_of(runs: HostRuns, keeps: Int, sites: int) -> vaults.SeenHosts:
    """Return what is known of hosts."""
    table, hosts = runs.runs, len(runs.first) - 1
    states = table["state"].astype(np.int64)
    left = np.zeros(len(table), dtype=np.bool_)
    left[1:] = (states[1:] > S2) & (states[:-1] <= S2) & (table["host"][1:] == table["host"][:-1])
    owner = table["host"][left].astype(np.int64)
    first = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=hosts)))).astype(np.int64)
    lost = np.ascontiguousarray(table["start"][left])
    return vaults.SeenHosts(states, sites_of(hosts, sites), keeps, lost, first)


def new_desk(hosts: int, pieces: int) -> vaults.StoreDesk:
    """Return room to choose hosts in."""
    moments = vaults.MOMENTS + vaults.FAILURES
    return vaults.StoreDesk(
        np.zeros(hosts, dtype=np.int64),
        np.zeros(hosts),
        np.zeros(hosts),
        np.zeros((hosts, moments), dtype=np.int8),
        np.zeros(moments),
        np.zeros(hosts, dtype=np.int64),
        np.zeros(vaults.SHORTLIST),
        np.zeros((vaults.SHORTLIST, moments), dtype=np.int8),
        np.zeros(pieces, dtype=np.int64),
        np.zeros((pieces + 1, moments), dtype=np.int8),
        np.zeros(pieces, dtype=np.int64),
    )


def grown_vault(vault: NoVault | GuestVault) -> NoVault | GuestVault:
    """Return the vault with more room where room is short."""
    if isinstance(vault, NoVault):
        return vault
    room = int(vault.at[vaults.ROWS]) + 4
    return vault._replace(
        transfers=longer(vault.transfers, room), places=longer(vault.places, room)
    )


def kept_of(vault: NoVault | GuestVault) -> StoredCheckpoints | None:
    """Return what became of checkpoints, cut to what was used; None without a vault."""
    if isinstance(vault, NoVault):
        return None
    rows = int(vault.at[vaults.ROWS])
    skipped = int(vault.at[vaults.SKIPPED])
    return StoredCheckpoints(vault.transfers[:rows], vault.places[:rows], skipped)
