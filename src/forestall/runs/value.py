"""What a predictor is worth to the system: the same workload replayed with it, with no prediction,
and with the perfect one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.kit.checked import checked
from forestall.core.model.errors import ParameterError
from forestall.core.model.observations import Observations
from forestall.core.model.settings import told
from forestall.core.show import closing
from forestall.core.show.blocks import Column, Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import or_dash
from forestall.prediction.given.learned import Learned, training_of
from forestall.runs.logs import jobs_of
from forestall.runs.settings import inputs_of, learnt_of
from forestall.scheduling.settings import PROMISE
from forestall.scheduling.simulate import simulate
from forestall.scheduling.simulation.parameters import Parameters

with lazily():
    from scipy import special

if TYPE_CHECKING:
    from collections.abc import Callable

    from forestall.core.model.failures import Failures
    from forestall.core.model.jobs import Jobs
    from forestall.prediction.models.learner import Learner
    from forestall.scheduling.report.result import Result

NONE: Final = "no prediction"
PERFECT: Final = "perfect"
MEASURES: Final = ("qos", "lost_node_hours", "utilization", "kept", "promised")
HOUR: Final = 3600
RULE: Final = (
    "Regained, saved: shares of the QoS and of the node-hours that failures cost without "
    "prediction; the perfect predictor has 100 %. QoS weighs each job by its promise: "
    "probabilities below 1 lower it even if they are right."
)


@dataclass(frozen=True)
class ReplayedWorkload:
    """A workload and the failures that it meets, both from time 0 on.

    Attributes
    ----------
    jobs : the workload; failures : of the first `nodes` nodes
    parameters : of the run, such as `risk` and `checkpoint`
    """

    jobs: Jobs
    failures: Failures
    nodes: int
    parameters: Mapping[str, Any]


def held_out(whole: Observations, split: int, days: float, nodes: int) -> Failures:
    """Return the failures of the first `nodes` nodes in the `days` from the split on, as a log from
    time 0."""
    length = min(round(days * 86_400), whole.end - split)
    later = whole.between(split, split + length).failures
    mine = later.take(later.node < nodes)
    return replace(
        mine,
        time=mine.time - split,
        span=length,
        nodes=nodes,
        names=None if mine.names is None else mine.names[:nodes],
        origin=None if mine.origin is None else mine.origin + split,
        service_start=None,
        service_end=None,
        service_new=None,
    )


def figures_of(result: Result) -> dict[str, float]:
    """Return what one run came to: QoS, node-hours lost, utilization, share of promises kept, mean
    promise."""
    told = result.summary
    return {
        "qos": float(told["qos"]),
        "lost_node_hours": told["lost_work"] / HOUR,
        "utilization": float(told["utilization"]),
        "kept": float(told["promises_kept"]),
        "promised": float(told["promised_mean"]),
    }


def replayed(
    replays: Sequence[ReplayedWorkload],
    learners: Mapping[str, Learner],
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Return one row for no prediction, each learner and the perfect predictor.

    Every replay is run with each of them. A learner's clock must show the moments of the replay's,
    with nothing seen after its time 0. Each measure has its mean over the replays and, with two or
    more, half the width of its 90 % interval. `regained` is the share of the QoS that failures cost
    without prediction which the predictor brings back (1: as much as the perfect one; below 0: it
    costs QoS); `saved` the like share of the node-hours lost to failures.
    """
    if not replays:
        raise ParameterError("replays", 0, "at least one workload")
    names = [NONE, *learners, PERFECT]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for k, replay in enumerate(replays):
        for j, name in enumerate(names):
            runs[name].append(figures_of(_run(replay, learners.get(name), name)))
            if progress is not None:
                progress(k * len(names) + j + 1, len(replays) * len(names))
    return [_row(name, runs) for name in names]


def _run(replay: ReplayedWorkload, learner: Learner | None, name: str) -> Result:
    chosen: dict[str, Any] = {"accuracy": 1.0 if name == PERFECT else 0.0}
    if learner is not None:
        chosen = {"predictor": learner}
    return simulate(
        replay.jobs, replay.failures, nodes=replay.nodes, **{**replay.parameters, **chosen}
    )


def _row(name: str, runs: Mapping[str, list[dict[str, float]]]) -> dict[str, Any]:
    row: dict[str, Any] = {"predictor": name}
    for measure in MEASURES:
        row[measure], row[f"{measure}_half_width"] = spread([one[measure] for one in runs[name]])
    for key, measure in (("regained", "qos"), ("saved", "lost_node_hours")):
        known = [one for one in _parts(name, measure, runs) if np.isfinite(one)]
        row[key], row[f"{key}_half_width"] = spread(known) if known else (None, None)
    return row


def spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean, and half the width of its 90 % interval by Student's t (None of one)."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None

    wide = float(special.stdtrit(len(values) - 1, 0.95)) * float(np.std(values, ddof=1))
    return mean, wide / len(values) ** 0.5


@dataclass(frozen=True)
class Account:
    """Which predictors are replayed on which logs: files of `predict train`, or names with a
    training log."""

    log: Path
    values: Mapping[str, Any]
    predictors: Sequence[str]

    def replayed(self, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
        """Return the account as JSON can hold it. Raises InputError and its kin."""
        inputs = inputs_of(self.log, self.values)
        known = {n: one for n, one in PROMISE.declared.items() if n in self.values}
        parameters = checked(Parameters, {n: one.read(self.values[n]) for n, one in known.items()})
        if not parameters.entry.promises:
            allowed = "promise: other policies promise nothing"
            raise ParameterError("policy", parameters.policy, allowed)
        if inputs.failures is None:
            raise ParameterError("failures", None, "a failure log ({failures} FILE)")
        failures = inputs.read_failures()
        training = training_of(inputs, failures)
        nodes = parameters.nodes
        learners = {}
        for name in self.predictors:
            learnt = learnt_of({"predictor": name})
            if isinstance(learnt, Path):
                learners[learnt.name] = Learned.from_file(learnt, failures).learner
            elif training is None:
                raise ParameterError("predictors", name, "a training log as well ({train} FILE)")
            else:
                learners[name] = Learned.trained(name, training.log, nodes).learner
        given = parameters.model_dump(exclude={"nodes", "predictor", "accuracy"})
        replay = ReplayedWorkload(jobs_of(inputs), failures, nodes, given)
        rows = replayed([replay], learners, progress)
        return {
            "verdict": verdict(rows),
            "jobs": str(self.log),
            "failures": failures.source,
            "nodes": nodes,
            "predictors": rows,
            "parameters": given,
        }


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return in one line what the predictors bring the system, what they cost first."""
    none = rows[0]
    parts = []
    for row in rows[1:-1]:
        saved = none["lost_node_hours"] - row["lost_node_hours"]
        gained = row["qos"] - none["qos"]
        lost = f"{abs(saved):,.0f} node-hours {'less' if saved >= 0 else 'MORE'} lost to failures"
        text = f"QoS {row['qos']:.4f} ({gained:+.4f})"
        parts.append((gained, f"{row['predictor']}: {text}, {lost}"))
    parts.sort(key=lambda part: part[0])
    worse = [text for gained, text in parts if gained < 0]
    better = [text for gained, text in parts if gained >= 0]
    named = [("QoS below that of no prediction: ", worse), ("", better[::-1])]
    return "; ".join(lead + "; ".join(texts) for lead, texts in named if texts)


COLUMNS: Final[tuple[Column, ...]] = (
    ("Predictor", "predictor", str),
    ("QoS", "qos", "{:.4f}".format),
    ("Regained", "regained", or_dash(lambda share: f"{100 * share:.0f} %")),
    ("Lost (node-h)", "lost_node_hours", "{:,.0f}".format),
    ("Saved", "saved", or_dash(lambda share: f"{100 * share:.0f} %")),
    ("Utilization", "utilization", lambda share: f"{100 * share:.1f} %"),
    ("Kept", "kept", lambda share: f"{100 * share:.1f} %"),
    ("Promised", "promised", lambda share: f"{100 * share:.1f} %"),
)


def report_of(account: Mapping[str, Any]) -> Report:
    """Return what each predictor brought as a report."""
    table = Table.by("predictors", COLUMNS, account["predictors"], note=RULE)
    section = Section("predictors", "What each predictor brings", body=(table,))
    made = {name: account[name] for name in ("jobs", "failures", "nodes")} | told(
        Parameters, account["parameters"]
    )
    return Report(
        "What predictors are worth to the system",
        f"{account['jobs']} on {account['nodes']:,} nodes, with the failures of "
        f"{account['failures']}",
        (section,),
        verdict=(account["verdict"],),
        closing=(closing.made_with(made),),
    )


def _parts(name: str, measure: str, runs: Mapping[str, list[dict[str, float]]]) -> list[float]:
    """Return of each replay the part of what failures changed in a measure that the predictor takes
    back; nan where they changed nothing."""
    parts = []
    for none, own, best in zip(runs[NONE], runs[name], runs[PERFECT], strict=True):
        gap = best[measure] - none[measure]
        parts.append((own[measure] - none[measure]) / gap if abs(gap) > 1e-9 else np.nan)
    return parts
