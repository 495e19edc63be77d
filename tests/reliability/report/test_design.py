"""CLUSTER.toml and what follows from it: reading, messages, the search, and its folder."""

from __future__ import annotations

import json
import math
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.reliability.queues.queues import Queue
from forestall.reliability.report.design.design import Design, design, read_cluster, read_plan
from forestall.reliability.report.design.report import (
    DesignAnswer,
    check_design_folder,
    save_design,
    tradeoff,
)
from forestall.reliability.report.design.search import mix_of

PAPER = """
name = "blades"
[[groups]]
name = "blade"
count = 516
mttf = "102840h"
shape = 0.75
[[queues]]
name = "Huge"
nodes = 258
limit = "2-00:00:00"
slots = 2
[[queues]]
name = "Big"
nodes = 130
limit = "48h"
slots = 4
[[queues]]
name = "Medium"
nodes = 65
limit = "3d"
slots = 4
[[queues]]
name = "Small"
nodes = 5
limit = "240h"
slots = 4
[[queues]]
name = "Interactive"
nodes = 516
limit = 3600
slots = 2
"""
ONE = '[[groups]]\nname = "a"\ncount = 16\nmttf = "1000h"\n'
QUEUE = '[[queues]]\nname = "q"\nnodes = 4\nlimit = "1h"\n'
JOBS_OF_THREE = '[jobs]\nnodes = [1, 4, 8]\nruntimes = ["6h", "2h", "30m"]\nweights = [1, 2, 3]\n'
SMALL = (
    ONE
    + '[[queues]]\nname = "long"\nnodes = 4\nlimit = "8h"\nslots = 2\n'
    + '[[queues]]\nname = "short"\nnodes = 8\nlimit = "1h"\n'
    + JOBS_OF_THREE
    + "[optimize]\nqueues = 3\nload = 0.3\n"
)


def written(folder: Path, text: str, name: str = "cluster.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# What follows ------------------------------------------------------------------------------------


def test_the_papers_queues(tmp_path: Path) -> None:
    done = design(written(tmp_path, PAPER))
    told = done.json
    found = [100 * queue["failure_probability"] for queue in told["queues"]]
    assert found == pytest.approx([60.70, 37.53, 27.30, 5.87, 9.73], abs=0.005)
    assert 100 * told["job_failure_probability"] == pytest.approx(12.17, abs=0.005)
    assert told["mttf"]["new"] == pytest.approx(102_840 * 3600 / 516 ** (1 / 0.75))
    assert told["mttf"]["steady"] == pytest.approx(102_840 * 3600 / 516)
    assert told["assumes"] == "all nodes as new at time 0"
    assert told["queues"][0]["name"] == "Huge"
    assert told["queues"][0]["checkpoint_interval_s"] is None
    assert told["changes"][0]["after"] <= told["changes"][-1]["after"]
    assert "hold 2,348 nodes" in told["remarks"][0]
    json.dumps(told, allow_nan=False)


def test_checkpoints_spares_and_pool(tmp_path: Path) -> None:
    more = '[checkpoint]\ncost = "15m"\nrestart = "5m"\ncopies = 3\n[pool]\nrepair = "2d"\n'
    done = design(written(tmp_path, PAPER + more))
    for row in done.queues:
        assert row.interval is not None
        assert row.ring_loss is not None
        assert row.room == 516 - row.queue.nodes
        assert (row.spares is None) == (row.queue.name == "Interactive")
        if row.spares is not None:
            assert 1 - done.cluster.failure_with_spares(row.queue, row.spares) >= 0.99
        assert row.mixed < row.failure
    assert done.interval == pytest.approx(done.queues[-1].interval)  # Interactive has all nodes
    rate = 24 / 102_840 * 516 * 2  # nodes down on average
    assert done.pool.spares is not None
    below = sum(math.exp(-rate) * rate**k / math.factorial(k) for k in range(done.pool.spares))
    assert (
        below
        < 0.99
        <= below + math.exp(-rate) * rate**done.pool.spares / math.factorial(done.pool.spares)
    )


def test_ages(tmp_path: Path) -> None:
    new, old, steady = (
        design(written(tmp_path, f'ages = "{age}"\n' + PAPER)) for age in ("new", "400d", "steady")
    )
    assert new.job_failure is not None
    assert old.job_failure is not None
    assert steady.job_failure is not None
    assert new.job_failure > old.job_failure > steady.job_failure
    assert new.mttf == old.mttf == steady.mttf
    assert old.cluster.assumes == "all nodes 400.0 d old"


def test_nodes_alone(tmp_path: Path) -> None:
    done = design(written(tmp_path, ONE))
    assert done.json["queues"] == []
    assert done.json["job_failure_probability"] is None
    assert done.json["changes"] == []


def test_groups_and_mixes(tmp_path: Path) -> None:
    text = ONE + '[[groups]]\nname = "b-old"\ncount = 8\nmttf = "100h"\nages = "50h"\n'
    text += '[[queues]]\nname = "q"\nlimit = "1h"\nnodes = {a = 2, b-old = 1}\n'
    cluster = read_cluster(written(tmp_path, text))
    assert cluster.queues == (Queue("q", 3, 3600.0, 1, (("a", 2), ("b-old", 1))),)
    assert cluster.groups[1].age == 180_000
    assert cluster.queue_failure("q") == pytest.approx(-math.expm1(-2 / 1000 - 1 / 100))


def test_a_fitted_group(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = []
    for node in range(64):
        time = 0.0
        while (time := time + 400_000 * rng.weibull(0.7)) < 2e7:
            rows.append((int(time), node))
    lines = "".join(f"{time},{node}\n" for time, node in sorted(rows))
    (tmp_path / "failures.csv").write_text("time,node\n" + lines)
    text = '[[groups]]\nname = "a"\nlog = "failures.csv"\n'
    plan = read_plan(written(tmp_path, text))
    group = plan.cluster.groups[0]
    assert group.count == 64
    assert group.lifetime.params["shape"] == pytest.approx(0.7, abs=0.03)
    assert group.lifetime.params["scale"] == pytest.approx(400_000, rel=0.08)
    assert "gaps of nodes in failures.csv" in plan.fitted[0]
    assert read_cluster(written(tmp_path, text + "count = 9\n")).nodes == 9


# The search --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Design:
    return design(written(tmp_path_factory.mktemp("design"), SMALL), optimize=True)


def test_search_of_a_small_mix(searched: Design) -> None:
    found = searched.found
    assert found is not None
    assert found.budget == 16
    assert found.demand == pytest.approx(0.3 * 16)
    assert found.now is not None
    assert found.refused == pytest.approx(0)
    assert found.wanted == found.now.capacity
    assert found.best is not None
    assert found.best.failure <= found.now.failure * (1 + 1e-12)
    assert found.best.capacity >= found.now.capacity * (1 - 1e-9)
    whole = found.admitted[0]
    assert whole.curve.exact
    assert whole.own <= found.best.failure  # three queues for three kinds
    assert [one.nodes for one in found.admitted] == [8, 4, 1]
    assert [one.jobs for one in found.admitted] == pytest.approx([1, 1 / 2, 1 / 6])
    assert len(found.curves) == 3
    told = searched.json["optimize"]
    assert told["best"]["job_failure_probability"] == found.best.failure
    assert len(told["curve"]) == len(whole.curve.structures)
    json.dumps(told, allow_nan=False)


def test_search_is_the_same_twice_and_tells_of_its_progress(tmp_path: Path) -> None:
    path = written(tmp_path, PAPER + "[optimize]\nqueues = 2\nnodes = 1500\nshared = false\n")
    told: list[tuple[int, int]] = []
    first = design(path, optimize=True, progress=lambda done, total: told.append((done, total)))
    assert first.json == design(path, optimize=True).json
    assert told[-1][0] == told[-1][1]
    assert all(a[0] <= b[0] for a, b in pairwise(told))
    assert first.found is not None
    assert "Lublin-Feitelson" in first.found.source
    assert first.found.refused > 0
    assert all(sum(q.busy for q in s.queues) <= 1500 for s in first.found.curves[-1].structures)


def test_jobs_of_a_log(tmp_path: Path) -> None:
    rows = "1,0,4,3600,7200\n2,10,4,3600,7200\n3,7200,1,600,900\n"
    log = tmp_path / "jobs.csv"
    log.write_text("job,submit,size,runtime,estimate\n" + rows)
    plan = read_plan(written(tmp_path, SMALL.replace("nodes = [1, 4, 8]", "")
                             .replace('runtimes = ["6h", "2h", "30m"]', 'log = "jobs.csv"')
                             .replace("weights = [1, 2, 3]", "")))  # fmt: skip
    mix, load, source = mix_of(plan, None, 16)
    assert sorted(zip(mix.nodes, mix.runtime, mix.weight, strict=True)) == [
        (1, 600, pytest.approx(1 / 3)), (4, 3600, pytest.approx(2 / 3))
    ]  # fmt: skip
    assert load == pytest.approx((2 * 4 * 3600 + 600) / 7200)
    assert "jobs.csv, 3 jobs" in source
    requested = plan.table.model_copy(
        update={"jobs": plan.table.jobs.model_copy(update={"times": "requested"})}  # type: ignore[union-attr]
    )
    wider = mix_of(type(plan)(plan.source, requested, plan.cluster), None, 16)[0]
    assert sorted(wider.runtime) == [900, 7200]
    assert design(plan, optimize=True, jobs=log).found is not None
    with pytest.raises(ParameterError, match="processors-per-node"):
        design(plan, optimize=True, jobs=log, processors_per_node=2)


def test_a_log_without_a_search(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"\(optimize\)"):
        design(written(tmp_path, SMALL), jobs="jobs.csv")


def test_jobs_too_large_for_the_nodes(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="8 nodes"):
        design(
            written(tmp_path, SMALL.replace("[optimize]", "[optimize]\nnodes = 7")), optimize=True
        )


@pytest.mark.parametrize("shared", ["true", "false"])
@pytest.mark.parametrize("limits", [("7h", "150m", "35m"), ("6h", "2h", "30m")])
def test_the_answer_is_never_worse_than_the_present_queues(
    shared: str, limits: tuple[str, str, str], tmp_path: Path
) -> None:
    """Limits between the steps that people set, and those that are just right already."""
    queues = "".join(
        f"[[queues]]\nname = 'q{k}'\nnodes = {nodes}\nlimit = '{limit}'\nslots = 2\n"
        for k, (nodes, limit) in enumerate(zip((1, 4, 8), limits, strict=True))
    )
    plan = ONE + queues + JOBS_OF_THREE + f"[optimize]\nqueues = 3\nshared = {shared}\n"
    found = design(written(tmp_path, plan), optimize=True).found
    assert found is not None
    assert found.now is not None
    assert found.equal is not None
    assert found.equal.failure <= found.now.failure
    assert found.equal.capacity >= found.now.capacity * (1 - 1e-9)
    assert found.keeps == (limits[0] == "6h")
    fewer = plan.replace("queues = 3", "queues = 1")  # one queue alone is worse than these
    kept = design(written(tmp_path, fewer), optimize=True)
    assert kept.found is not None
    assert kept.found.keeps
    assert kept.found.best == kept.found.now
    assert kept.json["optimize"]["keep_present_queues"] is True
    assert "Keep your queues" in DesignAnswer(kept).report.text(full=True)


def test_prices_and_spares_are_dimensions_of_the_search(tmp_path: Path) -> None:
    more = "[checkpoint]\ncost = '5m'\n[pool]\nrepair = '1d'\n[prices]\ncurrency = 'EUR'\n"
    text = SMALL.replace("[optimize]", more + "[optimize]")
    done = design(written(tmp_path, text), optimize=True)
    found = done.found
    assert found is not None
    assert found.plain is not None
    assert found.now is not None
    assert found.cheapest is not None
    assert found.plain.failure == pytest.approx(found.now.failure)
    assert found.cheapest.cost <= found.plain.cost
    assert found.cheapest.failure <= found.plain.failure * (1 + 1e-9)
    assert found.cheapest.capacity >= found.plain.capacity * (1 - 1e-9)
    for one, other in permutations(found.priced, 2):
        worse = (one.failure, one.cost, -one.capacity)
        assert not all(a <= b for a, b in zip(
            (other.failure, other.cost, -other.capacity), worse, strict=True
        ))  # fmt: skip
    assert any(way.spares for one in found.priced for way in one.ways)
    told = done.json["optimize"]
    assert told["cheapest"]["cost"] == found.cheapest.cost
    save_design(done, tmp_path / "out")
    table = pl.read_csv(tmp_path / "out" / "tradeoff.csv")
    assert table["cost"].drop_nulls().to_list() == [one.cost for one in found.priced]
    assert "Failures against cost" in DesignAnswer(done).report.text(full=True)


# Its folder --------------------------------------------------------------------------------------


def test_the_best_at_the_present_capacity(tmp_path: Path, searched: Design) -> None:
    assert searched.found is not None
    assert searched.found.refused == 0
    assert searched.found.equal == searched.found.best
    # Without a queue for jobs of 8 nodes these are refused.
    done = design(written(tmp_path, SMALL.replace("nodes = 8\n", "nodes = 7\n")), optimize=True)
    found = done.found
    assert found is not None
    assert found.now is not None
    assert found.refused > 0
    assert found.wanted != found.now.capacity
    assert found.equal is not None  # for the jobs that the present queues admit
    assert found.equal.failure <= found.now.failure
    assert max(queue.nodes for queue in found.equal.queues) == 4
    told = done.json["optimize"]["best_at_present_capacity"]
    assert told["job_failure_probability"] == found.equal.failure
    assert told["capacity_node_hours_per_hour"] >= found.now.capacity


def test_the_folder(searched: Design, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    check_design_folder(folder, force=False)
    save_design(searched, folder)
    names = {path.name for path in folder.iterdir()}
    assert names == {"design.json", "changes.csv", "tradeoff.csv", "tradeoff.png", "tradeoff.svg"}
    assert json.loads((folder / "design.json").read_text()) == searched.json
    assert (folder / "changes.csv").read_text().startswith("title,kind,queue,before,after")
    check_design_folder(folder, force=False)  # ours: may be written again
    before = (folder / "tradeoff.png").read_bytes()
    save_design(searched, folder)
    assert (folder / "tradeoff.png").read_bytes() == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="holds something else"):
        check_design_folder(tmp_path / "other", force=False)


def test_the_figure(searched: Design) -> None:
    assert searched.found is not None
    left, right = tradeoff(searched.found).axes
    assert len(left.lines) == 3 + 3  # a line for each number of queues; own, wanted, now
    assert "node-hours per hour" in left.get_xlabel()
    assert [line.get_label() for line in right.lines] == [
        "with the best queues", "the jobs' own"
    ]  # fmt: skip


# What cannot be read -----------------------------------------------------------------------------

GROUP = "[[groups]]\nname = 'a'\n"
BAD = {
    "": "groups: is missing",
    "groups = [": "is not TOML",
    "grops = 1\n" + ONE: "grops: is not known; did you mean 'groups'?",
    "groups = []": "groups: 'list' is not allowed; expected at least one",
    GROUP: r"groups\[1\]: needs one of mttf, components and log",
    GROUP + "mttf = '5h'": r"groups\[1\].count: is missing",
    GROUP + "count = 5\nmttf = 'soon'": r"groups\[1\].mttf: 'soon' is not allowed; expected a dur",
    GROUP + "count = 5\nmttf = 0": r"groups\[1\].mttf: 0 is not allowed; expected a duration above",
    GROUP + "count = 2.5\nmttf = '5h'": r"groups\[1\].count: 2.5 is not .* a whole number",
    GROUP + "count = true\nmttf = '5h'": r"groups\[1\].count",
    GROUP + "count = 5\nmttf = '5h'\nshape = nan": r"groups\[1\].shape",
    GROUP + "count = 5\nmttf = '5h'\nshape = 0.0": r"groups\[1\].shape",
    GROUP + "count = 5\nmttf = '5h'\nsystem = 1": r"groups\[1\].system: needs a log",
    GROUP + "log = 'no.csv'": "no.csv: cannot be read",
    GROUP + "log = 'no.csv'\nshape = 0.5": r"groups\[1\].shape: cannot be given with a log",
    ONE + ONE: "groups: 'a' is not allowed; expected names that differ",
    "ages = 'old'\n" + ONE: "ages: 'old' is not allowed; expected new, steady",
    "success = 1.0\n" + ONE: "success: 1.0 is not allowed",
    ONE + QUEUE + QUEUE: "queues: 'q' is not allowed; expected names that differ",
    ONE + QUEUE + QUEUE.replace('"1h"', '"soon"'): r"queues\[2\].limit: 'soon' is not allowed",
    ONE + QUEUE.replace("nodes = 4\n", ""): r"queues\[1\].nodes: is missing",
    ONE + QUEUE.replace("4", "17"): r"queues\[1\].nodes: 17 is not allowed; expected at most 16",
    ONE + QUEUE.replace("4", "{z = 1}"): r"queues\[1\].nodes: 'z' is not allowed; expected groups",
    ONE + QUEUE.replace("4", "{a = 99}"): r"queues\[1\].nodes: 99 is not allowed; .* 16 of a",
    ONE + QUEUE.replace("4", "{a = 0}"): r"queues\[1\].nodes",
    ONE + QUEUE + "slots = 0": r"queues\[1\].slots: 0 is not allowed",
    ONE + QUEUE + "slot = 1": r"queues\[1\].slot: is not known; did you mean 'slots'",
    ONE + "[checkpoint]\nrestart = 5": "checkpoint.cost: is missing",
    "checkpoint = 3\n" + ONE: "checkpoint: 3 is not allowed; expected a table",
    "[groups]\nname = 'a'": r"groups: 'dict' is not allowed; expected a list; .* \[\[",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_files_that_cannot_be(text: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=BAD[text]) as raised:
        read_plan(written(tmp_path, text))
    assert str(raised.value).startswith(str(tmp_path))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[jobs]\nnodes = [1, 2]", "jobs.runtimes: is missing"),
        ("[jobs]\nnodes = [1, 2]\nruntimes = ['1h']", "jobs.runtimes: has 1 values; expected 2"),
        ("[jobs]\nnodes = [1]\nruntimes = ['1h']\nweights = [0]", "jobs.weights: are all 0"),
        ("[jobs]\nlog = 'no.swf'", "no.swf: cannot be read"),
    ],
)
def test_jobs_that_cannot_be(text: str, named: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=named):
        design(written(tmp_path, ONE + text), optimize=True)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        read_plan(tmp_path / "nowhere.toml")


def test_keys_with_dashes(tmp_path: Path) -> None:
    text = ONE + "[jobs]\nlog = 'x.swf'\nprocessors-per-node = 16\n"
    table = read_plan(written(tmp_path, text)).table
    assert table.jobs is not None
    assert table.jobs.processors_per_node == 16


# Components and prices ---------------------------------------------------------------------------

MADE = """
success = 0.9
[[groups]]
name = "made-1"
count = 32
components = [
  {name = "board", mttf = "1000h"}, {name = "disk", mttf = "500h", count = 2, needed = 1},
]
[[groups]]
name = "bought"
count = 32
mttf = "2000h"
[[queues]]
name = "q"
nodes = 16
limit = "20h"
[checkpoint]
cost = "6m"
"""
PRICED = MADE + '[pool]\nrepair = "1d"\n[prices]\ngroups = {"made-1" = 0.5}\nwaiting = 10\n'


def test_components_and_prices_of_a_file(tmp_path: Path) -> None:
    done = design(written(tmp_path, PRICED))
    told = done.json
    made = told["groups"][0]
    assert [one["name"] for one in made["components"]] == ["disk", "board"]
    assert sum(one["share_of_failures"] for one in made["components"]) == pytest.approx(1)
    # a board, and the longer of two disks: the integral of exp(-t/1000) (2 e^-t/500 - e^-2t/500)
    assert made["mttf_s"] / 3600 == pytest.approx(2 / (1 / 1000 + 1 / 500) - 1 / (0.001 + 0.004))
    assert any("redundant" in one["title"] for one in told["changes"])
    best = told["prices"]["cheapest"]["q"]
    enough = [one for one in told["prices"]["designs"] if one["success_probability"] >= 0.9]
    assert best["cost"] == min(one["cost"] for one in enough)
    assert {one["source"] for one in told["prices"]["designs"]} == {"", "made-1", "bought"}
    folder = tmp_path / "out"
    save_design(done, folder)
    assert len((folder / "prices.csv").read_text().splitlines()) == 1 + len(
        told["prices"]["designs"]
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MADE.replace("needed = 1", "needed = 3"), r"groups\[1\].components\[2\].needed"),
        (MADE.replace('"disk"', '"board"'), r"groups\[1\].components: 'board'"),
        (MADE.replace("count = 2, ", "cuont = 2, "), "did you mean 'count'"),
        (
            MADE.replace("components", "shape = 0.7\ncomponents"),
            "shape: cannot be given with components",
        ),
        (MADE + "[prices]\npower = 1\n", "pool.repair: is missing"),
        (PRICED.replace('"made-1" = 0.5', "other = 1"), "'other' is not a group"),
        (PRICED.replace("waiting = 10", "waiting = -1"), "prices.waiting"),
    ],
)
def test_components_and_prices_that_cannot_be(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=said):
        read_plan(written(tmp_path, text))
