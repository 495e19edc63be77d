"""An independent look at a finished run of virtual machines: can what its files say have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, rates and work are whole thousandths of processors and processor-seconds: every check is
exact.
"""

from __future__ import annotations

from pathlib import Path

from forestall.app.kit.certify.finding import Certificate
from forestall.app.kit.certify.rules import Rule, certificate
from forestall.app.virtual.certify import measures, nodes, stays, tables
from forestall.app.virtual.certify.facts import Facts
from forestall.app.virtual.certify.moves import moves_and_stays

RULES: tuple[Rule[Facts], ...] = (
    Rule("capacity of nodes", nodes.capacity),
    Rule("rates", nodes.rates),
    Rule("one place at a time", stays.places),
    Rule("nothing on a node that is down", nodes.while_down),
    Rule("failures and aborted tasks", nodes.aborts),
    Rule("work of each stay", stays.work),
    Rule("work lost", stays.losses),
    Rule("deadlines", stays.deadlines),
    Rule("tasks and their stays", tables.tasks_and_stays),
    Rule("jobs and their tasks", tables.jobs_and_tasks),
    Rule("order of the queue", tables.order),
    Rule("moves and the stays they link", moves_and_stays),
    Rule("account of capacity", measures.account),
    *(Rule(name.replace("_", " "), measures.rate(name)) for name in measures.RATES),
    Rule("counts", measures.counts),
)
NOT_CHECKED = (
    "which node was chosen (forestall replay compares decisions, where events were logged)",
    "tasks saved, moves in vain, migration time, waits, share of the least reliable nodes",
)


def certify_virtual(folder: Path) -> Certificate:
    """Check the folder of a run of virtual machines.

    Raises TraceError where a file is missing or cannot be read as what it should be; one that can
    be read but tells something impossible fails checks instead.
    """
    return certificate(folder, Facts.read(folder), RULES, NOT_CHECKED)
