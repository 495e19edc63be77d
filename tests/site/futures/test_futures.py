"""`forestall futures`: the queue at a time, its report, its files and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from core.commands.calls import call
from forestall.core.model.errors import ParameterError
from forestall.core.show.style import has_matplotlib
from forestall.site.futures import study
from forestall.site.futures.question import FuturesQuestion, drain_of, next_clock
from forestall.site.futures.queue import pools_of, queue_at
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.sources.given import GivenRecords
from forestall.slurm.sources.sources import gather

Capsys = pytest.CaptureFixture[str]
EPOCH = 1_600_000_000
AT = "2020-09-13T22:26"  # Unix second 1_600_035_960


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty users' worth of past, then a queue that waits: a machine of 16 nodes."""
    rng = np.random.default_rng(0)
    lines = ["; Version: 2.2", f"; UnixStartTime: {EPOCH}", "; MaxNodes: 16"]
    rows = [(int(t), 5, int(rng.integers(60, 1800)), 1 + k % 2, 3600, 1 + k % 3)
            for k, t in enumerate(np.sort(rng.integers(0, 30_000, 200)))]  # fmt: skip
    rows += [(35_000, 10, 3000, 10, 3600, 1), (35_100, 10, 3500, 4, 7200, 2)]
    rows += [(35_200 + 10 * k, 20_000, 900, 2 + 3 * (k % 5), 3600, 1 + k % 3) for k in range(12)]
    for k, (submit, wait, run, nodes, limit, user) in enumerate(rows):
        lines.append(f"{k + 1} {submit} {wait} {run} {nodes} -1 -1 {nodes} {limit} -1 1 {user} "
                     "1 1 1 1 -1 -1")  # fmt: skip
    path = tmp_path_factory.mktemp("log") / "jobs.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_queue_is_that_of_the_time(log: Path) -> None:
    site = gather(GivenRecords(paths=(log,)))
    queue = queue_at(site, EPOCH + 35_960)
    assert int(queue.snapshot.running.sum()) == 2
    assert int((~queue.snapshot.running).sum()) == 12
    assert queue.snapshot.nodes == (16,)
    assert queue.learned == 200
    assert bool(np.all(np.diff(queue.snapshot.ready[2:]) >= 0))
    assert queue.snapshot.size[:2].tolist() == [10, 4]


def test_what_it_prints_is_narrow_and_what_it_writes_is_the_same(
    log: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    asked = ("futures", log, "--at", AT, "--drain", "8@23:00+2h", "--futures", 64)
    code, printed, err = call(capsys, *asked, "--out", out)
    assert (code, err) == (0, "")
    assert "At 2020-09-13 22:26: 2 running jobs on 14 of 16 nodes, 12 waiting." in printed
    assert printed.startswith("A drain of 8 nodes from 2020-09-13 23:00 for 2 h delays ")
    assert all(len(line) <= 100 for line in printed.splitlines()[3:] if str(out) not in line)
    code, again, _ = call(capsys, *asked, "--json")
    told = json.loads(again)
    assert told == json.loads((out / "summary.json").read_text())
    assert (told["running_jobs"], told["waiting_jobs"], told["nodes"]) == (2, 12, 16)
    jobs = pl.read_csv(out / "jobs.csv")
    assert jobs["end_50"].to_list() == [one["end_50"] for one in told["jobs"]]
    assert bool((jobs["start_10"] <= jobs["start_90"]).all())
    names = {path.name for path in out.iterdir()}
    assert {"report.html", "jobs.csv", "free_nodes.csv", "summary.json"} <= names
    if has_matplotlib():
        assert {"queue.png", "queue.svg", "free_nodes.png", "drain.svg"} <= names
        assert (out / "report.html").read_text().count("<svg") >= 3


def test_a_drain_takes_its_nodes_in_no_future(log: Path) -> None:
    question = FuturesQuestion(at=AT, drain="8@23:00+2h", futures=32)
    found = study.find(GivenRecords(paths=(log,)), question)
    assert found.drain is not None
    assert found.drained is not None
    inside = np.arange(found.drain.start, found.drain.until, 600, dtype=np.int64)
    snapshot = found.queue.snapshot
    for k in range(32):
        for t in inside.tolist():
            begun = found.drained.start[k] <= t
            # What runs within the drain and began in it fits beside the drained nodes.
            runs = begun & (found.drained.end[k] > t)
            if bool(np.any(runs & (found.drained.start[k] >= found.drain.start))):
                assert int(snapshot.size[runs].sum()) <= 8
    assert found.delays is not None
    assert int(found.delays.max()) > 0
    plain = study.find(GivenRecords(paths=(log,)), FuturesQuestion(at=AT, futures=32))
    assert plain.futures.end.tolist() == found.futures.end.tolist()


@pytest.mark.parametrize("rule", ["conservative", "priority"])
def test_every_rule_plays(log: Path, rule: str, capsys: Capsys) -> None:
    code, printed, _ = call(capsys, "futures", log, "--at", AT, "--rule", rule, "--futures", 16)
    assert code == 0
    assert "When waiting jobs start and end" in printed


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--at", "1999-01-01"), "a time that the records cover"),
        (("--at", "2020-09-13T21:59"), "a time at which jobs of jobs.swf: "),
        (("--at", AT, "--drain", "8 at noon"), "NODES@FROM+DURATION"),
        (("--at", AT, "--drain", "8@25:00+1h"), "00:00 to 23:59"),
        (("--at", AT, "--drain", "99@23:00+1h"), "no more than the 16 nodes"),
        (("--at", AT, "--drain", "9@2019-01-01T00:00+1h"), "an end after the queue's time"),
        (("--at", AT, "--depth", "0"), "depth"),
        (("--at", AT, "--futures", "3"), "futures"),
        (("--at", AT, "--rule", "luck"), "rule"),
    ],
)
def test_bad_input_is_one_clear_line(
    log: Path, options: tuple[str, ...], words: str, capsys: Capsys, tmp_path: Path
) -> None:
    code, printed, err = call(capsys, "futures", log, *options, "--out", tmp_path / "out")
    assert (code, printed) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert words in err
    assert not (tmp_path / "out").exists()


def test_a_time_of_day_is_the_next_one_in_the_zone() -> None:
    noon = 1_600_000_800 // 86_400 * 86_400 + 12 * 3600
    assert drain_of("4@12:00+1h", noon - 60, None, dated=True).start == noon
    assert drain_of("4@12:00+1h", noon + 60, None, dated=True).start == noon + 86_400
    assert next_clock(14, 0, noon - 60, "Europe/Berlin", "") == noon  # summer: two hours ahead
    assert drain_of("4@500+1h", 100, None, dated=False).until == 4100
    with pytest.raises(ParameterError, match="these records have no dates"):
        drain_of("4@12:00+1h", 100, None, dated=False)


def test_partitions_that_share_nodes_are_one_pool(log: Path) -> None:
    site = gather(GivenRecords(paths=(log,)))
    assert site.accounting is not None
    none = np.full(5, -1, np.int64)
    parts = (("a",), ("a", "b"), ("b",), ("gpu",), ("gpu",))
    words = ("",) * 5
    inventory = Inventory(
        tuple("vwxyz"), none, none, none, parts, words, words, words, none
    )  # fmt: skip
    pool, nodes, names = pools_of(site.accounting, inventory, np.arange(3))
    assert (nodes, names) == ((3, 2), ("a, b", "gpu"))
    assert pool.tolist() == [0, 0, 0]  # of a partition that has no nodes: the largest
