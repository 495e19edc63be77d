"""From settings to what foresees failures and what rules go by: predictors, events, metrics, the
site's check, planned maintenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from forestall.core.model.settings import Declared, Setting
from forestall.live.guard.settings import GuardSettings
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.health import HealthCommand, HealthFile, HealthLines
from forestall.live.rules.rules import ActingRules
from forestall.live.rules.settings import RuleSettings
from forestall.prediction.given.predictor_files import load_predictor
from forestall.prediction.watching.events import EventTail
from forestall.prediction.watching.forecasts import MaintenanceForecasts, WatchingForecasts
from forestall.prediction.watching.foreseen import JoinedForecasts, NodeForecasts
from forestall.prediction.watching.metrics import MetricFiles

Wall = Callable[[], float] | None
AtLeastOne = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class WatchTable(Declared):
    """The table ``watch``: what foresees failures of nodes, and what it is told."""

    predictor: Annotated[
        tuple[str, ...], Setting("Files of trained predictors (`forestall predict train`)")
    ] = ()
    events: Annotated[str, Setting("Log of system events that is followed; empty: none")] = ""
    events_form: Annotated[str, Setting("Its form (default: guessed)")] = ""
    metrics: Annotated[
        str, Setting("File, or folder of files NODE.prom, of metrics; empty: none")
    ] = ""
    check_file: Annotated[str, Setting("File with the lines of the site's check of nodes")] = ""
    check: Annotated[
        tuple[str, ...], Setting("The site's check as a command: the program and its arguments")
    ] = ()
    every: Annotated[
        AtLeastOne, Setting("Between two looks at metrics, and two runs of the check", unit="s")
    ] = 300
    horizon: Annotated[AtLeastOne, Setting("Predictors are asked so far ahead", unit="s")] = 86_400


@dataclass(frozen=True)
class Watching:
    """What foresees failures, and the predictor that also tells of odd metrics, if any; `wall` is
    the clock of files, where the cluster has another one."""

    forecasts: NodeForecasts
    predictors: tuple[WatchingForecasts, ...]
    wall: Wall = None

    @classmethod
    def of(cls, table: WatchTable, guard: GuardSettings, wall: Wall = None) -> Watching:
        """Return what settings say; the windows of maintenance are the guard's.

        Raises TraceError and ParameterError for a predictor that cannot be used.
        """
        predictors = tuple(
            WatchingForecasts(
                load_predictor(path),
                events=EventTail(Path(table.events), table.events_form) if table.events else None,
                metrics=MetricFiles(Path(table.metrics), wall=wall) if table.metrics else None,
                every=table.every, horizon=table.horizon,
            )
            for path in table.predictor
        )  # fmt: skip
        planned = MaintenanceForecasts(guard.maintenance)
        return cls(JoinedForecasts(planned, *predictors), predictors, wall)

    def rules(
        self,
        settings: RuleSettings,
        table: WatchTable,
        ledger: LiveLedger,
        *,
        tested: bool = False,
    ) -> ActingRules:
        """Return the rules, which go by the site's check and by odd metrics where there are such;
        `tested`: nodes return by way of a test job."""
        odd = self.predictors[-1].odd if self.predictors else None
        return ActingRules(
            settings, ledger, health=health_of(table, self.wall), odd=odd, tested=tested
        )


def health_of(table: WatchTable, wall: Wall = None) -> HealthLines | None:
    """Return what the site's check says, None where there is none."""
    if table.check:
        return HealthCommand(table.check, table.every, wall=wall)
    return HealthFile(Path(table.check_file), wall=wall) if table.check_file else None


def as_text(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a table in which one predictor may stand without a list."""
    one = given.get("predictor")
    return {**given, "predictor": [one]} if isinstance(one, str) else given
