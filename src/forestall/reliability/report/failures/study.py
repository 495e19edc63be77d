"""How a machine fails, by its failure log: rates, laws, years, causes, nodes, trend, bursts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.kit.progress import Progress, StepProgress
from forestall.core.kit.study_folder import date_of
from forestall.core.kit.versions import of_fits
from forestall.core.model.errors import EmptyTraceError, ParameterError
from forestall.logs.inputs import chosen_rows
from forestall.reliability.history.history import History, history
from forestall.reliability.report.failures import groups
from forestall.reliability.report.failures.change import Aged, FailureTrend, change_of, rate_by_age
from forestall.reliability.report.failures.laws import Laws, laws_of
from forestall.reliability.report.failures.nodes import Bursting, Worst, bursting_of, worst_of
from forestall.reliability.report.fit.fit import finite
from forestall.reliability.report.questions import FailureStudySettings

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures
    from forestall.reliability.history.gaps import NodeYears
    from forestall.reliability.report.questions import YearsOf

DAY: Final = 86_400
LUCK: Final = 5
"""So many nodes without a failure would be expected, at least, where none is missed by chance."""
HOUR: Final = 3600
DAYS_A_YEAR: Final = 365.25


@dataclass(frozen=True)
class FailureStudy:
    """What a failure log tells of its machine.

    Attributes
    ----------
    asked : how it was looked at
    told : the options of reading that were given
    failures, history : the log, and what it becomes with each node's time in service
    node, system : laws of the gaps of nodes, and of the whole machine
    change, system_change : trend and power-law process of nodes, and of the whole machine
    aged : failure rate over age
    years, causes : a row for each; year_laws : what was fitted to each year
    worst : nodes and which of them stand out
    bursting : how failures come in bursts
    """

    asked: FailureStudySettings
    told: Mapping[str, Any]
    failures: Failures
    history: History
    node: Laws
    system: Laws
    change: FailureTrend
    system_change: FailureTrend
    aged: Aged
    years: tuple[Mapping[str, Any], ...]
    year_laws: tuple[groups.YearLaws, ...]
    causes: tuple[Mapping[str, Any], ...]
    worst: Worst
    bursting: Bursting
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def node_years(self) -> NodeYears:
        """Failures and exposure of each node in each year, counted as the report counts years."""
        rule: YearsOf = self.summary["years_are"]
        return groups.in_years(self.history, rule).node_years(rule)


def study(
    log: Path,
    reading: Mapping[str, Any],
    asked: FailureStudySettings,
    progress: Progress = lambda done, total: None,
) -> FailureStudy:
    """Read a failure log and return what it tells.

    Parameters
    ----------
    log : the failure log
    reading : options of reading by key, those that were given
    asked : how to look at it
    progress : called with how many of how many steps are done

    Raises TraceError for a log that cannot be used, ParameterError for an option that cannot be.
    """
    inputs = chosen_rows(log, {**reading, "failures": log})
    return study_of(inputs.read_failures(), asked, inputs.told(), progress)


def study_of(
    failures: Failures,
    asked: FailureStudySettings,
    told: Mapping[str, Any] | None = None,
    progress: Progress = lambda done, total: None,
) -> FailureStudy:
    """Return what the failures of a log tell; see `study`."""
    if len(failures) == 0:
        raise EmptyTraceError(failures.source, "has no failures: the log is empty")
    seen = history(failures, clock=asked.clock)
    if len(seen) == 0:
        raise ParameterError("failures", "none", "a log with failures while nodes were in service")
    by_year = groups.year_rule(seen, asked.years)
    parts = len(seen.years(by_year).labels) + len(seen.causes())
    step = StepProgress(progress, 6 + parts)
    question, plain = asked.question, asked.plain_question
    node = laws_of(seen, "node", asked.unit, question, asked.families)
    step()
    system = laws_of(seen, "system", asked.unit, question, asked.families)
    step()
    years, year_laws = groups.year_rows(seen, by_year, asked.unit, plain, step)
    causes = tuple(groups.cause_rows(seen, failures, asked.unit, plain, step))
    changes = change_of(seen, "node", asked.level), change_of(seen, "system", asked.level)
    step()
    aged = rate_by_age(seen)
    step()
    worst = worst_of(seen, asked.level, asked.seed)
    step()
    bursting = bursting_of(seen, asked.seed)
    step()
    found = FailureStudy(
        asked, told or {}, failures, seen, node, system, *changes, aged, tuple(years),
        tuple(year_laws), causes, worst, bursting,
    )  # fmt: skip
    found.summary.update(summary_of(found))
    return found


def summary_of(found: FailureStudy) -> dict[str, Any]:
    """Return everything as JSON has it."""
    failures, seen = found.failures, found.history
    counts = seen.counts()
    days = float(seen.node_days.sum())
    start, end = seen.span
    summary: dict[str, Any] = finite(
        {
            "source": failures.source,
            "window": {
                "from": date_of(start, seen.origin),
                "to": date_of(end, seen.origin),
                "days": (end - start) / DAY,
                "has_dates": seen.origin is not None,
            },
            "failures": counts["failures"],
            "nodes": counts["nodes"],
            "nodes_failed": counts["nodes_failed"],
            "node_days": days,
            "node_years": days / DAYS_A_YEAR,
            "service": "stated" if failures.service_start is not None else "whole log",
            "clock": found.asked.clock,
            "unit": found.asked.unit,
            "level": found.asked.level,
            "remarks": seen.cleaning.told(),
            "hints": hints_of(failures, counts),
            "rate": groups.rate_rows(seen.rates("all", level=found.asked.level), "of")[0],
            "mtbf": mtbf_of(seen, end - start),
            "repairs": groups.repairs_of(seen, failures),
            "fits": {"node": found.node.plain(), "system": found.system.plain()},
            "trend": {"node": found.change.plain(), "system": found.system_change.plain()},
            "years_are": groups.year_rule(seen, found.asked.years),
            "years": list(found.years),
            "causes": list(found.causes),
            "age": {"is_age": found.aged.is_age, "bins": found.aged.rows()},
            "nodes_apart": found.worst.plain(),
            "bursts": found.bursting.plain(),
            "parameters": {**found.told, "draws": found.asked.draws, "seed": found.asked.seed},
            "versions": of_fits(),
        }
    )
    return summary


def mtbf_of(seen: History, span: float) -> dict[str, float | None]:
    """Return mean times between failures by exposure, hours: of a node, and of the machine."""
    count = len(seen)
    return {
        "node_hours": seen.exposure_hours / count if count else None,
        "system_hours": span / HOUR / count if count else None,
    }


def hints_of(failures: Failures, counts: Mapping[str, int]) -> list[str]:
    """Return what should be minded about the log."""
    nodes, failed = counts["nodes"], counts["nodes_failed"]
    unfailed = nodes * np.exp(-counts["failures"] / max(nodes, 1))
    hints = []
    if failures.service_start is None and failed == nodes and unfailed > LUCK:
        hints.append(
            f"all {nodes:,} nodes of the log failed, where chance would have left "
            f"{unfailed:,.0f} without a failure: the log seems to name only nodes that failed, "
            "so the failure rate per node is too high"
        )
    if failures.service_start is None:
        hints.append(
            "the log does not say when nodes were in service: all are assumed to be, from its "
            "start to its end"
        )
    return hints
