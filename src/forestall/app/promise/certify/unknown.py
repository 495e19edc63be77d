"""What of a run of promises nothing else in its folder tells of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forestall.app.kit.certify.finding import Unchecked

SUMMARY = "summary.json"


def unchecked(parameters: Mapping[str, Any], *, logged: bool) -> tuple[Unchecked, ...]:
    """Return the columns and keys that only the manifest would tell of."""
    found = [
        Unchecked("failures.csv", ("kind",), "the cause, which the run does not look at"),
        Unchecked(
            "failures.csv", ("detectability",),
            "of failures that were not foreseen, whatever lies above the accuracy would do"
            if logged else "what was foreseen is not here (simulate with {log_events} logs it)",
        ),
        Unchecked("failures.csv", ("downtime",), "of outages that last beyond the last job"),
        _parameters(logged=logged),
        Unchecked(SUMMARY, ("own_rules",), "rules in Python leave no trace; true ends the replay"),
    ]  # fmt: skip
    if not logged:
        found.append(
            Unchecked(
                "jobs.csv", ("deadline", "skipped"),
                "deadlines are held against kept only, and skipped checkpoints against the sum "
                "(simulate with {log_events} logs the decisions)",
            )
        )  # fmt: skip
        found.append(Unchecked("failures.csv", ("time",), "of failures while their node was down"))
        why = "which of a job's nodes it was, where no job was to start on either until its return"
        found.append(Unchecked("failures.csv", ("node",), why))
    else:
        why = "failures after the last one played, and what lies between those that were"
        found.append(Unchecked("foreseen.csv", ("*",), why))
    if parameters.get("predictor") != "trace":
        found += [
            Unchecked(SUMMARY, ("predictor",), "what was learned, and from what, is not here"),
            Unchecked("hazard.csv", ("*",), "what was learned: the replay uses it"),
            Unchecked("predictions.npz", ("*",), "what was learned: the replay uses it"),
        ]
    if parameters.get("users") is not None:
        found.append(
            Unchecked(
                "users.csv", ("*",),
                "of users who left, and what each was shown and asked for, beside its sums",
            )
        )  # fmt: skip
    return tuple(found)


def _parameters(*, logged: bool) -> Unchecked:
    names = (
        *("accuracy", "risk", "checkpoint", "checkpoint_overhead", "checkpoint_interval"),
        *("placement", "estimates", "overrun", "compression", "requeue", "min_runtime", "mtbf"),
        *("downtime", "repeat_failures", "failovers", "topology_slack", "ring", "users", "vault"),
    )
    how = "the replay uses them, as far as a decision depended on them" if logged else (
        "rules that choose: a change that alters no choice leaves no trace"
    )  # fmt: skip
    keys = (*(f"parameters.{name}" for name in names), "repeat_period")
    return Unchecked(SUMMARY, keys, how)
