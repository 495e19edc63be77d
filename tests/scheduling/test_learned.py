"""Trained predictors in runs: what they know, what is refused, and the same decisions by replay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import forestall as fs
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.prediction.given.predictor_files import save_predictor
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.registry import new_learner
from forestall.runs.certify import certify
from forestall.scheduling.report.log import replay

DAY, NODES = 86_400, 16


def whole(origin: int | None = None) -> Failures:
    log = fs.generate_failures(NODES, 120, 5, mttf_hours=400.0)
    return replace(log, origin=origin)


def window(log: Failures, begin: int, end: int) -> Failures:
    """Return what happens within [begin, end), from time 0 on."""
    part = log.take((log.time >= begin) & (log.time < end))
    origin = None if log.origin is None else log.origin + begin
    return replace(part, time=part.time - begin, span=end - begin, origin=origin)


def trained(name: str = "rate") -> Learner:
    learner = new_learner(name)
    learner.fit(window(whole(), 0, 100 * DAY), nodes=NODES, end=0)
    return learner


def later() -> Failures:
    return window(whole(), 100 * DAY, 120 * DAY)


def jobs(seed: int = 1) -> fs.Jobs:
    return fs.generate_jobs(NODES, seed, count=150, load=0.7)


@pytest.mark.parametrize("name", ["rate", "recency", "renewal"])
def test_a_run_its_certificate_and_its_replay(tmp_path: Path, name: str) -> None:
    learner = trained(name)
    result = fs.simulate(jobs(), later(), nodes=NODES, predictor=learner, risk=0.5, log_events=True)
    folder = result.save(tmp_path / "run", report=False)
    told = result.summary["predictor"]
    assert (told["name"], told["kind"], told["trained_until_s"]) == (name, "learned", 0)
    assert not result.summary["own_rules"]
    assert 0 < result.summary["promised_mean"] < 1
    assert certify(folder).passed
    assert "".join(replay(folder)).encode() == (folder / "decisions.csv").read_bytes()
    assert learner.now == 0  # the predictor is left as it was


def test_a_file_and_its_predictor_give_the_same_run(tmp_path: Path) -> None:
    save_predictor(trained(), tmp_path / "p")
    runs = [
        fs.simulate(jobs(), later(), nodes=NODES, predictor=one, risk=0.5)
        for one in (trained(), tmp_path / "p", str(tmp_path / "p"))
    ]
    tables = [run.jobs for run in runs]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_clocks_with_dates_are_brought_together(tmp_path: Path) -> None:
    learner = new_learner("rate")
    learner.fit(window(whole(origin=10**9), 0, 100 * DAY), nodes=NODES)
    save_predictor(learner, tmp_path / "p")
    run = window(whole(origin=10**9), 100 * DAY, 120 * DAY)
    plain = fs.simulate(jobs(), later(), nodes=NODES, predictor=trained(), risk=0.5)
    dated = fs.simulate(jobs(), run, nodes=NODES, predictor=tmp_path / "p", risk=0.5)
    assert dated.jobs.equals(plain.jobs)


def test_what_comes_later_changes_no_earlier_promise() -> None:
    """Failures after a moment, other than those that were, leave the promises until then."""
    log, cut = later(), 10 * DAY
    bent = log.take(log.time < cut)
    other = Failures.build(
        np.concatenate((bent.time, [cut + 100, cut + 200])),
        np.concatenate((bent.node, [0, 1])),
    )
    made = [
        fs.simulate(jobs(), one, nodes=NODES, predictor=trained(), risk=0.5, downtime=120).jobs
        for one in (log, replace(other, span=log.span, nodes=NODES))
    ]
    early = [table.filter(table["submit"] < cut) for table in made]
    assert len(early[0]) > 20
    assert early[0]["promise"].to_list() == early[1]["promise"].to_list()
    assert early[0]["deadline"].to_list() == early[1]["deadline"].to_list()


def test_what_is_refused(tmp_path: Path) -> None:
    learner = trained()
    with pytest.raises(ParameterError, match="has seen nothing after the run begins"):
        fs.simulate(jobs(), later(), nodes=NODES, predictor=learner.moved(5 * DAY))
    with pytest.raises(ParameterError, match="policy"):
        fs.simulate(jobs(), later(), nodes=NODES, predictor=learner, policy="easy")
    with pytest.raises(ParameterError, match="repeat_failures"):
        fs.simulate(jobs(), later(), nodes=NODES, predictor=learner, repeat_failures=True)
    with pytest.raises(ParameterError, match="a trained predictor"):
        fs.simulate(jobs(), later(), nodes=NODES, predictor="learned")
    with pytest.raises(ParameterError, match="file of a trained predictor"):
        fs.simulate(jobs(), later(), nodes=NODES, predictor="nowhere.predictor")
    with pytest.raises(ParameterError, match="call fit"):
        fs.simulate(jobs(), later(), nodes=NODES, predictor=new_learner("rate"))


def test_a_folder_without_its_table(tmp_path: Path) -> None:
    result = fs.simulate(
        jobs(), later(), nodes=NODES, predictor=trained(), risk=0.5, log_events=True
    )
    folder = result.save(tmp_path / "run", report=False)
    table = folder / "predictions.npz"
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(TraceError, match="damaged"):
        replay(folder)
    table.unlink()
    with pytest.raises(TraceError, match="is missing"):
        replay(folder)


def test_dates_are_named_where_there_are_any() -> None:
    learner = new_learner("rate")
    learner.fit(window(whole(origin=10**9), 0, 100 * DAY), nodes=NODES)
    run = window(whole(origin=10**9), 90 * DAY, 120 * DAY)
    with pytest.raises(ParameterError, match=r"failures up to 2001-12-\d\dT"):
        fs.simulate(jobs(), run, nodes=NODES, predictor=learner.moved(-90 * DAY))


def test_a_log_without_dates_that_was_learnt_from_is_no_run(tmp_path: Path) -> None:
    log = replace(whole(), source=str(tmp_path / "log.csv"))
    learner = new_learner("rate")
    learner.fit(log, nodes=NODES)
    save_predictor(learner, tmp_path / "p")
    for run in (log, window(log, 90 * DAY, 120 * DAY), replace(log, source="a copy")):
        with pytest.raises(
            ParameterError, match="one that has not learned from the run's failures"
        ):
            fs.simulate(jobs(), run, nodes=NODES, predictor=tmp_path / "p")
    early = new_learner("rate")
    early.fit(replace(window(log, 0, 100 * DAY), source=log.source), nodes=NODES)
    save_predictor(early, tmp_path / "early")
    fs.simulate(
        jobs(), window(log, 100 * DAY, 120 * DAY), nodes=NODES, predictor=tmp_path / "early"
    )


def test_nodes_of_other_names_are_no_run(tmp_path: Path) -> None:
    names = tuple(f"R{k:02d}" for k in range(NODES))
    learner = new_learner("rate")
    learner.fit(replace(window(whole(), 0, 100 * DAY), nodes=NODES, names=names))
    save_predictor(learner, tmp_path / "p")
    run = replace(later(), nodes=NODES, names=names)
    fs.simulate(jobs(), run, nodes=NODES, predictor=tmp_path / "p", risk=0.5)
    bent = replace(run, names=("R99", *names[1:]))
    with pytest.raises(ParameterError, match=r"its node 0 is R00, that of .* is R99"):
        fs.simulate(jobs(), bent, nodes=NODES, predictor=tmp_path / "p")
