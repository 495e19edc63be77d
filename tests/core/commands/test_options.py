"""One meaning a name: what an option takes is the same in every command that has it; what options
were called before goes on working; results come as JSON, too."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pytest
import typer

import forestall as fs
from core.commands.calls import call, failure_log, job_log
from core.commands.test_help import ALL, LEAVES, PLAINS, ROOT
from forestall.core.commands.registry import placed
from forestall.core.commands.spellings import SPELLINGS

TAKES_MORE: Final = {
    "--checkpoint": "each model performs other requests",
    "--checkpoint-interval": "none, or auto, where a command can do so",
    "--chunks": "similarity compares several ways, the others take one",
    "--deadline": "quotes take words such as 'tomorrow 8:00', too",
    "--downtime": "runs can take repair times from the log",
    "--guest-memory": "a share in models, an amount or a share of real hosts",
    "--machine": "nodes that jobs share, or the type of a virtual machine",
    "--metrics": "of one file, or of folders too",
    "--out": "a file or a folder, as the command writes",
    "--policy": "replay needs it only for policies of one's own",
    "--predictor": "the predictors that a command can ask",
    "--predictors": "with files, or names alone",
    "--program": "a path, or a command with options",
    "--role": "serve: of a process; token add: of a user",
    "--scheduler": "replay needs it only for schedulers of one's own",
    "--settings": "options of a command, or how a server is set up",
    "--shape": "named as in its formula",
    "--strategy": "replay needs it only for strategies of one's own",
    "--time": "a job's time limit as Slurm writes it, or a run time",
    "--unit": "any unit, or those of gaps",
    "--hours": "of a run, as a duration too",
    "--processors-per-node": "letters of the models",
}
"""Options whose values are of one meaning, but not of one form, and why."""

NO_JSON: Final = {
    "agent": "runs until it is ended; `agent status --json` tells of it",
    "agent unit": "prints a unit of systemd",
    "agent condor": "prints a configuration of HTCondor",
    "guest run": "prints what the guest prints",
    "guest resume": "prints what the guest prints",
    "settings": "prints TOML",
    "run": "prints what the program prints; {account} writes JSON",
    "storage watch": "runs until it is ended; `storage list --json` tells of hosts",
}
"""Commands that print no result of their own."""


def forms() -> dict[str, dict[str, list[str]]]:
    """Return what each option takes, and in which commands."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path, command in ({**ALL, **LEAVES, **PLAINS}).items():
        for one in command.params:
            if one.param_type_name == "option":
                for name in one.opts:
                    form = "" if one.is_flag else one.metavar.replace("[,...]", "")
                    found[name][form].append(" ".join(path))
    return found


def test_an_option_takes_the_same_everywhere() -> None:
    several = {name: dict(how) for name, how in forms().items() if len(how) > 1}
    assert {name: how for name, how in several.items() if name not in TAKES_MORE} == {}
    assert set(several) == set(TAKES_MORE), "the list is out of date"


def test_no_option_is_called_as_another_was() -> None:
    """Where an old name still works it means one thing: no command has it as a new one."""
    for words, spellings in SPELLINGS.items():
        command = _command(words)
        there = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        assert {f"--{new}" for new in spellings.values()} <= there, words
        assert not {f"--{old}" for old in spellings} & there, words


@pytest.mark.parametrize("words", SPELLINGS)
def test_old_names_still_work(words: str) -> None:
    command = _command(words)
    context: Any = command.make_context(words, ["--help"], resilient_parsing=True)
    known = command.make_parser(context)._long_opt
    for old, new in SPELLINGS[words].items():
        assert known[f"--{old}"] is known[f"--{new}"]


def test_old_and_new_names_do_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old = call(capsys, "interval", "--mttf", "4d", "--checkpoint-cost=5m", "--restart", "1m")
    new = call(capsys, "interval", "--mtbf", "4d", "--checkpoint-overhead=5m", "--restart-overhead",
               "1m")  # fmt: skip
    assert old == new
    assert new.code == 0
    assert "--mttf" not in call(capsys, "interval", "--help").out
    said = call(capsys, "interval", "--mttf", "0", "--checkpoint-cost", "5m").err
    assert said.startswith("forestall: --mtbf: ")
    folder = tmp_path / "made"
    assert call(capsys, "traces", "generate", "memory", folder, "--jobs", 9, "--nodes", 2).code == 0


def test_what_prints_results_prints_json() -> None:
    without = {
        " ".join(path)
        for path, command in LEAVES.items()
        if not any("--json" in one.opts for one in command.params)
    }
    alone = {words for words in NO_JSON if hasattr(_command(words), "commands")}
    assert without == set(NO_JSON) - alone


def test_json_of_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, out = job_log(tmp_path / "jobs.csv"), tmp_path / "o.csv"
    told = json.loads(call(capsys, "traces", "convert", jobs, out, "--json").out)
    assert told == {"file": str(out), "kind": "jobs", "rows": 60, "left_out": 0}
    failures = failure_log(tmp_path / "failures.csv")
    assert json.loads(call(capsys, "traces", "convert", failures, out, "--json").out)["rows"] == 30
    for what in ("ras", "failures", "jobs", "guests", "hosts"):
        small = ["--hosts", 2] if what == "hosts" else []
        words = ("traces", "generate", what, out, "--days", 2, *small, "--json")
        done = call(capsys, *words)
        assert json.loads(done.out)["file"] == str(out), done


def _command(words: str) -> Any:
    """Return the command of a path: also one that no help shows, and one for research alone."""
    first, *rest = words.split()
    alone = first in fs.screen.RESEARCH and first not in ROOT.commands
    groups = {first: typer.main.get_group(fs.screen.RESEARCH[first])} if alone else ROOT.commands
    command: Any = groups[first]
    for name in rest:
        command = command.commands[name]
    return placed(command, tuple(words.split()))
