"""Made-up event logs: what was put in must be found, and filters must recover it."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.ras import Severity
from forestall.logs.generate import Bursts
from forestall.logs.generate.ras import Noise, Reports, Warnings, generate_ras
from forestall.logs.ras import FilterSettings, pipeline


def test_truth_and_log_fit_together() -> None:
    log, failures, truth = generate_ras(256, 90, 1)
    assert len(truth.failure) == len(truth.warns_of) == len(truth.false_warning) == len(log)
    assert len(truth.incident) == len(truth.warned) == len(truth.lead) == len(failures)
    told = truth.failure >= 0
    assert log.alert is not None
    assert log.alert.tolist() == told.tolist()
    assert bool(np.all(log.severity[told] == Severity.FATAL))
    assert bool(np.all(log.severity[~told] < Severity.FATAL))
    since = log.time[told] - failures.time[truth.failure[told]]
    assert since.min() == 0
    assert since.max() <= 120
    firsts = np.unique(truth.failure[told], return_index=True)[1]
    assert len(firsts) == len(failures)  # every failure is told at its own second and node
    assert since[firsts].tolist() == [0] * len(failures)
    assert log.place[told][firsts].tolist() == failures.node.tolist()
    kinds = [log.kinds[k] for k in log.kind[told][firsts]]
    assert tuple(kinds) == failures.kind


def test_bursts_are_incidents_of_one_cause() -> None:
    _, failures, truth = generate_ras(512, 200, 3, bursts=Bursts(share=0.5, size=3, spread=20))
    assert failures.kind is not None
    first = np.unique(truth.incident, return_index=True)[1]
    for row, incident in enumerate(truth.incident):
        assert failures.kind[row] == failures.kind[first[incident]]
    sizes = np.bincount(truth.incident)
    assert 1 - len(sizes) / len(failures) == pytest.approx(0.5, abs=0.12)
    spans = [np.ptp(failures.time[truth.incident == k]) for k in range(len(sizes))]
    assert 0 < max(spans) < 600


def test_warnings_come_as_asked_for() -> None:
    log, failures, truth = generate_ras(
        1000, 300, 5, warnings=Warnings(share=0.4, lead_hours=2.0, count=3.0),
        noise=Noise(0.0),
    )  # fmt: skip
    assert truth.warned.mean() == pytest.approx(0.4, abs=0.05)
    assert truth.lead[truth.warned].mean() == pytest.approx(7200, rel=0.1)
    assert bool(np.all(truth.lead[~truth.warned] == -1))
    warns = truth.warns_of >= 0
    before = failures.time[truth.warns_of[warns]] - log.time[warns]
    assert before.min() >= 0
    assert bool(np.all(before <= truth.lead[truth.warns_of[warns]]))
    assert log.place[warns].tolist() == failures.node[truth.warns_of[warns]].tolist()
    assert warns.sum() / truth.warned.sum() == pytest.approx(3, rel=0.1)
    assert truth.false_warning.sum() == pytest.approx(0.002 * 1000 * 300, rel=0.15)
    silent = generate_ras(200, 100, 5, warnings=Warnings(share=0, false_per_node_day=0))[2]
    assert not silent.warned.any()
    assert not silent.false_warning.any()


def found(log, truth, left) -> tuple[float, float]:
    """Share of incidents with a record left; of records left, those that are one of each."""
    of = truth.failure[left.kept]
    incidents = np.unique(truth.incident[of[of >= 0]])
    return len(incidents) / (truth.incident.max() + 1), len(incidents) / max(1, len(of))


@pytest.mark.parametrize("seed", range(4))
def test_filters_recover_the_incidents(seed: int) -> None:
    log, _, truth = generate_ras(512, 180, seed)
    recall, precision = found(log, truth, pipeline(log))
    assert recall > 0.97
    assert precision > 0.93
    # What comes first within an incident is its root.
    left = pipeline(log)
    roots = truth.failure[left.kept]
    first = np.unique(truth.incident, return_index=True)[1]
    assert np.mean(np.isin(roots, first)) > 0.9
    # Without looking for causes the second kind of each remains.
    merged = pipeline(log, FilterSettings(("severity", "temporal", "spatial")))
    assert found(log, truth, merged)[1] < 0.75


def test_nodes_by_time_alone() -> None:
    log, failures, _ = generate_ras(
        256, 365, 2, bursts=Bursts(), reports=Reports(echoes=0, follow=0)
    )
    left = pipeline(log, FilterSettings(("severity", "temporal")))
    assert left.failures().time.tolist() == failures.time.tolist()
    assert left.failures().node.tolist() == failures.node.tolist()
    assert left.failures().kind == failures.kind


def test_noise_that_is_fatal_costs_precision() -> None:
    log, _, truth = generate_ras(256, 90, 1, noise=Noise(2.0, fatal=0.02))
    fatal = (log.severity >= Severity.FATAL) & (truth.failure < 0)
    assert fatal.sum() == pytest.approx(0.02 * 2 * 256 * 90, rel=0.2)
    recall, precision = found(log, truth, pipeline(log))
    assert recall > 0.97
    assert precision < 0.3


def test_same_seed_same_log_and_each_part_its_own() -> None:
    one, two = generate_ras(64, 30, 7)[0], generate_ras(64, 30, 7)[0]
    assert one.table().equals(two.table())
    assert not one.table().equals(generate_ras(64, 30, 8)[0].table())
    quiet = generate_ras(64, 30, 7, noise=Noise(0.0))[1]
    assert quiet.time.tolist() == generate_ras(64, 30, 7)[1].time.tolist()


def test_small_machines_and_short_logs() -> None:
    log, failures, truth = generate_ras(1, 0.01, 1)
    assert len(failures) == len(truth.incident)
    assert log.places == ("node0",)
    log, failures, truth = generate_ras(1, 3650, 1, mttf_hours=1000)
    assert set(log.place.tolist()) == {0}
    log, failures, truth = generate_ras(4, 1, 1, noise=Noise(0.0), mttf_hours=1e9,
                                        warnings=Warnings(false_per_node_day=0))  # fmt: skip
    assert (len(log), len(failures), log.span) == (0, 0, 86_400)


def test_bad_parameters() -> None:
    for name, call in (
        ("nodes", lambda: generate_ras(0, 1, 1)),
        ("days", lambda: generate_ras(1, float("nan"), 1)),
        ("seed", lambda: generate_ras(1, 1, -1)),
        ("mttf-hours", lambda: generate_ras(1, 1, 1, mttf_hours=0)),
        ("warned", lambda: Warnings(share=2)),
        ("warnings", lambda: Warnings(count=0)),
        ("lead-hours", lambda: Warnings(lead_hours=0)),
        ("repeats", lambda: Reports(repeats=-1)),
        ("follow", lambda: Reports(follow=1.5)),
        ("noise", lambda: Noise(-1)),
        ("noise", lambda: generate_ras(10_000, 10_000, 1, noise=Noise(2.0))),
        ("fatal-noise", lambda: Noise(1, 2)),
    ):
        with pytest.raises(ParameterError, match=f"^{name}: "):
            call()
