"""What a metric is worth as a predictor of failed jobs: the verdict in words, the report, and the
folder with its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.kit.study_folder import StudyFolder, made_with
from forestall.core.show import closing
from forestall.core.show.blocks import Block, Column, Figure, Prose, Table
from forestall.core.show.facts import Fact
from forestall.core.show.report import Report, Section
from forestall.core.show.words import NOTHING, Summary, count, counted, figure, percent
from forestall.core.show.words import chance as p_text
from forestall.prediction.assess.figures import plot_roc
from forestall.prediction.assess.figures_benefit import plot_benefit
from forestall.prediction.judge.jobs.decision import ACT, NOT_SHOWN, decision, on_area, threshold

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.prediction.judge.jobs.judge import JobStudy


FIGURES: Final = ("roc", "benefit")
FEW: Final = 10
WORST: Final = 0.2
"""Share of the idle periods that the figure's caption is about."""


def dry_run(summary: Summary) -> str:
    """Return on which nodes one would act now; nothing is done."""
    nodes = summary["act_on"]
    if summary["rule"] == "never":
        return "would act on: nothing (acting does not pay)"
    if not nodes:
        return "would act on: nothing (no idle node is beyond the threshold)"
    most = summary["limit_nodes"]
    full = f" (the limit of {counted(most, 'node')} at once)" if len(nodes) == most else ""
    if decision(summary) != ACT:
        why = "it is not shown to pay" if decision(summary) == NOT_SHOWN else "it does harm"
        return (
            f"would act on: nothing, because {why}; the threshold alone would select these "
            f"nodes: {', '.join(nodes)}{full}"
        )
    return f"would act on: {', '.join(nodes)}{full}"


def headline(summary: Summary) -> str:
    """Return what was judged."""
    jobs, window = summary["jobs"], summary["window"]
    dates = f" ({window['from']} to {window['to']})" if window["from"] else ""
    return (
        f"{counted(jobs['all'], 'job')} on {counted(summary['nodes'], 'node')} in "
        f"{window['days']:,.1f} days{dates}; {count(jobs['failed'])} of {count(jobs['judged'])} "
        f"counted jobs failed; {count(jobs['attributed'])} jobs were attributed to an idle "
        "period"
    )


def report_of(found: JobStudy) -> Report:
    """Return what the metric is worth as a report."""
    summary = found.summary
    remarks = (f"{one['text']} ({one['action']})" for one in summary["remarks"])
    return Report(
        f"Is {summary['metric']} worth acting on?",
        headline(summary),
        (_telling(found), _paying(found), _periods(summary), closing.odd_lines(remarks)),
        verdict=(summary["verdict"], dry_run(summary)),
        closing=(closing.made_with(made_with(summary)),),
    )


def _facts(summary: Summary) -> tuple[Fact, ...]:
    """Return the numbers that matter most, at the threshold of the verdict."""
    one = summary["benefit"]["best" if summary["rule"] == "never" else summary["rule"]]
    auc, acted = summary["auc"], one["acted"]
    return (
        Fact("auc", "Area", auc, "number", why="" if auc is not None else on_area(summary),
             meaning="under the ROC curve", shown=NOTHING if auc is None else f"{auc:.3f}"),
        Fact("threshold", "Threshold", one["threshold"], "number", why="acting does not pay",
             meaning=f"of {summary['metric']}", shown=threshold(one["threshold"])),
        Fact("saved_a_month", "Saved a month", one["per_month_node_hours"], "node_hours",
             shown=f"{figure(one['per_month_node_hours'], 3)} node-hours"),
        Fact("acted_on", "Acted on", one["share_acted"], "ratio", meaning="of the idle periods",
             shown=percent(one["share_acted"])),
        Fact("needless", "Needless", one["needless"], "count",
             meaning=f"of {counted(acted, 'action')}", shown=count(one["needless"])),
    )  # fmt: skip


def _telling(found: JobStudy) -> Section:
    """Return whether the metric tells failing jobs from others."""
    summary, curve = found.summary, found.curve_roc
    table = Table.of("area", ("", "Value", ""), area_rows(summary), [
        {"area": one[0], "value": one[1], "meaning": one[2]} for one in area_rows(summary)
    ], right=(1,))  # fmt: skip
    drawn: tuple[Figure, ...] = () if curve is None else (
        Figure(
            FIGURES[0],
            lambda: plot_roc({summary["metric"]: curve}),
            "ROC curve of the metric over idle periods that answer for jobs.",
            on_area(summary),
        ),
    )  # fmt: skip
    return Section(
        "telling", "Does it distinguish failing jobs?", facts=_facts(summary), body=(table, *drawn)
    )


def _paying(found: JobStudy) -> Section:
    """Return what acting on the metric brings: at thresholds, and by the share acted on."""
    summary = found.summary
    told = tuple(Prose(line, soft=True) for line in notes(summary))
    body: tuple[Block, ...] = (_worth(summary), _benefit(found), _shares(summary), *told)
    return Section("paying", "Does acting on it pay?", body=body)


def _benefit(found: JobStudy) -> Figure:
    """Return the net benefit of acting, drawn."""
    summary = found.summary
    cores, at = summary["cores_per_node"], found.curve.part_at(WORST)
    caption = "Acting never pays." if at is None else (
        f"Acting in the worst 20 % of the idle periods brings {percent(at)} of the highest "
        "gain. Gray is acting at random, orange what the same actions would bring if the "
        "metric carried no information: high values answer for more work by attribution alone."
    )  # fmt: skip
    return Figure(
        FIGURES[1],
        lambda: plot_benefit(
            found.curve,
            found.band,
            found.ideal,
            name=summary["metric"],
            blind=found.blind,
            per_node_hour=cores,
            unit="node-hours" if cores == 1 else "CPU-hours",
        ),
        "Net benefit of acting over the share of idle periods acted on, compared with acting "
        "at random and the perfect predictor.",
        caption,
    )


def _periods(summary: Summary) -> Section:
    """Return how many idle periods are of each case, and what that means."""
    cases = (
        ("case_1", "Case I", "answerable for a job that failed"),
        ("case_2", "Case II", "answerable for jobs, none of which failed"),
        ("case_3", "Case III", "answerable for no job"),
        ("no_job_follows", "", "no job follows within the window: left out"),
        ("without_data", "", "without a sample: left out"),
    )
    periods = summary["periods"]
    rows = [(name, count(periods[key]), meaning) for key, name, meaning in cases]
    records = [{"case": key, "periods": periods[key]} for key, _, _ in cases]
    table = Table.of("periods", ("", "Periods", ""), rows, records, right=(1,))
    return Section("periods", "Idle periods", body=(table,))


def area_rows(summary: Summary) -> list[tuple[str, str, str]]:
    """Return the area with its intervals and p-values."""
    if summary["auc"] is None:
        return [("Area under the ROC curve", NOTHING, on_area(summary))]
    low, high = summary["auc_ci"]
    as_high = f"{count(summary['permutations_as_high'])} of {count(summary['permutations'])}"
    rows = [
        ("Area under the ROC curve", f"{summary['auc']:.3f}", f"{low:.3f} to {high:.3f} (DeLong)"),
        ("p-value", p_text(summary["p_value"]), f"one-sided; {as_high} permutations as high"),
    ]
    if summary["auc_ci_by_node"] is not None:
        low, high = summary["auc_ci_by_node"]
        p = p_text(summary["p_value_by_node"])
        rows.insert(1, ("", "", f"{low:.3f} to {high:.3f} (periods of a node together)"))
        rows.append(("", p, "one-sided, periods of a node together"))
    return rows


def _ends(ends: Sequence[float]) -> str:
    """Return both ends of an interval."""
    return f"{figure(ends[0], 3)} to {figure(ends[1], 3)}"


WORTH: Final[tuple[Column, ...]] = (
    ("Threshold", "threshold", threshold),
    ("", "by", {"best": "best", "knee": "80 % of the gain", "held_out": "last third"}.__getitem__),
    ("Acted on", "acted", count),
    ("Share", "share_acted", percent),
    ("Needless", "needless", count),
    ("Net node-hours", "net_node_hours", figure),
    ("A month", "per_month_node_hours", figure),
    ("95 %", "per_month_ci_node_hours", _ends),
)


AT_SHARES: Final[tuple[Column, ...]] = (
    ("Acted on", "share", lambda share: f"{100 * share:.0f} %"),
    ("Part of the gain", "part_of_highest", percent),
    ("Net node-hours", "net_node_hours", figure),
    ("At random", "at_random_node_hours", figure),
    ("5 to 95 %", lambda row: _ends((row["at_random_low"], row["at_random_high"]))),
    ("No relation", "no_relation_node_hours", lambda value: figure(value, 3)),
    ("5 to 95 %", lambda row: _ends((row["no_relation_low"], row["no_relation_high"]))),
)


def _worth(summary: Summary) -> Table:
    """Return the worth of thresholds."""
    benefit = summary["benefit"]
    named = [name for name in ("best", "knee", "held_out") if benefit[name]]
    records = [{"by": name, **benefit[name]} for name in named]
    return Table.by("worth", WORTH, records, right=(0, 2, 3, 4, 5, 6))


def _shares(summary: Summary) -> Table:
    """Return what acting on the worst so many periods brings."""
    return Table.by("at_shares", AT_SHARES, summary["benefit"]["at_shares"], right=range(7))


def notes(summary: Summary) -> list[str]:
    """Return what must be known to read the numbers."""
    benefit = summary["benefit"]
    found = [
        f"Acting always brings {figure(benefit['always_node_hours'])} node-hours, the perfect "
        f"predictor {figure(benefit['perfect_node_hours'])} by acting in "
        f"{percent(benefit['perfect_share'])} of the periods; a node-hour is "
        f"{counted(summary['cores_per_node'], 'CPU-hour')}.",
        "No relation: the same actions, with the failures reassigned at random among the "
        "periods that answer for jobs. A period with a high value answers for more work, "
        "whether or not it predicts failures; only the gain above that is due to the metric.",
        "Every failed job is assumed to be saved by acting on the node that answers for it; "
        "{scale} sets a smaller share.",
    ]
    if summary["periods"]["case_1"] < FEW:
        few = counted(summary["periods"]["case_1"], "period")
        found.append(f"{few} of Case I are too few for a firm conclusion.")
    return found


def tables(found: JobStudy) -> list[pl.DataFrame]:
    """Return the tables of the folder: idle periods, net benefit by threshold and by chance, and
    which period answers for each job."""
    periods, sign, records = found.periods, found.asked.sign, found.inputs.records
    curve, band = found.curve, found.band
    idle = {
        "node": [found.inputs.name_of(node) for node in periods.node.tolist()],
        "start": periods.start,
        "end": periods.end,
        "value": sign * periods.value,
        "samples": periods.samples,
        "case": periods.case,
        "jobs": periods.jobs,
        "failed": periods.failures,
        "lost_node_hours": periods.lost / 3600,
    }
    net = {
        "threshold": [None if np.isinf(t) else sign * t for t in curve.threshold.tolist()],
        "acted": curve.acted,
        "share": curve.share,
        "before_a_failed_job": curve.hits,
        "gain_node_hours": curve.gain,
        "cost_node_hours": curve.cost,
        "net_node_hours": curve.net,
    }
    answers = {
        "job": list(records.job),
        "state": list(records.state),
        "node": [
            None if k < 0 else found.inputs.name_of(int(periods.node[k]))
            for k in periods.period.tolist()
        ],
        "value": [
            None if k < 0 else float(sign * periods.value[k]) for k in periods.period.tolist()
        ],
    }
    random = {
        "share": band.share, "at_random": band.mean, "at_random_low": band.low,
        "at_random_high": band.high, "no_relation": found.blind.mean,
        "no_relation_low": found.blind.low, "no_relation_high": found.blind.high,
    }  # fmt: skip
    return [pl.DataFrame(one, strict=False) for one in (idle, net, random, answers)]


FOLDER: Final = StudyFolder(
    keys=("metric", "periods", "benefit"),
    tables=("periods.csv", "benefit.csv", "by_chance.csv", "jobs.csv"),
    figures=FIGURES,
    report=report_of,
    rows=tables,
)
