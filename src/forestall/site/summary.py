"""What a report is on, in a sentence, and which advice is sure to pay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.show.clean import clean
from forestall.core.show.quantities import SHORT, brief, counted, duration
from forestall.reliability.report.fleet import seen_by
from forestall.slurm.sources.failure_logs import of_two_machines
from forestall.slurm.sources.sources import is_dated, spoken

if TYPE_CHECKING:
    from forestall.site.advice.advice import Advice
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked


OF_TWO: Final = (
    "Two machines: the jobs are of one and the failures of another, so this is an example, and "
    "advice names no node"
)


def headline(site: SiteRecords, asked: Asked) -> str:
    """Return what was looked at, in a sentence: jobs, nodes, window and cut."""
    dated = is_dated(site)
    parts: list[str] = []
    accounting = site.accounting
    if accounting is not None:
        jobs = len(np.unique(accounting.which))
        text = counted(jobs, "jobs")
        if jobs != len(accounting):
            text = f"{counted(len(accounting), 'runs')} of {text}"
        users = len(np.unique(accounting.user.code[accounting.user.told]))
        parts.append(f"{text} by {counted(users, 'users')}" if users else text)
    elif site.events is None and site.failures is not None:
        parts.append(counted(len(site.failures), "failures"))
    nodes = known_nodes(site)
    if nodes:
        parts.append(counted(nodes, "nodes"))
    when = f"{spoken(asked.begin, dated)} to {spoken(asked.until, dated)}"
    long = f"{brief(asked.days)} days" if asked.days >= SHORT else duration(86_400 * asked.days)
    text = f"{', '.join(parts) or 'No records'}; {when} ({long})"
    if of_two_machines(site.cleanings()):
        text = f"{OF_TWO}. {text}"
    if asked.partition is not None:
        text += f"; partition {clean(asked.partition)}"
    if asked.min_nodes > 1:
        text += f"; runs on at least {asked.min_nodes:,} nodes"
    return f"{text}."


def known_nodes(site: SiteRecords) -> int | None:
    """Return how many nodes the machine has, as far as the records tell."""
    if site.inventory is not None and len(site.inventory):
        return len(site.inventory)
    names = set() if site.events is None else set(site.events.names)
    most = 0
    if site.accounting is not None:
        seen, most = seen_by(site.accounting), site.accounting.machine_nodes or 0
        names |= set() if seen is None else set(seen.names)
    if names or most:
        return max(len(names), most)
    if site.failures is not None and site.failures.nodes:
        return site.failures.nodes
    return None


def sure(advice: Advice) -> bool:
    """Return whether advice would have saved something by its low end too."""
    return bool(advice.saves and (advice.low is None or advice.low > 0))
