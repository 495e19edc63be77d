"""An independent look at a finished run of virtual machines: can what its files say have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, rates and work are whole thousandths of processors and processor-seconds: every check is
exact.
"""

from __future__ import annotations

from pathlib import Path

from forestall.app.kit.finding import Check
from forestall.app.virtual.certify.chains import (
    chain_of,
    check_deadlines,
    check_losses,
    check_places,
    check_work,
    progress_of,
)
from forestall.app.virtual.certify.files import read_virtual_folder
from forestall.app.virtual.certify.measures import account_of, check_account, check_measures
from forestall.app.virtual.certify.moves import check_moves
from forestall.app.virtual.certify.nodes import (
    check_aborts,
    check_capacity,
    check_down,
    check_rates,
    outages,
)
from forestall.app.virtual.certify.tables import check_jobs, check_order, check_tasks

NOT_CHECKED = (
    "which node was chosen (forestall replay compares decisions, where events were logged)",
    "tasks saved, moves in vain, migration time, waits, share of the least reliable nodes",
)


def virtual_checks(folder: Path) -> tuple[Check, ...]:
    """Return every check of the folder of a run of virtual machines.

    Raises TraceError where a file is missing or cannot be read as what it should be; one that can
    be read but tells something impossible fails checks instead.
    """
    given = read_virtual_folder(folder)
    chain = chain_of(given)
    progress, down = progress_of(given, chain), outages(given)
    account = account_of(given, chain, down)
    return (
        check_capacity(given),
        check_rates(given),
        check_places(given, chain),
        check_down(given, down),
        check_aborts(given),
        check_work(given, chain, progress),
        check_losses(given, chain, progress),
        check_deadlines(given, chain),
        check_tasks(given, chain),
        check_jobs(given, chain),
        check_order(given, chain),
        check_moves(given, chain),
        check_account(given, account),
        *check_measures(given, chain, account),
    )
