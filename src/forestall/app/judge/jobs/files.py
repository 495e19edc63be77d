"""The folder of a metric judged as a predictor of failed jobs: what is in it, and its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from forestall._lazy import lazily
from forestall.app.judge.jobs.report import FIGURES, report_of
from forestall.app.kit.study_folder import StudyFolder

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.app.judge.jobs.study import JobStudy


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
