"""An independent look at a finished run: can what its files describe have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, work is counted in node-seconds.

A failure at x takes from a run what it did since c, the start of its last completed checkpoint (or
its own start): that is lost, the pause of that checkpoint included. The pauses of its earlier
completed checkpoints, and of all of those of the run that finished, are checkpoint overhead; so is
what going on from a vault takes, where it is not part of what was lost. Work that had been saved
and could not be had is lost, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forestall.core.certify.finding import Certificate, Finding, Rule, Unchecked, certificate
from forestall.core.certify.sums import recomputed
from forestall.scheduling.certify import log, measures, nodes, promised, shared, stored
from forestall.scheduling.certify.measures import Facts


def _walked(name: str, good: str) -> Callable[[Facts, Finding], str]:
    """Return the rule of what the walk over the nodes finds."""

    def check(run: Facts, finding: Finding) -> str:
        finding.take(getattr(run.walk, name))
        return good

    return check


RULES: tuple[Rule[Facts], ...] = (
    Rule("nodes of a run", nodes.sizes),
    Rule("order of runs", nodes.order),
    Rule("one job on a node", _walked("two_jobs", "no node has two jobs at once")),
    Rule(
        "no job on a node that is down",
        _walked("while_down", "no job runs while its node is down"),
    ),
    Rule(
        "no job survives a failure of its node",
        _walked("survived", "no run continues past a failure of its nodes"),
    ),
    Rule("failures and failed runs", nodes.kills),
    Rule("work of each job", nodes.work),
    Rule("promises", measures.promises),
    Rule("account of node-seconds", measures.account),
    *measures.RULES,
    Rule("parameters and files", measures.given),
    Rule("order of rows", nodes.sorted_rows),
)
WITH_OPTIONS: tuple[Rule[Facts], ...] = (
    Rule("users who bargain", measures.users, lambda run: run.bargained),
    Rule("spares", nodes.spares, lambda run: run.has_spares),
    Rule("checkpoints in the vault", stored.stored, lambda run: run.is_stored),
    Rule(
        "measures of the vault", recomputed(stored.measures, "vault"),
        lambda run: run.is_stored,
    ),
    Rule(
        "nodes near each other", nodes.nearness,
        lambda run: run.given.topology is not None and run.is_complete,
    ),
    Rule("planned outages", log.planned, lambda run: run.is_planned),
    Rule("events", log.events, lambda run: run.is_logged),
    Rule("decisions", log.decisions, lambda run: run.is_logged),
    Rule("failures foreseen", log.foreseen, lambda run: run.is_foreseen),
    Rule("promised probabilities", promised.check, promised.applies),
)  # fmt: skip
"""What is looked at only in runs that have it."""
_WITHOUT_RUNS = (
    "nodes and lengths of the runs that failed (runs.csv is missing)",
    "whether a node ran two jobs, or a job while down, during runs that failed",
    "whether every failure of a busy node ended a run that failed later",
)
_CHOOSING = (
    *("accuracy", "risk", "checkpoint", "checkpoint_overhead", "checkpoint_interval"),
    *("placement", "estimates", "overrun", "compression", "requeue", "min_runtime", "mtbf"),
    *("downtime", "repeat_failures", "failovers", "topology_slack", "ring", "users", "vault"),
)
"""Parameters of rules that choose."""


def certify_promise(folder: Path) -> Certificate:
    """Check the folder of a run of the promise model or a classic policy: `jobs.csv`,
    `failures.csv`, `summary.json` and, if there, `runs.csv`, `users.csv`, `maintenance.csv` and, of
    a run with a vault, `checkpoints.csv`. One whose jobs share nodes has rules of its own."""
    if shared.is_shared(folder):
        return shared.certify_shared(folder)
    run = Facts(folder)
    unknown = list(() if run.is_complete else _WITHOUT_RUNS)
    if run.account["idle"] is None:
        unknown.append("checkpoint overhead and idle time, because restarted jobs have checkpoints")
    unchecked = _unchecked(run.given.parameters, logged=run.is_logged)
    return certificate(run, (*RULES, *WITH_OPTIONS), unknown, run.account, unchecked)


def _unchecked(parameters: Mapping[str, Any], *, logged: bool) -> tuple[Unchecked, ...]:
    """Return the columns and keys that only the manifest would tell of."""
    summary, keys = "summary.json", tuple(f"parameters.{name}" for name in _CHOOSING)
    found = [
        Unchecked("failures.csv", ("kind",), "the cause, which the run does not use"),
        Unchecked(
            "failures.csv", ("detectability",),
            "for failures that were not foreseen, any value above the accuracy is possible"
            if logged else "what was foreseen is not logged (simulate with {log_events})",
        ),
        Unchecked("failures.csv", ("downtime",), "for outages that last beyond the last job"),
        Unchecked(
            summary, (*keys, "repeat_period"),
            "the replay uses them, as far as a decision depended on them" if logged
            else "rules that choose: a change that alters no choice leaves no trace",
        ),
        Unchecked(summary, ("own_rules",), "rules in Python leave no trace; true ends the replay"),
    ]  # fmt: skip
    if logged:
        why = "failures after the last one played, and unplayed ones between"
        found.append(Unchecked("foreseen.csv", ("*",), why))
    else:
        found += [
            Unchecked(
                "jobs.csv", ("deadline", "skipped"),
                "deadlines are checked only against kept, skipped checkpoints only against the sum "
                "(simulate with {log_events} logs the decisions)",
            ),
            Unchecked("failures.csv", ("time",), "for failures of a node that was already down"),
            Unchecked(
                "failures.csv", ("node",),
                "which of a job's nodes failed, if no job was to start on either before its return",
            ),
        ]  # fmt: skip
    if parameters.get("predictor") != "trace":
        learned = "what was learned: the replay uses it"
        found += [
            Unchecked(
                summary, ("predictor",), "what was learned, and from what, is not in the folder"
            ),
            Unchecked("hazard.csv", ("*",), learned),
            Unchecked("predictions.npz", ("*",), learned),
        ]
    if parameters.get("users") is not None:
        why = "rows of users who left, and what each was shown and asked for; sums are checked"
        found.append(Unchecked("users.csv", ("*",), why))
    return tuple(found)
