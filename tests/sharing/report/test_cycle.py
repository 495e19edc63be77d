"""Cycle sharing as one function, its settings, its hints."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.core.model.metrics import Metrics
from forestall.runs.settings import inputs_of, settings_of
from forestall.runs.sweep import plan_of, values_of
from forestall.sharing import simulate as cycle
from forestall.sharing.report.hints import on_hosts
from forestall.sharing.report.result import CycleResult
from forestall.sharing.settings import CYCLE
from forestall.sharing.simulate import SharedHosts, hosts_of, simulate_cycle
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.parameters import CycleParameters
from sharing.report.cycle_small import guests_file, hosts_file, idle_hosts

HOUR, DAY = 3600, 86_400
MONDAY = 1_704_067_200


def one_job(submit: int = 0, runtime: int = HOUR, size: int = 1) -> Jobs:
    return Jobs.build([submit], [size], [runtime])


def test_the_example_runs() -> None:
    assert doctest.testmod(cycle).failed == 0


# --------------------------------------------------------------------------------------- inputs


def test_hosts_come_in_many_forms(tmp_path: Path) -> None:
    metrics = Metrics(
        np.array([0, 7200]), np.zeros(2, int), np.array([[0.5], [0.5]]), ("cpu",), 1, period=7200
    )
    place = tmp_path / "hosts.csv"
    place.write_text("time,node,cpu\n0,0,0.5\n7200,0,0.5\n")
    finishes = [
        simulate_cycle(one_job(), hosts, warm_up=0).jobs["finish"].to_list()
        for hosts in (hosts_of(metrics), metrics, place, str(place))
    ]
    assert finishes == [[7200]] * 4  # half of a host is left
    log = Failures.build([1800, DAY], [0, 0], [600, 60])
    run = simulate_cycle(one_job(), log, warm_up=0)
    assert run.failures_per_job == 1
    # away in [1800, 2400), known at 1860; tried again at 2160 and 2460
    assert run.jobs["finish"].to_list() == [2460 + HOUR]
    with pytest.raises(ParameterError, match="hosts: 'int'"):
        simulate_cycle(one_job(), 5, warm_up=0)  # type: ignore[arg-type]


def test_sources_and_remarks_are_kept() -> None:
    hosts = replace(idle_hosts(), source="lab.csv")
    jobs = replace(Jobs.build([0, 5], [4, 1], [60, 0]), source="jobs.csv")
    run = simulate_cycle(jobs, hosts, warm_up=0)
    assert run.sources == {"jobs": "jobs.csv", "hosts": "lab.csv"}
    assert run.cleaning.counts() == {"zero_run_time": 1, "more_than_one_processor": 1}
    assert run.summary["model"] == "cycle"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"scheduler": "best"}, "scheduler"), ({"warm_up": DAY}, "less than the 24.0 h"),
     ({"warm_up": 0, "nodes": 4}, "nodes.*known parameter")],
)  # fmt: skip
def test_parameters_are_checked(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        simulate_cycle(one_job(), idle_hosts(), **parameters)


def test_forecasts_are_shared_by_runs_on_the_same_hosts(tmp_path: Path) -> None:
    hosts = cycle.read_host_traces(hosts_file(tmp_path / "hosts.csv"))
    jobs = cycle.jobs_of(guests_file(tmp_path / "guests.csv"))
    given = {"warm_up": 7 * DAY, "predict_every": 6 * HOUR, "horizon": 6 * HOUR,
             "predict_step": 300}  # fmt: skip
    shared = SharedHosts(hosts)
    first, second = (
        CYCLE.simulate(jobs, shared, **CYCLE.checked({**given, **more}).model_dump())
        for more in ({}, {"job_length": 1800})
    )
    made_once = shared.forecasts(first.outcome.parameters).made
    assert 0 < made_once < first.outcome.forecasts + second.outcome.forecasts
    alone = simulate_cycle(jobs, hosts, job_length=1800, **given)
    assert second.measures == alone.measures
    kinds = [CYCLE.checked({**given, "th1": th1}) for th1 in (0.1, 0.2, 0.3)]
    made = [shared.forecasts(kind) for kind in kinds]  # type: ignore[arg-type]
    assert all(isinstance(one, Forecasts) for one in made)
    assert shared.forecasts(kinds[2]) is made[2]  # type: ignore[arg-type]
    assert shared.forecasts(kinds[0]) is not made[0]  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------- settings


def test_settings_of_a_run(tmp_path: Path) -> None:
    values = {
        "model": "cycle", "hosts": "h.csv", "host_speeds": "s.csv", "period": "5m", "from": "9",
        "days": "3", "checkpoint_interval": "none", "job_length": "90m", "th1": "0.1",
        "restart": "checkpoint", "retries": "3", "checkpoint_at_end": False, "seed": 4,
    }  # fmt: skip
    settings = settings_of(tmp_path / "jobs.csv", values)
    inputs = settings.inputs
    assert (inputs.hosts, inputs.host_speeds, inputs.period) == (Path("h.csv"), Path("s.csv"), 300)
    assert inputs.told() == {"host_speeds": "s.csv", "period": 300, "from": "9", "days": 3.0}
    given = dict(settings.parameters)
    assert given["checkpoint_interval"] is None
    assert (given["job_length"], given["th1"], given["retries"]) == (5400, 0.1, 3)
    assert CYCLE.checked({"job_length": "log"}) == CYCLE.checked({})


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "guests need hosts: hosts FILE"),
        ({"hosts": "a", "failures": "b"}, "either hosts or failures"),
        ({"hosts": "a", "failure_format": "lanl"}, "a failure log as well"),
        ({"hosts": "a", "train": "b"}, "train: 'b'.*only with model promise or virtual"),
        ({"hosts": "a", "nodes": "5"}, "nodes: '5'.*only with model promise or virtual"),
        ({"hosts": "a", "period": "soon"}, "period: 'soon'"),
        ({"hosts": True}, "hosts"),
    ],
)
def test_settings_that_do_not_fit(more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        settings_of(Path("jobs.csv"), {"model": "cycle", **more})


@pytest.mark.parametrize("name", ["hosts", "host_speeds", "period", "scheduler", "th1"])
@pytest.mark.parametrize("model", ["promise", "virtual"])
def test_other_models_take_no_hosts(name: str, model: str) -> None:
    with pytest.raises(ParameterError, match=f"{name}.*only with model cycle"):
        settings_of(Path("jobs.csv"), {"model": model, name: "1"})


def test_failures_tell_of_hosts(tmp_path: Path) -> None:
    log, speeds = tmp_path / "failures.csv", tmp_path / "speeds.csv"
    log.write_text("time,node,downtime\n600,1,300\n3000,0,600\n")
    speeds.write_text("host,speed\n1,2\n")
    values = {"model": "cycle", "failures": str(log), "host_speeds": str(speeds), "period": 100}
    hosts = inputs_of(tmp_path / "jobs.csv", values, CYCLE).read_hosts()
    assert hosts.speed.tolist() == [1, 2]
    assert np.flatnonzero(np.isnan(hosts.load[1])).tolist() == [6, 7, 8]
    speeds.write_text("name,speed\n1,2\n")
    with pytest.raises(TraceError, match="has no column"):
        inputs_of(tmp_path / "jobs.csv", values, CYCLE).read_hosts()


def test_points_that_are_alike(tmp_path: Path) -> None:
    values = {
        "model": "cycle", "hosts": "h.csv", "scheduler": "falcon,condor", "seed": "1:3",
        "restart": "scratch,checkpoint", "checkpoint_overhead": "0,60",
    }  # fmt: skip
    plan = plan_of(tmp_path / "jobs.csv", values)
    assert len(plan.points) == 2 * 2 * 2 * 3
    groups = set(plan.same)
    assert sorted(k for group in groups for k in group) == list(range(24))
    for k, same in enumerate(plan.same):
        assert k in same
        one = dict(plan.points[k])
        # the seed counts with Condor alone, the overhead with checkpoints alone
        seeds = 1 if one["scheduler"] == "condor" else 3
        assert len(same) == seeds * (2 if one["restart"] == "scratch" else 1)
    with_others = plan_of(tmp_path / "jobs.csv", {"seed": "1:3", "nodes": 4})
    assert with_others.same == ((0,), (1,), (2,))
    assert values_of(CYCLE.declared["seed"], "1:3") == (1, 2, 3)
    with pytest.raises(ParameterError, match="retries"):
        values_of(CYCLE.declared["retries"], "1:3")


def test_what_has_no_effect() -> None:
    idle = {
        name: set(CYCLE.idle(CYCLE.checked({"scheduler": name})))
        for name in ("falcon", "falcon-slides", "condor", "mine.rules:Mine")
    }
    ours, both = {"pooling", "load_memory"}, {"history", "predict_every", "horizon"}
    assert not (ours | both) & idle["falcon"]
    assert ours <= idle["falcon-slides"]
    assert not both & idle["falcon-slides"]
    assert ours | both <= idle["condor"]
    # What a class of the user's own looks at is not known here.
    assert not (ours | both | {"rank", "seed"}) & idle["mine.rules:Mine"]


def test_forecasts_of_the_slides_are_others() -> None:
    jobs, hosts = Jobs.build([0], [1], [600]), idle_hosts(2)
    theirs, ours = (
        Forecasts(hosts, CycleParameters(scheduler=name, warm_up=0))
        for name in ("falcon-slides", "falcon")
    )
    with pytest.raises(ParameterError, match=r"scheduler: 'falcon'.*falcon-slides"):
        simulate_cycle(jobs, hosts, warm_up=0, forecasts=theirs)
    with pytest.raises(ParameterError, match=r"pooling: 'none'.*partial"):
        simulate_cycle(jobs, hosts, warm_up=0, pooling="none", forecasts=ours)
    for parameters in ({"pooling": "none"}, {"load_memory": 60}, {}):
        given = {"scheduler": "falcon-slides", "warm_up": 0, **parameters}
        simulate_cycle(jobs, hosts, forecasts=theirs, **given)


@pytest.mark.parametrize("scheduler", ["falcon", "omniscient"])
def test_the_seed_draws_nothing_but_ties_of_condor(scheduler: str) -> None:
    jobs = Jobs.build([0, 0, 30], [1, 1, 1], [HOUR, 2 * HOUR, HOUR])
    hosts = idle_hosts(6)

    def placed(name: str, seed: int) -> tuple[list[int], dict[str, Any]]:
        run = simulate_cycle(jobs, hosts, scheduler=name, warm_up=0, seed=seed)
        return run.stays["host"].to_list(), run.measures

    assert placed(scheduler, 1) == placed(scheduler, 2)
    assert len({tuple(placed("condor", seed)[0]) for seed in range(8)}) > 1


# ---------------------------------------------------------------------------------------- hints


def hints(jobs: Jobs, hosts: HostTraces, **parameters: Any) -> list[str]:
    result: CycleResult = simulate_cycle(jobs, hosts, **parameters)
    return on_hosts(jobs, result.outcome)


def test_nothing_odd_gives_no_hint() -> None:
    hosts = idle_hosts(days=28, origin=MONDAY)
    assert hints(one_job(), hosts, warm_up=7 * DAY) == []
    assert hints(one_job(), idle_hosts(days=1), scheduler="condor", warm_up=0) == []


def test_hints_by_hand() -> None:
    hosts = idle_hosts(2, days=4)
    jobs = Jobs.build([0, 3 * DAY], [1, 1], [HOUR, HOUR])
    (late,) = hints(jobs, replace(hosts, load=hosts.load[:, :1440]), warm_up=0, scheduler="condor")
    assert late == "1 job is submitted after 24.0 h, when the host traces end"
    late, much = hints(jobs, hosts, warm_up=2 * DAY, scheduler="condor")
    assert late.startswith("1 job is submitted after 2.0 d, when the host traces end; the first")
    assert much.startswith("50 % of the host traces come before the jobs")
    (clock,) = hints(one_job(), replace(hosts, origin=MONDAY + 5400), warm_up=0, scheduler="condor")
    assert clock.startswith("time 0 of the jobs is 1:30 of 2024-01-01 on the hosts' clock")
    (clock,) = hints(one_job(), hosts, warm_up=HOUR, scheduler="condor")
    assert clock.startswith("time 0 of the jobs is 1:00 on the hosts' clock")


def test_hints_on_jobs_that_were_not_completed() -> None:
    jobs = Jobs.build([0] * 3, [1] * 3, [HOUR] * 3)
    given = {"warm_up": 0, "scheduler": "condor"}
    (few,) = hints(jobs, idle_hosts(2), **given)  # the third finds no host
    assert few.startswith("33 % of jobs were not completed; makespans cover only the others")
    assert hints(jobs, idle_hosts(3), **given) == []


def test_hints_on_days_that_were_not_learnt() -> None:
    monday = idle_hosts(days=14, origin=MONDAY)
    (weekend,) = hints(one_job(submit=DAY), monday, warm_up=4 * DAY)  # a Saturday
    assert "no whole day of weekends" in weekend
    (weekday,) = hints(one_job(), monday, warm_up=0)
    assert "no whole day of weekdays" in weekday
    assert hints(one_job(), monday, warm_up=DAY) == []
    assert hints(one_job(submit=DAY), monday, warm_up=4 * DAY, scheduler="omniscient") == []
    # without dates the traces begin on a Monday
    (weekend,) = hints(one_job(submit=DAY), replace(monday, origin=None), warm_up=4 * DAY)
    assert "no whole day of weekends" in weekend


def test_hints_on_hosts_that_are_never_there() -> None:
    hosts = idle_hosts(6)
    hosts.load[:5, 60:] = np.nan
    (gone,) = hints(one_job(submit=2 * HOUR), hosts, warm_up=0, scheduler="condor")
    assert gone.endswith("during the run: h0, h1, h2 and 2 more")
    assert hints(one_job(submit=0), hosts, warm_up=0, scheduler="condor") == []


def test_hints_on_short_outages() -> None:
    log = Failures.build([600, 7200, DAY], [0, 0, 0], [60, 180, 60])
    hosts = hosts_of(log)
    given = {"warm_up": 0, "scheduler": "condor"}
    (short,) = hints(one_job(), hosts, **given)
    assert short.startswith("1 of 2 outages are no longer than the hold time, 60 s")
    assert hints(one_job(), hosts, hold=0, **given) == []
    busy = replace(hosts, load=np.where(np.isnan(hosts.load), np.nan, 0.1))
    assert hints(one_job(), busy, **given) == []
