"""What reports say of a run's vault, of both kinds of runs; nothing where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forestall.core.show.words import NOTHING
from forestall.scheduling.report import digest as of_promises
from forestall.sharing.report import digest as of_cycle
from forestall.vaults.api.vaulted import sections_of, vault_facts, vault_section

CYCLE: dict[str, Any] = {
    "saves": 576, "last_saves": 50, "restores": 73, "broken_saves": 5, "broken_restores": 0,
    "skipped": 1, "behind": 5, "unrecovered": 13_680.0, "save_seconds": 78.0,
    "restore_seconds": 29.0, "time_share": 0.106, "bytes_saved": 640 * 10**9,
    "bytes_restored": 73 * 10**9, "bytes_between_sites": 124 * 10**9,
}  # fmt: skip
PROMISE: dict[str, Any] = {
    "saves": 1448, "broken_saves": 0, "recoveries": 13, "fallbacks": 0, "unrecovered": 0,
    "save_seconds": 16.0, "recovery_seconds": None, "bytes_saved": 44_900 * 10**9,
}  # fmt: skip
NODES = {"checkpoint_overhead": 100, "total": 100_000}


@dataclass
class Run:
    summary: dict[str, Any]


def test_of_cycle_sharing() -> None:
    section = vault_section(Run({"vault": CYCLE}))
    assert section.lead == (
        "Saving and recovering took 10.6 % of the guests' time on hosts, last saves left out; "
        "5 times a job had to continue from less than it had saved, which cost 3.8 host-hours "
        "of work."
    )
    (table,) = section.tables
    assert [row[:3] for row in table.rows] == [
        ("Saves", "576", "5"), ("Last saves, before guests had to go", "50", NOTHING),
        ("Recoveries", "73", "0"),
    ]  # fmt: skip
    assert table.records[2]["bytes"] == 73 * 10**9
    assert "124 GB went between sites" in table.note
    assert "1 save found too few hosts and was left out" in table.note
    facts = {one.key: one for one in of_cycle.measures({"vault": CYCLE})}
    assert facts["vault_unrecovered"].unit == "host_hours"
    assert facts["vault_unrecovered"].value == 3.8
    assert facts["vault_cost"].value == 0.106


def test_of_promises() -> None:
    summary = {"vault": PROMISE, "node_seconds": NODES}
    section = vault_section(Run(summary))
    assert section.lead == (
        "Saving and recovering took 0.1 % of all node time; every job found the newest checkpoint "
        "that it had saved."
    )
    (table,) = section.tables
    assert [row[0] for row in table.rows] == ["Saves", "Recoveries"]
    assert table.rows[1][3] == NOTHING  # no recovery, no mean
    facts = {one.key: one for one in of_promises.measures(summary)}
    assert facts["vault_unrecovered"].unit == "node_hours"
    assert facts["vault_recoveries"].value == 13
    assert "none ended early" in facts["vault_saves"].meaning


def test_without_a_vault() -> None:
    assert vault_facts({}) == ()
    assert sections_of(Run({}), (vault_section,)) == ()
    assert len(sections_of(Run({"vault": CYCLE}), (vault_section,))) == 1
