"""Cycle sharing: jobs a second, forecasts a second, growth, and the plain reference.

Hosts and jobs like the slides' (20 hosts, 91 days, jobs of 0.5 to 6 h) for each scheduler; runs of
Falcon whose forecasts are made host by host, as they were before those of all hosts were made at
once; what a forecast of all hosts costs by its steps; growth from 20 hosts to 2,000; a smaller pool
beside the plain reference of the tests, which agrees to the second. Forecasts are timed by the
processor.
`python -m benchmarks.cycle [slides|falcon|forecasts|growth|reference]`
"""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import Any

import numpy as np

from benchmarks import plain_forecasts as plain
from benchmarks.common import line, seconds
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.logs.generate.guests import LENGTHS, generate_guests
from forestall.logs.generate.hosts import ORIGIN, host_load
from forestall.prediction.models.semi_markov.forecast import HostCurves
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle

DAY = 86_400
LOAD = 0.25
SCHEDULERS = ("condor", "omniscient", "falcon")
COARSE = {"predict_step": 300, "horizon": 12 * 3600}
"""Forecasts as `python -m studies cycle-sharing` makes them."""


def hosts_of(count: int, days: int, period: int = 60) -> HostTraces:
    """Return generated hosts with hours of their own."""
    samples = days * DAY // period
    load, memory = np.full((count, samples), np.nan), np.full((count, samples), np.nan)
    for k in range(count):
        given = host_load(k % 100, days, 1 + k // 100, period, owners="own")
        load[k, given.time // period] = given.cpu
        memory[k, given.time // period] = given.memory_free
    names = tuple(str(k) for k in range(count))
    return HostTraces(load, memory, period, np.ones(count), names, ORIGIN, "generated")


def jobs_of(hosts: HostTraces, parameters: CycleParameters) -> Jobs:
    """Return jobs like the slides'."""
    days = (hosts.end - parameters.warm_up) // DAY - 1
    mean = sum(LENGTHS) / len(LENGTHS)
    count = max(7, round(LOAD * len(hosts) * days * DAY / mean))
    return generate_guests(count, 1, days=days)


def study(hosts: HostTraces, scheduler: str, **more: Any) -> Any:
    """Return what `play_cycle` is called with."""
    settings: dict[str, Any] = {"warm_up": 28 * DAY} | more
    parameters = CycleParameters(scheduler=scheduler, **settings)  # type: ignore[arg-type]
    return prepare_guests(jobs_of(hosts, parameters), hosts, parameters), hosts, parameters


def spent(given: Any, forecasts: Forecasts | None = None) -> tuple[float, Any]:
    """Return how long a run takes, s, and what came out."""
    start = time.perf_counter()
    outcome = play_cycle(*given, forecasts=forecasts)
    return time.perf_counter() - start, outcome


def slides() -> None:
    """Print a line for each scheduler: states made anew, and states and forecasts shared."""
    hosts = hosts_of(20, 91)
    for scheduler in SCHEDULERS:
        variants: list[tuple[str, dict[str, int]]] = [("", {}), (" (5 min, 12 h)", COARSE)]
        for name, more in variants if scheduler == "falcon" else variants[:1]:
            given = study(hosts, scheduler, **more)
            forecasts = Forecasts(hosts, given[2])
            spent(study(hosts_of(2, 40), scheduler, **more))  # loads the kernels
            first, outcome = spent(given, forecasts)
            again, _ = spent(given, forecasts)
            jobs = len(outcome.workload.jobs)
            print(
                f"{scheduler + name:<24}{jobs:>7,} jobs {outcome.events:>8,} events "
                f"{first:>8.3f} s {jobs / first:>10,.0f} jobs/s; with forecasts shared "
                f"{again:>7.3f} s {jobs / again:>10,.0f} jobs/s"
            )
            if outcome.forecasts:
                each = (first - again) / outcome.forecasts
                print(
                    f"{'':<24}{outcome.forecasts:>7,} forecasts of {len(hosts)} hosts, "
                    f"{1e3 * each:.2f} ms each, {len(hosts) / each:,.0f} hosts/s"
                )


class PlainForecasts(Forecasts):
    """Forecasts made host by host and step by step."""

    def curves(self, slot: int) -> HostCurves:
        """Return the curves of all hosts from the beginning of a slot on."""
        asked, start = self.parameters, ORIGIN + slot * self.parameters.predict_every
        known = self.pasts().hosts
        told = plain.foretold(known, start, self.steps, days=asked.history, pooled=asked.pools)
        step = self._every * self.hosts.period
        return plain.curves(*told, self.hosts.speed, step, memory=asked.load_fades)


def falcon() -> None:
    """Print what whole runs cost beside the same whose forecasts are made the plain way; nothing is
    shared, and what becomes of the jobs is the same."""
    for count, step, horizon in (
        *((20, 60, DAY), (20, 300, 12 * 3600)),
        *((200, 300, DAY), (200, 60, DAY)),
    ):
        hosts = hosts_of(count, 91, 60 if count == 20 else step)
        given = study(hosts, "falcon", predict_step=step, horizon=horizon)
        ways, spans = (Forecasts, PlainForecasts), ([], [])  # type: tuple[Any, ...], Any
        for _ in range(3 if count * DAY // step < 100_000 else 2):
            stays = []
            for way, taken in zip(ways, spans, strict=True):
                known = way(hosts, given[2], kept=False)
                known.pasts()
                begin = time.process_time()
                stays.append(play_cycle(*given, forecasts=known).stays)
                taken.append(time.process_time() - begin)
            assert np.array_equal(*stays), "another outcome"
        what = f"falcon, {len(given[0].jobs):,} jobs, {count} hosts, {step} s, {horizon // 3600} h"
        line(what, median(spans[0][1:]), "host by host", median(spans[1][1:]))


def forecasts() -> None:
    """Print what a forecast of all hosts costs, by its step and reach, beside the plain way: host
    by host and step by step. Each slot is asked for once, as in a run. Of a host whose windows lack
    a state the plain way takes Fourier transforms, so that last places differ."""
    for count, step, horizon in (
        *((20, 60, DAY), (20, 60, 12 * 3600), (20, 300, DAY), (20, 300, 12 * 3600)),
        *((20, 600, DAY), (200, 300, DAY)),
    ):
        hosts = hosts_of(count, 91, min(step, 300) if count > 20 else 60)
        parameters = CycleParameters(predict_step=step, horizon=horizon)
        known = Forecasts(hosts, parameters, kept=False)
        pasts, spans = known.pasts().hosts, ([], [])  # type: tuple[list[float], list[float]]
        for slot in range(28 * 24, 28 * 24 + 51):
            start = ORIGIN + slot * parameters.predict_every
            asked = {"days": parameters.history, "pooled": True}
            begin = time.process_time()
            ours = known.curves(slot)  # all of them, which no run asks for
            middle = time.process_time()
            told = plain.foretold(pasts, start, known.steps, **asked)
            theirs = plain.curves(*told, hosts.speed, ours.step, memory=parameters.load_memory)
            end = time.process_time()
            pairs = zip(ours, theirs, strict=True)
            near = {"rtol": 1e-12, "atol": 1e-12}
            assert all(np.allclose(one, two, **near) for one, two in pairs), "other forecasts"
            spans[0].append(middle - begin)
            spans[1].append(end - middle)
        what = f"{count} hosts, steps of {step} s, {horizon // 3600} h"
        line(what, median(spans[0][1:]), "host by host", median(spans[1][1:]))


def growth() -> None:
    """Print time a job over the number of hosts, the load being the same."""
    for scheduler in ("condor", "omniscient"):
        first = 0.0
        for count in (20, 200, 2_000):
            hosts = hosts_of(count, 42, 300)
            given = study(hosts, scheduler)
            shared = Forecasts(hosts, given[2])
            took = min(spent(given, shared)[0] for _ in range(2))
            jobs = len(given[0].jobs)
            each = took / jobs * 1e6
            first = first or each
            print(
                f"{scheduler:<11}{count:>6,} hosts {jobs:>9,} jobs {took:>8.3f} s {each:>8.1f} us "
                f"a job x{each / first:.1f}"
            )


def reference() -> None:
    """Print the ratio to the plain reference on a pool that it can bear."""
    from sharing.simulation.cycle_reference import play

    hosts = hosts_of(5, 24, 300)
    for scheduler in SCHEDULERS:
        given = study(hosts, scheduler, warm_up=14 * DAY, predict_step=600, horizon=6 * 3600)
        (ours,) = seconds(lambda g=given: play_cycle(*g))
        start = time.perf_counter()
        slow = play(jobs_of(hosts, given[2]), hosts, given[2])
        theirs = time.perf_counter() - start
        outcome = play_cycle(*given)
        assert len(slow.stays) == len(outcome.stays), "another outcome"
        line(f"{scheduler}, {len(given[0].jobs)} jobs, 5 hosts", ours, "plain Python", theirs)


def main() -> None:
    """Print all, or what is named."""
    parts = {
        "slides": slides,
        "falcon": falcon,
        "forecasts": forecasts,
        "growth": growth,
        "reference": reference,
    }
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
