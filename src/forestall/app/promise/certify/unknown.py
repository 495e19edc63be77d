"""What of a run of promises nothing else in its folder tells of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forestall.app.kit.certify.finding import Unchecked

SUMMARY = "summary.json"


def unchecked(parameters: Mapping[str, Any], *, logged: bool) -> tuple[Unchecked, ...]:
    """Return the columns and keys that only the manifest would tell of."""
    found = [
        Unchecked("failures.csv", ("kind",), "the cause, which the run does not use"),
        Unchecked(
            "failures.csv", ("detectability",),
            "for failures that were not foreseen, any value above the accuracy is possible"
            if logged else "what was foreseen is not logged (simulate with {log_events})",
        ),
        Unchecked("failures.csv", ("downtime",), "for outages that last beyond the last job"),
        _parameters(logged=logged),
        Unchecked(SUMMARY, ("own_rules",), "rules in Python leave no trace; true ends the replay"),
    ]  # fmt: skip
    if not logged:
        found.append(
            Unchecked(
                "jobs.csv", ("deadline", "skipped"),
                "deadlines are checked only against kept, skipped checkpoints only against the sum "
                "(simulate with {log_events} logs the decisions)",
            )
        )  # fmt: skip
        found.append(
            Unchecked("failures.csv", ("time",), "for failures of a node that was already down")
        )
        why = "which of a job's nodes failed, if no job was to start on either before its return"
        found.append(Unchecked("failures.csv", ("node",), why))
    else:
        why = "failures after the last one played, and unplayed ones between"
        found.append(Unchecked("foreseen.csv", ("*",), why))
    if parameters.get("predictor") != "trace":
        found += [
            Unchecked(
                SUMMARY, ("predictor",), "what was learned, and from what, is not in the folder"
            ),
            Unchecked("hazard.csv", ("*",), "what was learned: the replay uses it"),
            Unchecked("predictions.npz", ("*",), "what was learned: the replay uses it"),
        ]
    if parameters.get("users") is not None:
        found.append(
            Unchecked(
                "users.csv", ("*",),
                "rows of users who left, and what each was shown and asked for; sums are checked",
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
