"""Machines of several kinds, and jobs that ask for parts of their nodes."""

from __future__ import annotations

import numpy as np
import pytest

import forestall as fs
from forestall.core.model.errors import ParameterError, TraceError
from forestall.logs.generate.shared import KINDS, REQUESTS
from forestall.logs.machines import machine_from, machine_of_line
from forestall.logs.written import write_log


@pytest.mark.parametrize("nodes", [1, 7, 64, 1298])
def test_kinds_of_nodes_are_in_proportion(nodes: int) -> None:
    machine = fs.generate_machine(nodes)
    assert (len(machine), len(set(machine.names))) == (nodes, nodes)
    for count, name, cores, memory, gpus, kind in KINDS:
        mine = [k for k, one in enumerate(machine.names) if one.startswith(f"{name}-")]
        assert abs(len(mine) - nodes * count / 1298) < 1
        assert {tuple(machine.capacity[k].tolist()) for k in mine} <= {(cores, memory * 1024, gpus)}
        assert {machine.gpu_type[k] for k in mine} <= {kind}


def test_a_line_makes_the_same_machine() -> None:
    assert machine_of_line("nodes=9 like=alibaba-2023").names == fs.generate_machine(9).names
    for wrong in (
        *("nodes=9 like=mine", "like=alibaba-2023", "nodes=9 like", "nodes=x like=alibaba-2023"),
        *("nodes=0 like=alibaba-2023", "nodes=9 like=alibaba-2023 cores=4"),
    ):
        with pytest.raises(ParameterError):
            machine_from(wrong)


def test_requests_are_as_frequent_as_in_the_log() -> None:
    jobs = fs.generate_shared_jobs(fs.generate_machine(200), 1, count=40_000)
    assert jobs.requests is not None
    total = sum(one[3] for one in REQUESTS)
    asked = {tuple(row) for row in jobs.requests.amounts.tolist()}
    assert asked == {(c, 1024 * m, g) for g, c, m, _ in REQUESTS}
    for gpus, cores, memory, weight in REQUESTS:
        same = (jobs.requests.amounts == (cores, memory * 1024, gpus)).all(axis=1).mean()
        share = weight / total
        assert same == pytest.approx(share, abs=5 * np.sqrt(share / 40_000))
    with_gpus = jobs.requests.amounts[:, 2] > 0
    limited = np.array([one != "" for one in jobs.requests.gpu_type])
    assert not limited[~with_gpus].any()
    assert limited[with_gpus].mean() == pytest.approx(0.33, abs=0.02)
    one = np.log(jobs.runtime[jobs.requests.amounts[:, 2] == 1])
    assert one.mean() == pytest.approx(6.5, abs=0.1)  # cut at 7 days
    assert (jobs.estimate >= jobs.runtime).all()


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_the_scarcest_resource_has_the_load(load: float) -> None:
    machine = fs.generate_machine(64)
    jobs = fs.generate_shared_jobs(machine, 3, days=4, load=load)
    assert jobs.requests is not None
    span = int(jobs.submit[-1] - jobs.submit[0])
    assert span / 86_400 == pytest.approx(4, rel=0.1)
    loads = (jobs.requests.amounts * jobs.runtime[:, None]).sum(axis=0) / (machine.totals * span)
    assert loads.max() == pytest.approx(load, rel=0.02)


def test_jobs_are_the_same_again_and_the_first_of_more() -> None:
    machine = fs.generate_machine(20)
    few, more = (fs.generate_shared_jobs(machine, 5, count=n) for n in (100, 3000))
    assert few.table().equals(fs.generate_shared_jobs(machine, 5, count=100).table())
    same = ["runtime", "cores", "memory", "gpus", "gpu_type"]
    assert few.table().select(same).equals(more.table().select(same)[:100])
    other = fs.generate_shared_jobs(machine, 6, count=100)
    assert not other.table().equals(few.table())


def test_every_job_fits_on_some_node() -> None:
    machine = machine_of_line("nodes=3 cores=16 memory=64G gpus=1")
    jobs = fs.generate_shared_jobs(machine, 2, count=2000)
    assert jobs.requests is not None
    assert (jobs.requests.amounts <= machine.capacity[0]).all()
    assert set(jobs.requests.gpu_type) == {""}, "its GPUs have no type"
    mixed = fs.generate_machine(64)
    jobs = fs.generate_shared_jobs(mixed, 2, count=5000)
    assert jobs.requests is not None
    for kind, row in zip(jobs.requests.gpu_type, jobs.requests.amounts, strict=True):
        assert (mixed.capacity[mixed.allowed(kind, "", "")] >= row).all(axis=1).any()


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ({}, "either a number of jobs or a number of days"),
        ({"count": 3, "days": 2}, "either"),
        ({"count": 0}, "from 1"),
        ({"days": -1}, "above 0"),
        ({"days": 1, "load": 0.0}, "above 0"),
    ],
)
def test_what_cannot_be_made_is_refused(more: dict[str, float], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        fs.generate_shared_jobs(fs.generate_machine(4), 1, **more)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cores and"):
        fs.generate_shared_jobs(machine_of_line("nodes=2 cores=1"), 1, count=5)


def test_swf_cannot_hold_what_they_ask_for(tmp_path) -> None:  # type: ignore[no-untyped-def]
    jobs = fs.generate_shared_jobs(fs.generate_machine(4), 1, count=20)
    with pytest.raises(TraceError, match="has no cores"):
        write_log(jobs, tmp_path / "jobs.swf")
    write_log(jobs, tmp_path / "jobs.csv")
    again = fs.read_jobs(tmp_path / "jobs.csv")
    assert again.table().equals(jobs.table())
