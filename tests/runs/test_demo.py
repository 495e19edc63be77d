"""The demonstration: the same twice, and it says what it is meant to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.runs import demo as demos
from forestall.runs.demo import demo, is_demo_folder


@pytest.mark.slow
def test_prediction_is_worth_something(tmp_path: Path) -> None:
    told: list[str] = []
    done = demo(tmp_path / "out", told.append)
    qos = [run.qos for run in done.runs.values()]
    lost = [run.lost_work for run in done.runs.values()]
    assert qos == sorted(qos, key=lambda value: value or 0)
    assert lost == sorted(lost, reverse=True)
    assert lost[0] > 0
    assert (done.certain.qos, done.certain.lost_work) == (1, 0)
    assert is_demo_folder(done.folder)
    assert told


@pytest.mark.slow
def test_shared_nodes_are_shown_too(tmp_path: Path) -> None:
    done = demo(tmp_path / "out", lambda _: None, shared=True)
    lost = [run.lost_work for run in done.runs.values()]
    assert lost[0] > lost[1] > lost[2]
    assert (done.certain.qos, done.certain.lost_work) == (1, 0)
    assert len(done.jobs) > 5000
    assert {path.name for path in done.folder.iterdir()} == set(demos.SHARED_FILES)
    assert is_demo_folder(done.folder)
    assert "GPUs" in done.nodes


def test_its_logs_are_as_long_as_it_says() -> None:
    from forestall.logs.generate import generate_jobs

    jobs = generate_jobs(demos.NODES, demos.SEED, days=demos.DAYS, load=demos.LOAD)
    assert 0.9 * demos.DAYS * 86_400 < jobs.submit[-1] < 1.1 * demos.DAYS * 86_400
    assert len(jobs) > 500


def test_a_folder_of_others_is_none_of_its_own(tmp_path: Path) -> None:
    assert is_demo_folder(tmp_path)
    (tmp_path / "thesis.tex").touch()
    assert not is_demo_folder(tmp_path)
