"""The keywords of runs and sweeps are the declared parameters: no name and no type differs."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import forestall as fs
from forestall.runs.models import MODELS
from forestall.runs.settings import known_options

ROOT: Final = Path(__file__).resolve().parents[2]


def script() -> Any:
    spec = importlib.util.spec_from_file_location("make_keywords", ROOT / "docs/make_keywords.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_keywords_are_as_declared() -> None:
    made = script()
    texts = made.written()
    assert set(texts) == {*made.PLAYED, made.SWEPT}
    for name, text in texts.items():
        there = (made.HOME / name).read_text(encoding="utf-8")
        assert text == there, f"{name}: python docs/make_keywords.py writes it"
    for name, (model, _, _) in made.PLAYED.items():
        missing = [one for one in MODELS[model].fields if f'"{one}": ' not in texts[name]]
        assert set(missing) <= {"policy", "predictor", "placement", "strategy", "scheduler"}
    assert set(re.findall(r'"(\w+)":', texts[made.SWEPT])) == set(known_options())


CHECKED: Final = """
import forestall as fs

jobs = fs.generate_jobs(nodes=4, seed=1, days=1)
fs.simulate(jobs, nodes=4, accuracy=0.7, downtime=None, policy="easy")
fs.sweep("jobs.swf", accuracy=[0, 0.5], risk="0:1:0.1", seed="1:5", compression=True)
fs.simulate(jobs, acuracy=0.7)
fs.simulate(jobs, accuracy="high")
fs.sweep("jobs.swf", acuracy=0.7)
fs.simulate_virtual(jobs, strateggy="random")
fs.simulate_cycle(jobs, "hosts.csv", th3=0.5)
"""


@pytest.mark.slow
def test_a_type_checker_finds_wrong_keywords(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "asked.py").write_text(CHECKED)
    command = (
        sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary",
        "--config-file=", f"--cache-dir={tmp_path}", str(tmp_path / "asked.py"),
    )  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"MYPYPATH": str(ROOT / "src")}
    )
    wrong = [int(line) for line in re.findall(r"asked\.py:(\d+): error:", done.stdout)]
    assert wrong == [7, 8, 9, 10, 11], done.stdout + done.stderr
    assert 'did you mean "accuracy"' in done.stdout


def test_a_wrong_name_is_named_with_the_nearest_right_one() -> None:
    jobs = fs.Jobs.build(submit=[0], size=[1], runtime=[60])
    wrong: dict[str, Any] = {"acuracy": 0.7}
    with pytest.raises(fs.errors.ParameterError, match=r"^acuracy: .*did you mean 'accuracy'\?$"):
        fs.simulate(jobs, **wrong)
    with pytest.raises(fs.errors.ParameterError, match=r"'acuracy'.*did you mean 'accuracy'\?$"):
        fs.sweep("jobs.swf", **wrong)
