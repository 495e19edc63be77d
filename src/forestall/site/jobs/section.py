"""The section on accounts and users: what each waited, used and lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.show.blocks import Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Untold
from forestall.core.show.quantities import counted, number
from forestall.core.show.report import Section
from forestall.site.jobs.used import columns, used_by
from forestall.site.losses.amounts import part
from forestall.site.shared import how_ended
from forestall.slurm.sources.swf_jobs import waits_told

if TYPE_CHECKING:
    from forestall.core.model.coded import Coded
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

KEY: Final = "accounts"
TITLE: Final = "Accounts and users"
MOST: Final = 1000
"""Groups in the tables, those with most node-hours."""
NOTES: Final = (
    "Runs that started. Time limit used: elapsed time over requested time, for runs with a "
    "limit. Lost, no checkpoints: all node-hours of runs that did not complete.",
)


def section(site: SiteRecords, asked: Asked) -> Section:
    """Return the section."""
    records = site.accounting
    if records is None:
        why = "no accounting of jobs was given"
        return Section(KEY, TITLE, "", untold=(Untold(TITLE, why, "sacct's records of jobs"),))
    tables = [
        table
        for key, head, column in (
            ("by_account", "Account", records.account), ("by_user", "User", records.user),
        )
        if (table := _table(key, head, column, site, asked)) is not None
    ]  # fmt: skip
    if not tables:
        why = "the records name neither accounts nor users"
        return Section(KEY, TITLE, "", untold=(Untold(TITLE, why, "sacct with Account and User"),))
    return Section(KEY, TITLE, _lead(tables[0]), body=tuple(tables), notes=NOTES)


def _table(key: str, head: str, column: Coded, site: SiteRecords, asked: Asked) -> Table | None:
    records = site.accounting
    assert records is not None
    if not column.told.any():
        return None
    rows = used_by(
        records, how_ended(site), column.code.astype(np.int64), column.words,
        asked.checkpoint_interval,
    )  # fmt: skip
    ranked = sorted((row for row in rows if row["runs"]), key=lambda row: -row["node_hours"])
    if not ranked:
        return None
    left = len(ranked) - MOST
    note = f"{counted(left, 'others')} with fewer node-hours not shown." if left > 0 else ""
    return Table.by(
        key, columns(head, asked.checkpoint_interval, waits=waits_told(records)), ranked[:MOST],
        title=f"By {head.lower()}", ranked=True, note=note,
    )  # fmt: skip


def _lead(table: Table) -> str:
    """Return who used most, and who lost most."""
    rows = table.records
    whole = sum(row["node_hours"] for row in rows)
    most = max(rows, key=lambda row: row["node_hours"])
    worst = max(rows, key=lambda row: row["lost_node_hours"])
    what = table.heads[0].lower()
    text = (
        f"{counted(len(rows), f'{what}s')}. Most node-hours: {clean(most['name'], 40)}, "
        f"{number(most['node_hours'])} ({part(most['node_hours'], whole)})."
    )
    if worst["lost_node_hours"]:
        text += (
            f" Most lost, if no job writes checkpoints: {clean(worst['name'], 40)}, "
            f"{number(worst['lost_node_hours'])}."
        )
    return text
