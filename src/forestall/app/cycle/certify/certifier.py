"""An independent look at a finished run of cycle sharing: can what its files say have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, work is counted in whole millionths of a second of a host of speed 1.
"""

from __future__ import annotations

from pathlib import Path

from forestall.app.cycle.certify.files import read_cycle_folder
from forestall.app.cycle.certify.measures import check_measures
from forestall.app.cycle.certify.spans import (
    axis_of,
    check_alone,
    check_available,
    check_offers,
    check_spans,
)
from forestall.app.cycle.certify.sums import check_hosts, check_jobs
from forestall.app.cycle.certify.work import (
    check_saved,
    check_tries,
    check_waits,
    check_work,
    tries_of,
    try_times,
    waits_of,
)
from forestall.app.kit.finding import Check
from forestall.decide.cycle.entries import SCHEDULERS

WITHOUT_LOG = (
    "which host was chosen, and the hosts free at each start (simulate with --log-events logs them)"
)
NEVER_CHECKED = "whether states and work follow from the host traces, which are not in the folder"
OF_PARTS = (
    "the exact work of stays in part of a time of one state: it is within what the host could do"
)
UNTOLD = (
    "names of hosts, and exactly how many samples they gave; "
    "origin, forecasts, sources, skipped and versions in summary.json"
)
OF_WORDS = (
    "figures of candidates.csv where they change no choice, and the words of why in decisions.csv "
    "(replay writes them anew)"
)
OF_FORECASTS = "what was foreseen of hosts, and how promises were corrected by the record"


def cycle_checks(folder: Path) -> tuple[tuple[Check, ...], tuple[str, ...]]:
    """Return every check of the folder of a run of cycle sharing, and what was not checked.

    Raises TraceError where a file is missing or cannot be read as what it should be; one that can
    be read but tells something impossible fails checks instead.
    """
    from forestall.app.cycle.certify import log as logs

    run = read_cycle_folder(folder)
    axis = axis_of(run)
    waits = waits_of(run)
    tries = tries_of(run, waits)
    checks = [
        check_jobs(run),
        check_spans(run),
        check_alone(run),
        check_available(run, axis),
        check_work(run, axis),
        check_offers(run, axis),
        check_saved(run, axis),
        check_tries(run, waits, tries),
        check_waits(run, waits, tries),
        check_hosts(run),
        *check_measures(run),
    ]
    unknown = [
        NEVER_CHECKED,
        OF_PARTS,
        UNTOLD,
        *([OF_FORECASTS] if SCHEDULERS[run.given.scheduler].foretells else []),
    ]
    if not logs.has_log(folder):
        return tuple(checks), (*unknown, WITHOUT_LOG)
    log = logs.read_log(folder, run)
    checks += [
        logs.check_events(run, log, try_times(run, waits, tries)),
        logs.check_decisions(run, log),
        logs.check_candidates(run, log),
        logs.check_choices(run, log),
    ]
    return tuple(checks), (*unknown, OF_WORDS)
