"""An independent look at a finished run of cycle sharing: can what its files say have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, work is counted in whole millionths of a second of a host of speed 1.
"""

from __future__ import annotations

from pathlib import Path

from forestall.core.certify.finding import Certificate, Rule, Unchecked, certificate
from forestall.core.certify.sums import recomputed
from forestall.sharing.certify import hosts, jobs, log, measures, vault
from forestall.sharing.certify.choices import choices
from forestall.sharing.certify.measures import Measured


def _logged(run: Measured) -> bool:
    return run.is_logged


SAVED: Rule[Measured] = Rule("work saved and lost", jobs.saved)
"""In runs whose checkpoints are always there; in the others `IN_VAULT`."""
RULES: tuple[Rule[Measured], ...] = (
    Rule("jobs and their stays", jobs.jobs_and_stays),
    Rule("availability of hosts", hosts.covered),
    Rule("one guest on a host, one host for a job", hosts.alone),
    Rule("guests only on available hosts", hosts.available),
    Rule("work of each stay", jobs.work),
    Rule("work that hosts could do", hosts.offers),
    SAVED,
    Rule("tries", jobs.tries),
    Rule("waiting only where no host is free", jobs.waiting),
    Rule("hosts", hosts.hosts),
    *measures.RULES,
    Rule("events", log.events, _logged),
    Rule("decisions", log.decisions, _logged),
    Rule("candidates", log.candidates, _logged),
    Rule("choices of the scheduler", choices, _logged),
)
IN_VAULT: tuple[Rule[Measured], ...] = (
    Rule("work saved and lost", vault.lost),
    Rule("transfers of checkpoints", vault.transfers),
    Rule("where pieces are", vault.places),
    Rule("what stays go on from", vault.resumed),
    Rule("measures of the vault", recomputed(vault.measures, "vault")),
)
MOVES: Rule[Measured] = Rule("moves of guests", jobs.moves, lambda run: run.given.every > 0)
WITHOUT_LOG = (
    "which host was chosen, and the hosts free at each start (simulate with {log_events} logs them)"
)
NEVER_CHECKED = (
    "whether states and work follow from the host traces, which are not in the folder",
    "the exact work of stays that cover part of one state of a host: only its bounds are checked",
)
OF_WORDS = "column why of decisions.csv, except by the replay, which writes it again"
OF_PLACES = (
    "whether pieces are on the best hosts, whether a last checkpoint that was not taken would "
    "have finished in time, and how many saves were skipped"
)
OF_FORECASTS = "the forecasts of hosts, and how promises were corrected by their record"
SUMMARY = "summary.json"
PARAMETERS = (
    *("hold", "load_memory", "th1", "th2", "spikes", "guest_memory", "history", "pooling"),
    *("horizon", "predict_every", "predict_step", "warm_up", "days", "min_runtime", "retries"),
    *("checkpoint_interval", "checkpoint_overhead", "checkpoint_at_end", "restart_overhead"),
    *("compression", "rank", "job_length", "retry", "vault"),
    *("move_below", "look_ahead", "look_every"),
)
ALWAYS = (
    Unchecked(
        SUMMARY, tuple(f"parameters.{name}" for name in PARAMETERS),
        "how traces became states, and rules that choose: a change that alters no choice leaves no "
        "trace",
    ),
    Unchecked(
        SUMMARY, ("origin", "forecasts"),
        "from the host traces, which are not in the folder",
    ),
    Unchecked(
        "hosts.csv", ("name", "samples", "speed"),
        "from the host traces; bounds are checked",
    ),
    Unchecked("availability.csv", ("work",), "from the host traces; bounds are checked"),
    Unchecked(
        "stays.csv", ("work", "saved", "lost"),
        "where a stay covers part of one state; bounds are checked",
    ),
)  # fmt: skip
LOGGED = (
    Unchecked(
        "candidates.csv", ("jct", "mttf", "etl", "jctf", "rank", "chance"),
        "figures of hosts that change no choice",
    ),
)  # fmt: skip
QUIET = (Unchecked(SUMMARY, ("events",), "events are logged with {log_events}"),)
STORED = (
    Unchecked("checkpoints.csv", ("stores", "work", "bytes"), "see what was not checked"),
    Unchecked(SUMMARY, ("vault.skipped",), "saves that never began leave no trace"),
)
FORESEEN = (Unchecked("stays.csv", ("promise", "chance"), OF_FORECASTS),)


def certify_cycle(folder: Path) -> Certificate:
    """Check the folder of a run of cycle sharing.

    Raises TraceError where a file is missing or cannot be read as what it should be; one that can
    be read but tells something impossible fails checks instead.
    """
    run = Measured(folder)
    foreseen = (OF_FORECASTS,) if run.given.entry.foretells else ()
    stored = run.given.stores is not None
    unknown = (
        *NEVER_CHECKED,
        *((OF_PLACES,) if stored else ()),
        *foreseen,
        OF_WORDS if run.is_logged else WITHOUT_LOG,
    )
    unchecked = (
        *ALWAYS,
        *(STORED if stored else ()),
        *(FORESEEN if foreseen else ()),
        *(LOGGED if run.is_logged else QUIET),
    )
    place = RULES.index(SAVED)
    saved = IN_VAULT if stored else (SAVED,)
    rules = (*RULES[:place], *saved, MOVES, *RULES[place + 1 :])
    return certificate(run, rules, unknown, unchecked=unchecked)
