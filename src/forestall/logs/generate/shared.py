"""Machines whose nodes are shared, and jobs for them, as Alibaba's GPU cluster of 2023 has them.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
Descent", USENIX ATC 2023: kinds of nodes and requests are the frequent ones of that log, a share of
a GPU counted as one; run times are log-normal with its moments. Arrivals follow the day as those of
`jobs` do.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.model.errors import ParameterError
from forestall.core.model.jobs import Jobs
from forestall.core.model.nodes import GPUS, RESOURCES, MachineSpec, Requests
from forestall.core.model.units import MOST_NODES
from forestall.core.streams import stream
from forestall.logs.generate.estimates import requested_times
from forestall.logs.generate.jobs import BYTES, MOST_JOBS, stretch
from forestall.logs.generate.lublin import DAY, MODELS, clock, gaps

Int = npt.NDArray[np.int64]
GIB: Final = 1024
KINDS: Final = (
    (549, "g2", 96, 384, 8, "G2"), (387, "t4", 104, 512, 2, "T4"), (129, "cs", 32, 256, 0, ""),
    (107, "p100", 16, 120, 2, "P100"), (59, "cl", 96, 512, 0, ""), (39, "g3", 128, 768, 8, "G3"),
    (28, "v100", 32, 128, 4, "V100M16"),
)  # fmt: skip
"""How many nodes Alibaba has, what they are called here, cores, memory (GiB), GPUs and their type:
the seven most frequent kinds."""
REQUESTS: Final = (
    (1, 4, 6, 1592), (1, 12, 48, 2169), (1, 8, 30, 486), (0, 13, 56, 364), (0, 32, 48, 284),
    (1, 19, 63, 255), (1, 10, 41, 195), (1, 4, 23, 189), (1, 4, 15, 182), (0, 8, 30, 163),
    (1, 12, 24, 158), (1, 16, 57, 158), (1, 5, 11, 152), (1, 4, 30, 136), (0, 16, 50, 215),
    (1, 16, 32, 108), (1, 8, 16, 104), (1, 4, 24, 104), (1, 12, 16, 99), (1, 25, 91, 84),
    (2, 17, 65, 16), (4, 33, 129, 15), (8, 65, 257, 26), (8, 88, 320, 18),
)  # fmt: skip
"""GPUs, cores, memory (GiB) and how many tasks asked for that."""
LIMITED: Final = 0.33
"""Share of jobs with GPUs that take one type only, as in the log's sample of that name."""
LOG_MEAN: Final = {0: 6.52, 1: 6.52, 2: 7.24, 4: 5.94, 8: 7.36}
LOG_SD: Final = {0: 1.68, 1: 1.82, 2: 1.91, 4: 2.59, 8: 2.53}
"""Of the logarithms of run times, s, by GPUs."""
LONGEST: Final = 7 * DAY


def generate_machine(nodes: int) -> MachineSpec:
    """Return a machine of so many nodes, of `KINDS` in their proportions; memory in MiB."""
    if not 1 <= nodes <= MOST_NODES:
        raise ParameterError("nodes", nodes, f"from 1 to {MOST_NODES:,}")
    weight = np.array([kind[0] for kind in KINDS], dtype=np.float64)
    exact = nodes * weight / weight.sum()
    count = np.floor(exact).astype(np.int64)
    largest = np.argsort(-(exact - count), kind="stable")[: nodes - int(count.sum())]
    count[largest] += 1
    kind = np.repeat(np.arange(len(KINDS)), count).tolist()
    number = [k for each in count.tolist() for k in range(1, each + 1)]
    amounts = np.array([(c, GIB * m, g) for _, _, c, m, g, _ in KINDS], dtype=np.int64)
    nothing: tuple[frozenset[str], ...] = (frozenset(),) * nodes
    return MachineSpec(
        tuple(f"{KINDS[k][1]}-{n}" for k, n in zip(kind, number, strict=True)), RESOURCES,
        amounts[kind], tuple(KINDS[k][5] for k in kind), nothing, nothing,
        f"{nodes} nodes of {len(set(kind))} kinds",
    )  # fmt: skip


def generate_shared_jobs(
    machine: MachineSpec,
    seed: int,
    *,
    count: int | None = None,
    days: float | None = None,
    load: float = 0.8,
) -> Jobs:
    """Return generated jobs that ask for parts of the nodes of a machine.

    Parameters
    ----------
    machine : what the jobs run on; of the requests those are taken that fit on a node of it
    seed : requests, types, run times, gaps and requested times each have a stream of their own
    count, days : how many jobs, or from how many days; exactly one of them
    load : offered load of the scarcest resource, whose amounts times run times over all that there
        is of it in the span of submits is this; the gaps are scaled to it

    Time 0 is the midnight before the first job. Raises ParameterError.
    """
    if (count is None) == (days is None):
        raise ParameterError("count", count, "either a number of jobs or a number of days")
    if count is not None and not 1 <= count <= MOST_JOBS:
        raise ParameterError("count", count, f"from 1 to {MOST_JOBS:,} jobs")
    if days is not None and not 0 < days < 2**36 / DAY:
        raise ParameterError("days", days, "a finite number above 0")
    if not (load > 0 and math.isfinite(load)):
        raise ParameterError("load", load, "a finite number above 0, such as 0.8")
    tried = count or 1024
    while True:
        budget.require(2 * BYTES * tried, f"{tried:,} jobs", count=tried, of="jobs")
        chosen = _chosen(machine, seed, tried)
        runtime = _runtimes(chosen[:, 0], seed)
        used = np.cumsum(_per_second(machine, chosen) * runtime[:, None], axis=0)
        if count is None:
            assert days is not None
            enough = int(np.searchsorted(used.max(axis=1), days * DAY * load))
            if enough == tried:
                tried *= 2
                continue
            count = max(1, enough)
        chosen, runtime = chosen[:count], runtime[:count]
        break
    batch = MODELS["all"]
    points = np.cumsum(gaps(batch, count, stream(seed, "shared jobs", "gaps")))
    points *= stretch(batch, points, float(used[count - 1].max()) / load)
    zero = np.zeros(count, dtype=np.int64)
    return Jobs(
        np.arange(1, count + 1, dtype=np.int64),
        np.floor(clock(batch, points)).astype(np.int64),
        np.ones(count, dtype=np.int64),
        runtime,
        requested_times(runtime, stream(seed, "shared jobs", "estimates")),
        source=f"jobs of shared nodes, seed {seed}",
        requests=Requests(
            RESOURCES, chosen[:, [1, 2, 0]], zero, np.zeros(count, dtype=np.bool_),
            _types(machine, chosen, seed), ("",) * count,
        ),
    )  # fmt: skip


def _chosen(machine: MachineSpec, seed: int, count: int) -> Int:
    """Return GPUs, cores and memory (MiB) of each job, int64[count, 3]."""
    table = np.array([(g, c, GIB * m) for g, c, m, _ in REQUESTS], dtype=np.int64)
    fits = (machine.capacity[:, None, [2, 0, 1]] >= table).all(axis=2).any(axis=0)
    if not bool(fits.any()):
        least = f"nodes with {table[:, 1].min()} cores and {table[0, 2] // GIB} GiB at least"
        raise ParameterError("machine", machine.source, least)
    weight = np.where(fits, [one[3] for one in REQUESTS], 0.0)
    draws = stream(seed, "shared jobs", "requests").random(count)
    return np.asarray(table[np.searchsorted(np.cumsum(weight) / weight.sum(), draws, "right")])


def _runtimes(gpus: Int, seed: int) -> Int:
    draws = stream(seed, "shared jobs", "runtimes").standard_normal(len(gpus))
    mean = np.array([LOG_MEAN.get(k, 0.0) for k in range(9)])[gpus]
    sd = np.array([LOG_SD.get(k, 0.0) for k in range(9)])[gpus]
    return np.clip(np.rint(np.exp(mean + sd * draws)), 1, LONGEST).astype(np.int64)


def _per_second(machine: MachineSpec, chosen: Int) -> npt.NDArray[np.float64]:
    """Return the part of all of each resource that each job asks for, float64[n, 3]."""
    totals = machine.totals[: len(RESOURCES)]
    return np.asarray(chosen[:, [1, 2, 0]] / np.where(totals > 0, totals, np.inf))


def _types(machine: MachineSpec, chosen: Int, seed: int) -> tuple[str, ...]:
    """Return the GPU type that each job is limited to, "" where it takes any; those with more GPUs
    are drawn more often, if a node of that type has room for the job."""
    rng = stream(seed, "shared jobs", "types")
    limited, place = rng.random((len(chosen), 2)).T
    kinds = sorted(set(machine.gpu_type) - {""})
    of_kind = [np.array([one == kind for one in machine.gpu_type]) for kind in kinds]
    weight = np.array([machine.capacity[mine, GPUS].sum() for mine in of_kind], dtype=np.float64)
    found: dict[tuple[int, ...], npt.NDArray[np.float64]] = {}
    types = [""] * len(chosen)
    for job in np.flatnonzero((limited < LIMITED) & (chosen[:, 0] > 0)).tolist():
        key = tuple(chosen[job].tolist())
        if key not in found:
            fits = [(machine.capacity[mine][:, [2, 0, 1]] >= key).all(axis=1) for mine in of_kind]
            found[key] = np.cumsum(weight * [bool(one.any()) for one in fits])
        upto = found[key]
        if len(upto) and upto[-1] > 0:
            types[job] = kinds[int(np.searchsorted(upto, place[job] * upto[-1], "right"))]
    return tuple(types)
