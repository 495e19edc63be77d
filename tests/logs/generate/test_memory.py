"""The memory scenario: what was put in is found again, and nothing where there is no relation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm, rankdata

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import JobRecords
from forestall.core.model.metrics import Metrics
from forestall.logs.generate.memory import STATES, MemoryTruth, generate_memory, write_scenario
from forestall.logs.generate.memory_world import HAZARD
from forestall.logs.jobs.job_records import read_job_records
from forestall.logs.metrics.read import read_metrics

Scenario = tuple[JobRecords, Metrics, MemoryTruth]


@dataclass(frozen=True)
class Cases:
    """Idle periods with data: highest value, whether answerable for a job, for a failed one."""

    score: np.ndarray
    answerable: np.ndarray
    failed: np.ndarray
    length: np.ndarray
    values: np.ndarray

    @property
    def area(self) -> float:
        """Area under the ROC curve over Cases I and II, by ranks."""
        score, bad = self.score[self.answerable], self.failed[self.answerable]
        positives = int(bad.sum())
        ranks = float(rankdata(score)[bad].sum()) - positives * (positives + 1) / 2
        return ranks / (positives * (len(bad) - positives))


def cases(records: JobRecords, metrics: Metrics) -> Cases:
    """Return Cases I to III as Sections 4.2 and 4.3 of Brandt et al. say, plainly."""
    first, value = metrics.first(), metrics.value[:, 0]
    owner = records.owner()
    scores, lengths, values = [], [], []
    before: dict[int, list[int]] = {}
    for node in range(records.nodes):
        jobs = owner[records.node == node]
        time = metrics.time[first[node] : first[node + 1]]
        idle, nearest = 0, -1
        for job in jobs.tolist():  # in order of start
            start = int(records.start[job])
            a, b = first[node] + np.searchsorted(time, [idle, start])
            if b > a:
                nearest = len(scores)
                scores.append(value[a:b].max())
                lengths.append(start - idle)
                values.append(value[a:b])
            if nearest >= 0:
                before.setdefault(job, []).append(nearest)
            idle = int(records.end[job])
    score = np.array(scores)
    answerable, failed = np.zeros((2, len(score)), dtype=np.bool_)
    good = records.completed()
    for job, periods in before.items():
        worst = periods[int(np.argmax(score[periods]))]
        answerable[worst] = True
        failed[worst] |= not good[job]
    return Cases(score, answerable, failed, np.array(lengths), np.concatenate(values))


@pytest.fixture(scope="module")
def papers() -> Scenario:
    return generate_memory(3)


def test_jobs_and_states_are_the_papers(papers: Scenario) -> None:
    records, metrics, truth = papers
    assert (len(records), records.nodes, metrics.nodes) == (4178, 288, 288)
    assert records.counts() == STATES
    assert (metrics.names, metrics.period) == (("memory_share",), 60)
    assert len(metrics) == pytest.approx(288 * 16 * 1440, rel=0.01)
    assert len(truth.killed) == 4178
    assert not records.completed()[truth.killed].any()
    assert records.start.min() >= 0
    assert records.end.max() <= 16 * 86_400


def test_idle_periods_are_near_the_papers(papers: Scenario) -> None:
    found = cases(papers[0], papers[1])
    one = int(np.sum(found.failed))
    two = int(np.sum(found.answerable & ~found.failed))
    three = int(np.sum(~found.answerable))
    assert (one, two, three) == (pytest.approx(479, rel=0.15), pytest.approx(540, rel=0.15),
                                 pytest.approx(2036, rel=0.2))  # fmt: skip
    assert found.values.mean() == pytest.approx(0.06, abs=0.025)
    assert found.values.std() == pytest.approx(0.10, abs=0.05)
    assert np.median(found.values) < 0.04  # peaked at low values, with a long tail
    assert np.quantile(found.values, 0.99) > 0.25
    assert 0 < np.mean(found.length < 90) < 0.2


@pytest.mark.slow
def test_the_area_is_the_papers_with_the_relation_and_half_without() -> None:
    related, free, idle = [], [], []
    for seed in range(6):
        records, metrics, _ = generate_memory(seed)
        found = cases(records, metrics)
        related.append(found.area)
        idle.append((found.values.mean(), found.values.std()))
        free.append(cases(*generate_memory(seed, relation=0)[:2]).area)
    assert np.mean(related) == pytest.approx(0.562, abs=0.03)
    assert np.mean(idle, axis=0) == pytest.approx((0.06, 0.10), abs=0.015)
    # An area of some 480 and 570 periods has a standard error of 0.018.
    assert np.mean(free) == pytest.approx(0.5, abs=4 * 0.018 / np.sqrt(6))
    assert np.std(free) == pytest.approx(0.018, rel=0.8)


def test_without_a_relation_the_area_is_half_and_p_values_are_uniform() -> None:
    scores = []
    for seed in range(40):
        made = generate_memory(seed, nodes=48, days=8, relation=0, period=300)
        found = cases(made[0], made[1])
        one = int(found.failed.sum())
        two = int(found.answerable.sum()) - one
        error = np.sqrt((one + two + 1) / (12 * one * two))  # of the area under no relation
        scores.append((found.area - 0.5) / error)
    assert np.mean(scores) == pytest.approx(0, abs=4 / np.sqrt(len(scores)))
    assert kstest(norm.sf(scores), "uniform").pvalue > 0.001
    assert np.std(scores) == pytest.approx(1, abs=0.35)


def test_a_stronger_relation_kills_more_and_shows_more() -> None:
    kills, areas = [], []
    for relation in (0, 1, 8):
        records, metrics, truth = generate_memory(5, nodes=128, relation=relation, period=300)
        kills.append(int(truth.killed.sum()))
        areas.append(cases(records, metrics).area)
        assert len(records) == round(4178 * 128 / 288)
    assert kills[0] == 0 < kills[1] < kills[2]
    assert areas[2] > max(areas[0], areas[1]) + 0.05


def test_kills_grow_with_what_the_worst_node_lacks(papers: Scenario) -> None:
    truth = papers[2]
    lacks = truth.leak_at_start
    rates = [truth.killed[lacks == 0].mean()]
    rates += [truth.killed[(lacks > a) & (lacks <= b)].mean() for a, b in ((0, 0.2), (0.2, 1))]
    assert rates[0] == 0 < rates[1] < rates[2]
    expected = -np.expm1(-HAZARD * lacks)
    spread = np.sqrt(np.sum(expected * (1 - expected)))
    assert truth.killed.sum() == pytest.approx(expected.sum(), abs=4 * spread)


def test_the_samples_show_the_leaks(papers: Scenario) -> None:
    records, metrics, truth = papers
    first = metrics.first()
    place = np.searchsorted(truth.node, np.arange(289))
    for node in range(0, 288, 24):
        steps = slice(place[node], place[node + 1])
        time = metrics.time[first[node] : first[node + 1]]
        value = metrics.value[first[node] : first[node + 1], 0]
        leak = truth.leak[steps][np.searchsorted(truth.time[steps], time, side="right") - 1]
        busy = np.zeros(len(time), dtype=np.bool_)
        for job in records.owner()[records.node == node].tolist():
            busy |= (time >= records.start[job]) & (time < records.end[job])
        rest = (value - leak)[~busy]
        assert np.std(rest) == pytest.approx(0.003, rel=0.2)  # the noise of a sample
        assert np.mean(value[busy]) > np.mean(value[~busy])


def test_the_collector_is_silent_after_kills(papers: Scenario) -> None:
    records, metrics, truth = papers
    first, silent = metrics.first(), 0
    killed = np.flatnonzero(truth.killed & (records.end < 15 * 86_400)).tolist()
    for job in killed:
        node = truth.worst[job]
        time = metrics.time[first[node] : first[node + 1]]
        following = time[np.searchsorted(time, records.end[job]) :]
        silent += len(following) == 0 or following[0] - records.end[job] > 120
    assert silent > 0.9 * len(killed) > 0
    gaps = np.diff(metrics.time)[np.diff(metrics.node) == 0]
    assert 1 - len(metrics) / (288 * 23_040) < 0.01 < np.sum(gaps > 60)


def test_what_memory_has_no_part_in_stays_with_the_relation(papers: Scenario) -> None:
    free = generate_memory(3, relation=0)
    assert free[0].start.tolist() == papers[0].start.tolist()
    assert free[0].node.tolist() == papers[0].node.tolist()
    assert free[2].leak.tolist() == papers[2].leak.tolist()
    assert not free[2].killed.any()


@settings(max_examples=25)
@given(
    st.integers(1, 9),
    st.sampled_from([0.01, 0.5, 3]),
    st.integers(1, 60),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from([0.0, 50.0]),
    st.integers(0, 99),
)
def test_no_node_is_given_twice(
    nodes: int, days: float, jobs: int, load: float, relation: float, seed: int
) -> None:
    records, metrics, truth = generate_memory(
        seed, nodes=nodes, days=days, jobs=jobs, load=load, relation=relation, period=600
    )
    assert (len(records), records.nodes) == (jobs, nodes)
    assert set(records.state) <= set(STATES)
    owner = records.owner()
    for node in range(nodes):
        mine = owner[records.node == node]
        assert bool(np.all(records.start[mine][1:] > records.end[mine][:-1]))
    for job in range(jobs):
        assert truth.worst[job] in records.nodes_of(job)
    assert bool(np.all((metrics.value > 0) & (metrics.value < 1)))
    assert len(np.unique(truth.node)) == nodes


def test_the_same_seed_gives_the_same(papers: Scenario) -> None:
    again = generate_memory(3)
    assert again[1].value.tobytes() == papers[1].value.tobytes()
    assert again[0].state == papers[0].state
    assert (
        generate_memory(4, nodes=8)[0].start.tolist()
        != generate_memory(5, nodes=8)[0].start.tolist()
    )


def test_a_longer_period_thins_the_samples() -> None:
    metrics = generate_memory(3, nodes=16, days=2, period=600)[1]
    assert metrics.period == 600
    assert bool(np.all(metrics.time % 600 == 0))
    assert len(metrics) <= 16 * 288


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"nodes": 0}, "nodes"),
        ({"days": 0}, "days"),
        ({"days": float("nan")}, "days"),
        ({"jobs": 0}, "jobs"),
        ({"relation": -1}, "relation"),
        ({"relation": float("inf")}, "relation"),
        ({"load": 0}, "load"),
        ({"load": 1.5}, "load"),
        ({"period": 0}, "period"),
        ({"nodes": 1_000_000, "period": 1}, "period"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_parameters(bad: dict[str, float], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        generate_memory(**({"seed": 1, "nodes": 4} | bad))  # type: ignore[arg-type]


def test_writing_and_reading_again(tmp_path: Path) -> None:
    records, metrics, truth = generate_memory(7, nodes=6, days=2, period=300)
    folder = tmp_path / "a" / "scenario"
    write_scenario(folder, records, metrics, truth, "csv")
    again = read_job_records(folder / "jobs.csv", strict=True)
    assert again.start.tolist() == records.start.tolist()
    assert again.node.tolist() == records.node.tolist()
    assert again.state == records.state
    samples = read_metrics(folder / "metrics.csv", strict=True)
    assert samples.value.tolist() == metrics.value.tolist()
    assert (folder / "truth.csv").read_text().count("\n") == len(records) + 1
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot be a folder for results: File exists"):
        write_scenario(tmp_path / "file", records, metrics, truth)
