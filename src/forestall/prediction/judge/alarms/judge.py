"""A file of alarms judged against a failure log: recall beside chance, precision, lead times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.kit.progress import Progress
from forestall.core.kit.study_folder import window_told
from forestall.core.kit.versions import of_fits
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import NEVER
from forestall.core.show.facts import taken
from forestall.core.streams import stream
from forestall.logs.alarms import read_alarms
from forestall.logs.inputs import chosen_rows
from forestall.prediction.assess.alarm_costs import (
    AlarmCosts,
    RunningJobs,
    checkpoint_costs,
    move_costs,
)
from forestall.prediction.assess.alarms import JudgedAlarms, Line, judge, line_of
from forestall.prediction.judge.alarms.report import verdict
from forestall.prediction.judge.questions import AlarmSettings
from forestall.reliability.report.fit.fit import finite
from forestall.slurm.job_records import read_job_records

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures
    from forestall.core.model.job_records import JobRecords
    from forestall.logs.alarms import Alarms

STEPS: Final = 12
"""Thresholds at which alarms with scores are judged again."""
QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class AlarmStudy:
    """What the alarms are worth: one entry of `judged` for each horizon."""

    asked: AlarmSettings
    told: Mapping[str, Any]
    failures: Failures
    alarms: Alarms
    line: Line
    judged: tuple[JudgedAlarms, ...]
    by_score: tuple[Mapping[str, Any], ...]
    costs: tuple[AlarmCosts, ...] = ()
    summary: dict[str, Any] = field(default_factory=dict)


def study(
    path: Path,
    log: Path,
    reading: Mapping[str, Any],
    asked: AlarmSettings,
    progress: Progress = lambda done, total: None,
    records: Path | None = None,
) -> AlarmStudy:
    """Read alarms and a failure log and return what the alarms are worth.

    Parameters
    ----------
    path : the alarms, see `forestall.logs.alarms`
    log : the failure log
    reading : options of reading the log by key, those that were given
    asked : how to judge
    progress : called with how many of how many steps are done
    records : job records of the same nodes, by which answering alarms is costed

    Raises TraceError for a file that cannot be used, ParameterError for an option.
    """
    inputs = chosen_rows(log, {**reading, "failures": log})
    failures = inputs.read_failures()
    alarms = read_alarms(
        path, names=failures.names, origin=failures.origin, strict=bool(reading.get("strict"))
    )
    jobs = None if records is None else read_job_records(records)
    return study_of(alarms, failures, asked, inputs.told(), progress, jobs)


def study_of(
    alarms: Alarms,
    failures: Failures,
    asked: AlarmSettings,
    told: Mapping[str, Any] | None = None,
    progress: Progress = lambda done, total: None,
    records: JobRecords | None = None,
) -> AlarmStudy:
    """Return what the alarms are worth; see `study`."""
    given = dict(told or {})
    jobs = None if records is None else _jobs(records, failures)
    line = _line(alarms, failures, asked, given)
    total = len(asked.horizons) + 1
    judged = []
    for done, horizon in enumerate(asked.horizons, 1):
        rng = stream(asked.seed, "alarms", "weeks", str(horizon))
        judged.append(
            judge(line, horizon, rng, lead=asked.lead, level=asked.level, draws=asked.draws)
        )
        progress(done, total)
    by_score = tuple(_by_score(alarms, failures, asked, given, jobs))
    costs = () if jobs is None else _costs(line, jobs, judged[asked.main], asked)
    progress(total, total)
    found = AlarmStudy(asked, given, failures, alarms, line, tuple(judged), by_score, costs)
    found.summary.update(summary_of(found))
    return found


def _jobs(records: JobRecords, failures: Failures) -> RunningJobs:
    """Return the jobs that ran, on the clock and with the node numbers of the failure log."""
    if (records.origin is None) != (failures.origin is None):
        counts, dated = (records, failures) if records.origin is None else (failures, records)
        said = f"counts seconds, but {dated.source} has dates; expected one clock"
        raise TraceError(counts.source, said)
    shift = 0
    if records.origin is not None and failures.origin is not None:
        shift = records.origin - failures.origin
    node, ours = records.node, records.node_names
    if ours is not None and failures.names is not None:
        number = {name: k for k, name in enumerate(failures.names)}
        beyond = len(failures.names)
        node = np.array([number.get(name, beyond + k) for k, name in enumerate(ours)])[node]
    ran = np.flatnonzero((records.start < NEVER) & (records.end < NEVER))
    size = records.size[ran]
    held = np.repeat(records.offsets[ran] - np.concatenate(([0], np.cumsum(size)[:-1])), size)
    return RunningJobs(
        records.start[ran] + shift, records.end[ran] + shift,
        np.concatenate(([0], np.cumsum(size))), node[held + np.arange(int(size.sum()))],
    )  # fmt: skip


def _costs(
    line: Line, jobs: RunningJobs, judged: JudgedAlarms, asked: AlarmSettings
) -> tuple[AlarmCosts, ...]:
    """Return what either answer to alarms brings at the main horizon."""
    acting: dict[str, float] = {
        "action_seconds": asked.action_time, "action_cost": asked.action_cost,
    }  # fmt: skip
    return (
        checkpoint_costs(line, jobs, lead=asked.lead, **acting),
        move_costs(line, jobs, judged.horizon, judged.caught, **acting),
    )


def _line(
    alarms: Alarms, failures: Failures, asked: AlarmSettings, told: Mapping[str, Any]
) -> Line:
    """Return the time line in the log's window. Where no option says its ends, it reaches from the
    first alarm, for what came before a predictor ran is no miss, to the last of all."""
    named = failures.nodes + len(alarms.others)
    if failures.names is None:
        named = max(named, int(alarms.node.max(initial=-1)) + 1)
    if asked.nodes is not None and asked.nodes < named:
        allowed = f"at least {named:,}, as many as the log and the alarms name"
        raise ParameterError("nodes", asked.nodes, allowed)
    end = failures.span if told.get("days") is not None else None
    return line_of(
        alarms.time,
        alarms.node,
        failures.time,
        failures.node,
        nodes=asked.nodes or named,
        begin=0 if told.get("from") is not None else _first(alarms, end),
        end=end,
        until=alarms.until,
    )


def _first(alarms: Alarms, end: int | None) -> int | None:
    """Return when the first alarm came, where one came before the end."""
    times = alarms.time if end is None else alarms.time[alarms.time < end]
    return int(times.min()) if len(times) else None


def _by_score(
    alarms: Alarms,
    failures: Failures,
    asked: AlarmSettings,
    told: Mapping[str, Any],
    jobs: RunningJobs | None,
) -> list[dict[str, Any]]:
    """Return what only the alarms with at least such scores are worth, at the main horizon."""
    if alarms.score is None or not np.isfinite(alarms.score).any():
        return []
    whole = _line(alarms, failures, asked, told)
    known = alarms.score[np.isfinite(alarms.score)]
    cuts = np.unique(np.quantile(known, np.linspace(0, 1, STEPS), method="lower"))
    rows = []
    for cut in cuts:
        keep = alarms.score >= cut
        line = line_of(
            alarms.time[keep],
            alarms.node[keep],
            failures.time,
            failures.node,
            nodes=whole.nodes,
            begin=whole.begin,
            end=whole.end,
            until=None if alarms.until is None else alarms.until[keep],
        )
        horizon = asked.horizons[asked.main]
        rng = stream(asked.seed, "alarms", "scores")
        one = judge(line, horizon, rng, lead=asked.lead, level=asked.level, draws=2)
        rows.append(
            {
                "score": float(cut),
                "alarms": len(line.alarm_time),
                **_main(one),
                **({} if jobs is None else _nets(_costs(line, jobs, one, asked))),
            }
        )
    return rows


def _nets(costs: tuple[AlarmCosts, ...]) -> dict[str, float]:
    return {f"{one.response}_net_node_hours": one.net for one in costs}


def summary_of(found: AlarmStudy) -> dict[str, Any]:
    """Return everything as JSON has it."""
    line, asked = found.line, found.asked
    machine = int((line.alarm_node < 0).sum())
    summary: dict[str, Any] = {
        "verdict": "",
        "source": found.alarms.source,
        "failures_source": found.failures.source,
        "window": window_told(line.begin, line.end, found.failures.origin),
        "nodes": line.nodes,
        "node_days": line.node_days,
        "alarms": len(line.alarm_time),
        "alarms_about_the_machine": machine,
        "alarms_outside_the_window": len(found.alarms) - len(line.alarm_time),
        "failures": len(line.failure_time),
        "failures_before_the_window": int((found.failures.time < line.begin).sum()),
        "nodes_failed": len(np.unique(line.failure_node)),
        "lead_s": asked.lead,
        "level": asked.level,
        "main_horizon_s": asked.horizons[asked.main],
        **_main(found.judged[asked.main]),
        "horizons": [row_of(one) for one in found.judged],
        "by_score": list(found.by_score),
        **({"costs": [_told(one) for one in found.costs]} if found.costs else {}),
        "remarks": (found.failures.cleaning + found.alarms.cleaning).told(),
        "parameters": {**found.told, "draws": asked.draws, "seed": asked.seed, **_acting(asked)},
        "versions": of_fits(),
    }
    summary["verdict"] = verdict(summary)
    plain: dict[str, Any] = finite(summary)
    return plain


def _told(one: AlarmCosts) -> dict[str, Any]:
    """Return what one answer to alarms brings as JSON has it."""
    return {
        "response": one.response,
        "jobs_struck": one.struck,
        "jobs_helped": one.helped,
        "actions": one.actions,
        "nodes_per_action": one.nodes / one.actions if one.actions else None,
        "lost_node_hours": one.lost,
        "saved_node_hours": one.saved,
        "spent_node_hours": one.spent,
        "empty_node_hours": one.empty,
        "net_node_hours": one.net,
    }


def _acting(asked: AlarmSettings) -> dict[str, float]:
    """Return what an action costs, where it does."""
    told = {"action_time_s": asked.action_time, "action_cost_node_hours": asked.action_cost}
    return {name: value for name, value in told.items() if value}


def _main(one: JudgedAlarms) -> dict[str, Any]:
    """Return the few numbers that scripts ask for first, at the main horizon."""
    return {
        "recall": one.recall.value,
        "chance_recall": one.covered,
        "precision": one.precision.value,
        "false_alarms_per_node_day": one.false_per_node_day,
        "lead_time_median_s": float(one.lead_quantiles((0.5,))[0]),
    }


def row_of(one: JudgedAlarms) -> dict[str, Any]:
    """Return one horizon as JSON has it."""
    leads = one.lead_quantiles(QUANTILES)
    early = one.first[one.first >= 0]
    names = ("p10", "p25", "median", "p75", "p90")
    return {
        "horizon_s": one.horizon,
        "recall": one.recall.value,
        "recall_ci": one.recall.ci,
        "recall_ci_weeks": one.recall.ci_weeks,
        "caught": one.recall.count,
        "failures": one.recall.of,
        "chance_recall": one.covered,
        "chance_recall_same_nodes": one.covered_same_nodes,
        "lift": one.lift,
        "beats_chance": one.beats_chance(),
        "precision": one.precision.value,
        "precision_ci": one.precision.ci,
        "precision_ci_weeks": one.precision.ci_weeks,
        "right": one.precision.count,
        **taken(one, "repeats", false_alarms="false"),
        "false_alarms_per_node_day": one.false_per_node_day,
        **taken(one, "late", "undecided", "echoes"),
        "false_on_nodes_that_never_fail": one.on_good_nodes,
        "lead_time_s": {name: float(value) for name, value in zip(names, leads, strict=True)},
        "first_alarm_median_s": float(np.median(early)) if len(early) else None,
        "waiting_node_hours": one.waiting / 3600,
    }
