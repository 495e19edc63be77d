"""What `maintenance.csv` says of planned outages, held against the failures and runs of the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sheet import Int, Rows, Summary
from forestall.app.promise.certify.files import PromiseRun


@dataclass(frozen=True)
class PlannedRows(Rows):
    """`maintenance.csv`: nodes that were planned to be out of service in [time, until)."""

    FILE: ClassVar = "maintenance.csv"
    time: Int = read.seconds()
    until: Int = read.seconds()
    node: Int = read.whole(0, "nodes")

    @classmethod
    def of(cls, folder: Path, nodes: int) -> Self | None:
        """Return what a folder says of planned outages; None where there were none."""
        told = "planned_outages" in Summary.of(folder).held
        if not told and not (folder / cls.FILE).exists():
            return None
        return cls.read(folder, nodes=nodes)

    def check(self, run: PromiseRun, finding: Finding) -> str:
        """Every outage that was planned before the last job finished came, and lasted as long."""
        told = run.summary.held.get("planned_outages")
        if told != len(self.time):
            finding.wrong(
                "summary.json counts {0} planned outages, but {1} are listed", told, len(self.time)
            )
        last = int(run.jobs.finish.max())
        failures = run.failures
        came = set(
            zip(
                failures.time.tolist(), failures.node.tolist(), failures.downtime.tolist(),
                strict=True,
            )
        )  # fmt: skip
        rows = zip(self.time.tolist(), self.until.tolist(), self.node.tolist(), strict=True)
        due = [row for row in rows if row[0] < last]
        missing = [
            f"node {node} was planned to be out from {time} to {until}, but failures.csv has no "
            "such outage"
            for time, until, node in due
            if (time, node, until - time) not in came
        ]
        finding.each(missing)
        return f"all {len(due)} planned outages occurred"
