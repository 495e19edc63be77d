"""A run in short, as the terminal tells it: what was run, and its measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from forestall.core.kit.measure import Measure
from forestall.core.kit.report import measured
from forestall.core.show import words as say_
from forestall.core.show.facts import Fact
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.report import words
from forestall.vaults.api.vaulted import vault_facts

if TYPE_CHECKING:
    from forestall.core.show.words import Summary


NAMES: Final = {"cores": "Cores", "memory": "Memory", "gpus": "GPUs"}
HOURS: Final = {"cores": "core-hours", "memory": "GiB-hours", "gpus": "GPU-hours"}

MEASURES: Final = (
    Measure("Quality of service (QoS)", "qos", say_.ratio, max),
    Measure("Promises kept", "promises_kept", say_.percent, max),
    Measure("Brier score of promises", "brier", lambda value: say_.ratio(value, 4), min),
    Measure("Utilization", "utilization", say_.percent, max),
    Measure("Lost work", "lost_work", say_.node_hours, min),
    Measure("Wait, mean", "wait.mean", say_.duration, min),
    Measure("Wait, median", "wait.median", say_.duration, min),
    Measure("Wait, 95th percentile", "wait.p95", say_.duration, min),
    Measure("Response, mean", "response.mean", say_.duration, min),
    Measure("Bounded slowdown, mean", "bounded_slowdown.mean", lambda v: say_.ratio(v, 2), min),
    Measure("Restarts", "restarts", say_.count, min),
    Measure("Checkpoints performed", "checkpoints", say_.count),
    Measure("Checkpoints skipped", "skipped_checkpoints", say_.count),
    Measure("First submission to last finish", "makespan", say_.duration, min),
    Measure("Jobs", "jobs_count", say_.count),
)
"""By which sweeps and comparisons tell runs apart."""


def headline(summary: Summary, failures: int | None) -> list[str]:
    """Return what was run, in parts."""
    parameters = summary["parameters"]
    policy = summary["policy"]
    parts = [
        say_.counted(summary["jobs_count"], "job"),
        say_.counted(parameters["nodes"], "node"),
        "no failures" if failures is None else say_.counted(failures, "failure"),
        f"policy {policy}",
    ]
    if POLICIES.chosen(policy).promises:
        forecast = summary.get("predictor", {}).get("name", "trace")
        accuracy = f"accuracy {parameters['accuracy']:g}"
        told = {"trace": accuracy, "own": "a predictor of your own"}
        risk = "users who bargain" if parameters.get("users") else f"risk {parameters['risk']:g}"
        parts += [told.get(forecast, f"predictor {forecast}"), risk]
    return [*parts, f"checkpoints {parameters['checkpoint']}", f"seed {summary['seed']}"]


def measures(summary: Summary) -> tuple[Fact, ...]:
    """Return each measure of a run with its unit and what it means."""
    useful = say_.number((summary.get("node_seconds") or {}).get("useful"))
    lost = say_.number(summary.get("lost_work"))
    share = f"{say_.percent(lost / useful)} of the useful work" if useful and lost else ""
    hit = say_.count(summary.get("failures_hit"))
    return (
        *_promises(summary),
        *users(summary),
        measured("utilization", "Utilization", summary.get("utilization"), "ratio",
                 "of node time did useful work", say_.percent),
        *_resources(summary),
        measured("lost_work", "Lost work", None if lost is None else lost / 3600, "node_hours",
                 share or "nothing was lost to failures", lambda _: say_.node_hours(lost)),
        _spread("wait", "Wait", summary, "seconds", say_.duration),
        _spread("response", "Response", summary, "seconds", say_.duration),
        _spread("bounded_slowdown", "Bounded slowdown", summary, "number",
                lambda value: say_.ratio(value, 2), " times"),
        measured("checkpoints", "Checkpoints", summary.get("checkpoints"), "count",
                 f"performed; {say_.count(summary.get('skipped_checkpoints'))} skipped",
                 say_.count),
        measured("restarts", "Restarts", summary.get("restarts"), "count",
                 _restarted(summary), say_.count),
        measured("failures_played", "Failures", summary.get("failures_played"), "count",
                 f"during the run; {hit} of them hit a job", say_.count),
        measured("makespan", "Makespan", summary.get("makespan"), "seconds",
                 "from first submission to last finish", say_.duration),
        *vault_facts(summary),
        *near(summary),
    )  # fmt: skip


def resources_in(summary: Summary) -> Mapping[str, Mapping[str, Any]]:
    """Return what a summary says of resources; nothing where jobs had nodes alone."""
    found: Mapping[str, Mapping[str, Any]] = summary.get("resources") or {}
    return found


def hours_of(name: str) -> str:
    """Return the unit of a resource in use."""
    return HOURS.get(name, f"{name}-hours")


def _resources(summary: Summary) -> tuple[Fact, ...]:
    """Return the share of each resource that runs had."""
    return tuple(
        measured(
            f"utilization_{name}", f"{NAMES.get(name, name)} in use", one["utilization"], "ratio",
            f"{one['used_hours']:,.0f} of {one['total_hours']:,.0f} {hours_of(name)}; "
            f"{one['lost_hours']:,.1f} lost to failures",
            say_.percent,
        )
        for name, one in resources_in(summary).items()
    )  # fmt: skip


def near(summary: Summary) -> tuple[Fact, ...]:
    """Return how near each other nodes were; nothing where that did not matter."""
    told = summary.get("topology") or {}
    if not told.get("could"):
        return ()
    where = "have consecutive nodes do"
    if summary["parameters"].get("topology") != "contiguous":
        where = "be under one switch are"
    meaning = f"of the {say_.count(told['could'])} runs that could {where}"
    return (measured("near", "Nodes near each other", told["near"], "ratio", meaning,
                     say_.percent),)  # fmt: skip


def _restarted(summary: Summary) -> str:
    """Say what restarts are, and what spares did for them."""
    told, text = summary.get("spares"), "of jobs stopped by a failure"
    if not told:
        return text
    at_once, on_spares = say_.count(told["at_once"]), say_.count(told["on_spares"])
    return f"{text}; {at_once} at once, {on_spares} with a spare among their nodes"


def _promises(summary: Summary) -> tuple[Fact, ...]:
    made, promised = words.promises_made(summary)
    share = say_.number(summary.get("promises_kept"))
    if not made or share is None:
        why = "this policy makes none"
        return (Fact("promises", "Promises", None, "count", why=why, shown="none"),)
    kept = f"{say_.count(round(share * made))} of {say_.count(made)}"
    return (
        measured("promises_kept", "Promises kept", share, "ratio",
                 f"{kept}; {say_.percent(promised)} promised on average", say_.percent),
        measured("qos", "Quality of service", summary.get("qos"), "number",
                 "of 1: work finished by its deadline, weighted by its promise",
                 lambda value: say_.ratio(value, 4)),
        measured("brier", "Brier score", summary.get("brier"), "number",
                 "of the promises; 0 is perfect", lambda value: say_.ratio(value, 4)),
    )  # fmt: skip


def users(summary: Summary) -> tuple[Fact, ...]:
    """Return what came of users who bargain; nothing where none do."""
    told = summary.get("users") or {}
    jobs, took, value = (say_.number(told.get(name)) for name in ("jobs", "took", "value"))
    if not jobs or took is None:
        return ()
    again, first = (say_.count(told.get(name)) for name in ("asked_again", "took_first"))
    kept = say_.number(told.get("value_kept")) or 0.0
    return (
        measured("users_left", "Jobs never submitted", told.get("left"), "count",
                 f"of {say_.count(jobs)}: their users found no offer acceptable", say_.count),
        measured("users_took", "Offers accepted", took, "count",
                 f"{first} of them the first offer; {again} users asked again", say_.count),
        measured("users_value", "Value kept", kept / value if value else None, "ratio",
                 "of the value of all jobs if done at once; "
                 f"{say_.figure(told.get('value_promised'))} promised, {say_.figure(kept)} kept",
                 say_.percent),
    )  # fmt: skip


def _spread(
    key: str,
    label: str,
    summary: Summary,
    unit: str,
    tell: Callable[[object], str],
    times: str = "",
) -> Fact:
    """Return a mean with its median and 95th percentile."""
    three: dict[str, Any] = summary.get(key) or {}
    median, p95 = tell(three.get("median")), tell(three.get("p95"))
    meaning = f"on average; median {median}, 95 % within {p95}"
    return measured(
        f"{key}_mean", label, three.get("mean"), unit, meaning, lambda value: tell(value) + times
    )
