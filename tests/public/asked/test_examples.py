"""Functions that ask as commands do: their help, their defaults, what they refuse."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forestall as fs
from forestall.prediction.judge.questions import AlarmSettings, How, ScoreQuestion
from forestall.reliability.report.questions import (
    FailureStudySettings,
    IntervalQuestion,
    SparesQuestion,
)
from forestall.site.futures.question import FuturesQuestion
from forestall.slurm.sources.given import (
    BacktestQuestion,
    GivenRecords,
    LemonQuestion,
    RecordOptions,
)

FUNCTIONS = (
    "assess_alarms", "assess_collection", "assess_jobs", "assess_policies", "assess_predictors",
    "assess_scores", "assess_trial", "backtest_promises", "compare", "design", "fit", "fit_all",
    "interval", "lemons", "plan_trial", "queue_futures", "simulate", "simulate_cycle",
    "simulate_virtual", "site_report", "spares", "study_failures", "sweep", "warm_up",
)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_what_a_function_takes_and_gives(name: str) -> None:
    function = getattr(fs, name)
    assert function.__annotations__["return"]
    assert "Parameters\n----------" in inspect.getdoc(function)  # type: ignore[operator]
    shown = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}(" in shown
    assert "(*args, **kwargs)" not in shown


ASKED: tuple[tuple[Callable[..., Any], Any, set[str]], ...] = (
    (fs.lemons, LemonQuestion, set()),
    (fs.backtest_promises, BacktestQuestion, set()),
    (fs.queue_futures, FuturesQuestion, set()),
    (fs.interval, IntervalQuestion, {"ages", "restart_overhead", "downtime"}),
    (fs.spares, SparesQuestion, {"hours", "measured"}),
    (fs.study_failures, FailureStudySettings, set()),
    (fs.assess_predictors, How, {"most"}),
    (fs.assess_scores, ScoreQuestion, {"score"}),
    (fs.assess_alarms, AlarmSettings, {"draws", "horizons"}),
)


@pytest.mark.parametrize(("function", "asked", "apart"), ASKED)
def test_a_function_asks_with_the_defaults_of_its_command(
    function: Callable[..., Any], asked: Any, apart: set[str]
) -> None:
    taken = inspect.signature(function).parameters
    for field in dataclasses.fields(asked):
        if field.name in apart:
            continue
        default = field.default
        missing = inspect.Parameter.empty if default is dataclasses.MISSING else default
        assert taken[field.name].default == missing, field.name


def test_options_of_records_are_those_of_commands() -> None:
    fields = {one.name for one in dataclasses.fields(GivenRecords)}
    assert set(RecordOptions.__annotations__) == fields - {"paths", "spell"}


def test_no_records_and_strange_options_are_refused() -> None:
    with pytest.raises(fs.errors.ParameterError, match="expected files, failures=FILE"):
        fs.lemons()
    with pytest.raises(fs.errors.ParameterError, match="'zones' is not allowed"):
        fs.lemons("jobs.txt", zones="UTC")  # type: ignore[call-arg]
    with pytest.raises(fs.errors.ParameterError, match="records to go with it"):
        fs.interval(mtbf="4d", checkpoint_overhead="5m", since="90d")
    with pytest.raises(fs.errors.ParameterError, match="results of runs"):
        fs.compare()


def test_futures_of_jobs_that_have_ended_need_a_moment(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.txt"
    jobs.write_text(
        "JobID|User|State|Submit|Start|End|NNodes|NodeList\n"
        "1|ann|COMPLETED|1700000000|1700000100|1700000900|1|n1\n"
    )
    with pytest.raises(fs.errors.ParameterError, match=r"^at: is missing.*when the records end"):
        fs.queue_futures(jobs)
    with pytest.raises(fs.errors.ParameterError, match=r"^at: '2023-11-14.*there are none then"):
        fs.queue_futures(jobs, at="2023-11-14T22:28:20")
