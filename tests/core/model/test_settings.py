"""A parameter is declared once: a field with a `Setting` is option, axis and row at once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from forestall.core.commands.questions import text_option
from forestall.core.kit.checked import checked
from forestall.core.kit.report import run_report
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Bounds, Kind, Setting, declared, told
from forestall.core.model.spelling import named
from forestall.machines.rules.entries import STRATEGIES
from forestall.runs import models
from forestall.runs.commands.parameters import option_told, parameter_options
from forestall.runs.models import MODELS
from forestall.runs.settings import settings_of
from forestall.runs.sweep import plan_of, values_of
from forestall.scheduling.settings import Promise
from forestall.scheduling.simulation.parameters import Parameters

DOCS = Path(__file__).resolve().parents[3] / "docs"


class Warmer(Parameters):
    """The promise model's parameters and one more: this line is all that is said of it."""

    heat: Annotated[
        int, Field(ge=1, le=7200), Setting("How long nodes warm up, beside {downtime}", unit="s")
    ] = 300


class Warm(Promise):
    """A throw-away model with that parameter."""

    name = "warm"
    parameters = Warmer


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> Warm:
    made = Warm()
    monkeypatch.setattr(models, "MODELS", {**MODELS, "warm": made})
    monkeypatch.setitem(MODELS, "warm", made)  # type: ignore[arg-type]
    return made


def table_of(model: Warm) -> Any:
    spec = importlib.util.spec_from_file_location("make_parameters", DOCS / "make_parameters.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script.table(model.name)


def test_one_line_makes_an_option(warm: Warm) -> None:
    told = option_told({"warm": warm.declared["heat"]})
    option = text_option(told, varied=True).annotation.__metadata__[0]
    assert option.default == "--heat"  # as Typer keeps it in an annotation
    assert option.help == "How long nodes warm up, beside --downtime (default 5m)."
    assert option.metavar == "DURATION[,...]"
    assert option.rich_help_panel == "Jobs and promises (--model warm)"
    parameter_options.cache_clear()
    assert "heat" in {one.name for one in parameter_options()}
    parameter_options.cache_clear()


def test_one_line_makes_a_key_and_a_python_parameter(warm: Warm) -> None:
    settings = settings_of(Path("jobs.swf"), {"model": "warm", "heat": "10m"})
    assert dict(settings.parameters)["heat"] == 600
    with pytest.raises(ParameterError, match="heat: 0 is not allowed"):
        warm.checked({"heat": 0})
    with pytest.raises(ParameterError, match="only with {model} warm".replace("{model}", "model")):
        settings_of(Path("jobs.swf"), {"heat": "10m"})


def test_one_line_makes_an_axis(warm: Warm) -> None:
    assert values_of(warm.declared["heat"], "5m:15m:5m") == (300, 600, 900)
    plan = plan_of(Path("jobs.swf"), {"model": "warm", "heat": "5m,10m"})
    assert plan.axes == {"heat": (300, 600)}
    assert warm.labels["heat"] == ("Heat (s)", 1.0)
    assert warm.told("heat", 600) == "10 min"


def test_one_line_makes_a_row_of_the_reference_and_of_reports(warm: Warm) -> None:
    row = "| `heat` | 300 s | 1 s to 2 h | how long nodes warm up, beside `downtime` |"
    assert row in table_of(warm)
    assert told(Warmer, {"heat": 5400, "alien": 1.5}) == {"heat": "90 min", "alien": "1.5"}
    page = run_report(
        {}, Warmer, parameters={"heat": 5400}, title="A run", headline="", sections=()
    )
    assert "90 min" in str(page.closing)


class Sample(BaseModel):
    """A parameter of each kind."""

    model_config = ConfigDict(extra="forbid")

    flag: Annotated[bool, Setting("a")] = False
    whole: Annotated[int, Field(ge=0, lt=2**63), Setting("b")] = 1
    share: Annotated[float, Field(ge=0, le=1), Setting("c", axis="share")] = 0.5
    rate: Annotated[float, Field(gt=0), Setting("d", unit="MiB/s", label="Link")] = 119.0
    length: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Setting("e", unit="s", absent="log", unset="the log's", axis="hours"),
    ] = None
    strategy: Annotated[str, STRATEGIES, Setting("f")] = "best-fit"


def test_kinds_and_bounds_come_from_the_type() -> None:
    found = declared(Sample)
    assert [one.kind for one in found.values()] == [
        Kind.FLAG, Kind.WHOLE, Kind.REAL, Kind.REAL, Kind.DURATION, Kind.CHOICE,
    ]  # fmt: skip
    assert found["whole"].bounds == Bounds(least=0, below=2**63)
    assert found["length"].bounds == Bounds(least=1)
    assert found["share"].is_share
    assert not found["rate"].is_share
    assert found["length"].word == "log"
    assert found["strategy"].choices == tuple(STRATEGIES)
    assert "own" not in found["strategy"].choices
    assert {name: one.axis for name, one in found.items() if one.is_number} == {
        "whole": ("Whole", 1.0), "share": ("Share (share)", 1.0), "rate": ("Link (MiB/s)", 1.0),
        "length": ("Length (hours)", 1 / 3600),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("flag", True, "True"), ("whole", 3, "3"), ("share", 0.25, "0.25"),
        ("rate", 119.0, "119 MiB/s"), ("length", 5400, "90 min"), ("length", None, "log"),
        ("strategy", "random", "random"),
    ],
)  # fmt: skip
def test_values_are_told_with_their_unit(name: str, value: Any, text: str) -> None:
    assert declared(Sample)[name].told(value) == text


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("flag", True, True), ("whole", "3", 3), ("share", "0.25", 0.25), ("length", "1h", 3600),
        ("length", "log", "log"), ("strategy", "random", "random"),
    ],
)  # fmt: skip
def test_values_are_read(name: str, given: Any, value: Any) -> None:
    assert declared(Sample)[name].read(given) == value


@pytest.mark.parametrize(
    ("name", "given"),
    [("flag", "yes"), ("whole", 1.5), ("whole", "x"), ("length", "soon"), ("share", [0.1])],
)
def test_values_of_another_kind_are_refused(name: str, given: Any) -> None:
    with pytest.raises(ParameterError, match=name):
        declared(Sample)[name].read(given)


def test_a_word_that_is_no_entry_is_refused_with_those_that_are() -> None:
    wanted = "'random', 'first-fit', 'best-fit' or 'omniscient'"
    with pytest.raises(ParameterError, match=wanted):
        checked(Sample, {"strategy": "worst-fit"})


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_every_parameter_is_named_that_a_declaration_names(model: Any) -> None:
    known = {name for one in MODELS.values() for name in one.fields} | {"train", "machine"}

    def check(name: str) -> str:
        assert name in known
        return name

    for one in model.declared.values():
        texts: tuple[str, ...] = (one.setting.help, one.setting.about, one.setting.allowed)
        spell: Callable[[str], str] = check
        assert all(named(text, spell) is not None for text in texts)
        assert one.setting.help[-1] not in ".;,"
        if one.setting.only:
            assert one.setting.only[0] in model.fields
