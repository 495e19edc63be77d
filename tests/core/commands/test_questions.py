"""Options are made of what the parameters of a command's function declare."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from forestall.core.commands.questions import Given, TextOptions, texts
from forestall.core.commands.registry import command
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Declared, Setting, declared


def pair_of(text: str) -> tuple[str, ...]:
    return tuple(text.split("+"))


@dataclass(frozen=True)
class Asked(Declared, group="Asking"):
    """A question."""

    share: Annotated[float, Field(gt=0, lt=1), Setting("Of all", shown="SHARE")]
    lead: Annotated[int, Setting("Before it", unit="s")] = 300
    names: Annotated[
        tuple[str, ...], Setting("Whose", shown="A+B", read=pair_of, typed="a+b", group="Who")
    ] = ("a", "b")
    count: Annotated[Annotated[int, Field(ge=1)] | None, Setting("How many")] = None
    how: Annotated[Literal["fast", "slow"], Setting("How")] = "fast"
    sure: Annotated[bool, Setting("Whether it is")] = True
    inner: int = 7


ROWS = texts("Log", ("from", "Its begin", "TIME"), ("strict", "All", "off"), rare={"strict"})
GOT: list[Any] = []
APP = typer.Typer()


@command(APP, "ask", "forestall ask --share 0.5")
def ask(
    log: Annotated[Path, typer.Argument(help="The log.")],
    given: Annotated[Given, TextOptions(ROWS)],
    asked: Asked,
    *,
    more: Annotated[list[str] | None, Setting("More", option="more", short="s")] = None,
) -> None:
    """Ask."""
    GOT[:] = [log, given, asked, more]


APP.command("other")(lambda: None)


def run(*words: str) -> Any:
    GOT.clear()
    done = CliRunner().invoke(APP, ["ask", "log.csv", *words])
    if isinstance(done.exception, ParameterError):
        raise done.exception
    return done


def test_what_is_not_said_is_the_default() -> None:
    assert run("--share", "0.5").exit_code == 0
    assert [Path("log.csv"), {}, Asked(0.5), None] == GOT


def test_what_is_said_is_read() -> None:
    words = (
        "--share 0.25 --lead 2m --names x+y --count 3 --how slow --no-sure --from 2024 --strict "
        "--more k=1 -s l=2"
    )
    assert run(*words.split()).exit_code == 0
    asked = Asked(0.25, 120, ("x", "y"), 3, "slow", sure=False)
    assert [Path("log.csv"), {"from": "2024", "strict": True}, asked, ["k=1", "l=2"]] == GOT


def test_help_shows_defaults_bounds_and_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    said = run("--help").stdout
    for text in (
        "Asking", "Who", "Before it (default 5m).", "Whose (default a+b).", "N [x>=1]",
        "--sure", "--no-sure", "(default fast)", "--set", "-s",
    ):  # fmt: skip
        assert text in said, text
    assert "inner" not in said


@pytest.mark.parametrize(
    ("words", "named"), [("--share 1", "share"), ("--share nan", "share")], ids=str
)
def test_what_is_out_of_bounds_is_refused(words: str, named: str) -> None:
    with pytest.raises(ParameterError, match=f"^{named}: .*a number between 0 and 1"):
        run(*words.split())


@pytest.mark.parametrize("words", ["", "--share 0.5 --count 0", "--share 0.5 --how never"])
def test_what_typer_refuses_ends_with_2(words: str) -> None:
    assert run(*words.split()).exit_code == 2


def test_python_is_refused_the_same() -> None:
    with pytest.raises(ParameterError, match=r"^count: .*a whole number of at least 1"):
        Asked(0.5, count=0)
    with pytest.raises(ParameterError, match=r"^how: .*one of fast, slow"):
        Asked(0.5, how="never")  # type: ignore[arg-type]
    assert list(declared(Asked)) == ["share", "lead", "names", "count", "how", "sure"]
