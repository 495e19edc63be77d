"""An independent look at a finished run of cycle sharing: can what its files say have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, work is counted in whole millionths of a second of a host of speed 1.
"""

from __future__ import annotations

from pathlib import Path

from forestall.app.cycle.certify import log, spans, sums, vault, work
from forestall.app.cycle.certify.choices import choices
from forestall.app.cycle.certify.files import FORETELL
from forestall.app.cycle.certify.log_files import FILES
from forestall.app.cycle.certify.measures import GROUPS, Measured, group
from forestall.app.cycle.certify.moves import moves
from forestall.app.kit.certify.finding import Certificate, Unchecked
from forestall.app.kit.certify.rules import Rule, certificate

RULES: tuple[Rule[Measured], ...] = (
    Rule("jobs and their stays", sums.jobs_and_stays),
    Rule("availability of hosts", spans.covered),
    Rule("one guest on a host, one host for a job", spans.alone),
    Rule("guests only on available hosts", spans.available),
    Rule("work of each stay", work.work),
    Rule("work that hosts could do", spans.offers),
    Rule("work saved and lost", work.saved),
    Rule("tries", work.tries),
    Rule("waiting only where no host is free", work.waiting),
    Rule("hosts", sums.hosts),
    *(Rule(name, group(name)) for name in GROUPS),
    Rule("events", log.events, FILES),
    Rule("decisions", log.decisions, FILES),
    Rule("candidates", log.candidates, FILES),
    Rule("choices of the scheduler", choices, FILES),
)
IN_VAULT: tuple[Rule[Measured], ...] = (
    Rule("work saved and lost", vault.lost),
    Rule("transfers of checkpoints", vault.transfers),
    Rule("where pieces are", vault.places),
    Rule("what stays go on from", vault.resumed),
    Rule("measures of the vault", vault.measures),
)
"""In the place of the rule of checkpoints that are always there."""
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
    run = Measured.read(folder)
    foreseen = (OF_FORECASTS,) if run.given.rule in FORETELL else ()
    logged = any((folder / name).exists() for name in FILES)
    stored = run.given.stores is not None
    unknown = (
        *NEVER_CHECKED,
        *((OF_PLACES,) if stored else ()),
        *foreseen,
        OF_WORDS if logged else WITHOUT_LOG,
    )
    told = (
        *ALWAYS,
        *(STORED if stored else ()),
        *(FORESEEN if foreseen else ()),
        *(LOGGED if logged else QUIET),
    )
    rules = rules_for(stored, run.given.every > 0)
    return certificate(folder, run, rules, unknown, unchecked=told)


def rules_for(stored: bool, moving: bool) -> tuple[Rule[Measured], ...]:
    """Return the rules of a run whose checkpoints are in a vault, or are not, and whose guests
    move, or do not."""
    place = next(k for k, rule in enumerate(RULES) if rule.check is work.saved)
    saved = IN_VAULT if stored else RULES[place : place + 1]
    more = (Rule("moves of guests", moves),) if moving else ()
    return (*RULES[:place], *saved, *more, *RULES[place + 1 :])
