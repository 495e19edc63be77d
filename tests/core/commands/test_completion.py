"""Shells complete commands, options and values, as they ask for it, without loading NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RUN = (
    "import sys; from forestall.runs.commands.entry import main\n"
    "try: main([])\n"
    "finally: assert not {'numpy', 'polars', 'numba'} & set(sys.modules), 'slow'\n"
)


def asked(**more: str) -> str:
    """Return what a shell is offered."""
    words, env = [sys.executable, "-c", RUN], {**os.environ, **more}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert "slow" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("forestall si", ["simulate"]),
        ("forestall checkpoint re", ["restore", "repair"]),
        ("forestall fit --ra", ["--rank-by"]),
        ("forestall fit --rank-by ", ["aic", "bic", "loglik", "ks", "ad"]),
        ("forestall simulate jobs x.swf --policy ", ["promise", "fcfs", "easy", "conservative"]),
        ("forestall simulate x.swf --policy e", ["easy"]),
        ("forestall simulate --pol", ["--policy"]),
        ("forestall spares --mt", ["--mtbf"]),
    ],
)
def test_bash(line: str, offered: list[str]) -> None:
    at = len(line.split()) - (not line.endswith(" "))
    told = asked(_FORESTALL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(at))
    assert told.split() == offered


def test_zsh_and_fish() -> None:
    line = "forestall fit --rank-by "
    told = asked(_FORESTALL_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=line)
    assert told.startswith("_arguments")
    assert '"loglik"' in told
    told = asked(
        _FORESTALL_COMPLETE="complete_fish", _TYPER_COMPLETE_FISH_ACTION="get-args",
        _TYPER_COMPLETE_ARGS="forestall fit --ra",
    )  # fmt: skip
    assert told == "--rank-by\tCriterion that ranks the families (default aic).\n"
