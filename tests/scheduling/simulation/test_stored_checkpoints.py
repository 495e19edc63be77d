"""Promises and classic policies whose checkpoints a vault keeps: worlds worked out by hand, a plain
slow reference, and what the certifier and a replay say of random worlds."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from forestall.core.model.errors import ParameterError
from forestall.scheduling.certify.certifier import certify_promise
from forestall.scheduling.report.log import replay
from forestall.scheduling.report.result import Result
from forestall.scheduling.simulation.checkpoint_costs import pause_of
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.run import Outcome
from reference.stored_promises import simulate_stored
from scheduling.simulation.cases import Case, assert_same, result, run

PLAIN = "size=1GB ratio=1 speed=1TB"
"""A path of 100 MB/s carries it in 10 s."""
POLICIES = ("promise", "fcfs", "easy", "conservative")

# --------------------------------------------------------------------------------------- costs


@pytest.mark.parametrize(
    ("vault", "size", "pause", "recovery"),
    [
        ("layout=code data=1 parity=0", 1, 10, 10),
        ("layout=code data=2 parity=1", 1, 15, 10),  # 5 s a piece
        ("layout=code data=2 parity=1", 8, 15, 10),  # eight nodes deal to eight stores
        ("layout=code data=2 parity=1 stores=0-3", 8, 30, 20),  # two nodes share each store
        ("layout=code data=1 parity=1 sites=2 far=10MB", 1, 110, 100),  # one near, one far
        ("layout=server", 1, 10, 10),
        ("layout=server", 4, 40, 40),
        ("layout=remote", 1, 100, 100),
        ("layout=remote", 20, 200, 200),  # below 10 MB/s the server is narrower than the path
        ("layout=submitter", 2, 2000, 2000),
        ("layout=local disk=200MB", 8, 5, 5),
    ],
)
def test_costs_by_hand(vault: str, size: int, pause: int, recovery: int) -> None:
    given = Parameters(nodes=8, checkpoint_overhead=7, vault=f"{vault} {PLAIN}")
    assert pause_of(size, given) == (7 + pause, recovery)


def test_compressing_may_take_longer_than_sending() -> None:
    given = Parameters(nodes=8, vault="layout=server size=1GB ratio=4 speed=20MB")
    assert pause_of(1, given) == (720 + 50, 50)
    assert pause_of(1, Parameters(nodes=8)) == (720, 0)


@pytest.mark.parametrize(
    ("vault", "said"),
    [
        ("layout=code", "more than 5 nodes to keep pieces, not 4"),
        ("layout=server fresh=0.5", "fresh=1"),
    ],
)
def test_what_a_vault_of_promises_cannot_be(vault: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Parameters(nodes=4, vault=vault)


def test_checkpoints_that_nobody_can_wait_for_are_refused() -> None:
    with pytest.raises(ParameterError, match="checkpoints of 4 nodes that take less than"):
        pause_of(4, Parameters(nodes=4, vault="layout=submitter size=1024TiB line=1"))


# ------------------------------------------------------------------------------ worlds by hand

LONG = [(0, 1, 3000, 3000)]
FIRST_FAILS = [(1500, 0, 5000, 0.5)]


def played(vault: str, failures: list[tuple[int, int, int, float]], **more: Any) -> Outcome:
    case = Case(more.pop("jobs", LONG), failures, more.pop("nodes", 3), 5, 1000)
    told = {"accuracy": 0.0, "checkpoint": "periodic", "vault": f"{vault} {PLAIN}", **more}
    return run(case, **told)


def runs(outcome: Outcome) -> list[tuple[int, ...]]:
    """Return (start, end, work begun with, work out of reach, lost) of each run."""
    names = ("start", "end", "resumed", "unrecovered", "lost")
    return [tuple(int(row[name]) for name in names) for row in outcome.runs]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_server_has_it_whatever_fails(policy: str) -> None:
    # Requests at 1000 and, after 10 s of recovery, at 2510; each pause takes 5 + 10 s.
    outcome = played("layout=server", FIRST_FAILS, policy=policy)
    assert runs(outcome) == [(0, 1500, 0, 0, 500), (1500, 3525, 1000, 0, 0)]
    assert outcome.saves is not None
    assert outcome.saves["work"].tolist() == [1000, 2000]


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_on_the_disk_of_a_node_that_is_down_is_lost(policy: str) -> None:
    outcome = played("layout=local", FIRST_FAILS, policy=policy)
    # From scratch: requests at 2500 and 3510.
    assert runs(outcome) == [(0, 1500, 0, 0, 500), (1500, 4520, 0, 1000, 0)]
    assert outcome.jobs["lost"].tolist() == [1500]
    assert outcome.saves is not None
    told = [(int(r["kind"]), int(r["start"]), int(r["work"])) for r in outcome.saves]
    assert told == [(0, 1000, 1000), (1, 1500, 0), (0, 2500, 1000), (0, 3510, 2000)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("parity", "resumed"), [(0, 0), (1, 1000)])
def test_a_piece_that_is_left_is_enough(policy: str, parity: int, resumed: int) -> None:
    # Node 0 sends to 1, or to 1 and 2; both 0 and 1 go, so that the job can run on 2 alone.
    failures = [(1500, 0, 5000, 0.5), (1500, 1, 5000, 0.5)]
    outcome = played(f"layout=code data=1 parity={parity}", failures, policy=policy)
    last = runs(outcome)[-1]
    assert last[2:] == (resumed, 1000 - resumed, 0)


def test_what_comes_back_in_time_can_be_had_again() -> None:
    # The job needs all nodes: it starts again as the last of them is back, at 2000.
    # A recovery takes 5 s, and one more pause 10 s.
    jobs, failures = [(0, 3, 3000, 3000)], [(1500, 0, 500, 0.5)]
    outcome = played("layout=local", failures, jobs=jobs)
    assert runs(outcome)[1][:4] == (2000, 4015, 1000, 0)


def test_the_one_before_is_gone_on_from() -> None:
    # Checkpoints at 1000 (to node 1, the next of node 0) and at 2015, as node 1 is down, to 2.
    failures = [(1100, 1, 600, 0.5), (2100, 0, 9000, 0.5), (2100, 2, 9000, 0.5)]
    outcome = played("layout=code data=1 parity=0", failures, nodes=3)
    assert runs(outcome)[-1][2:4] == (2000, 0)  # node 1 was back by 2015
    failures = [(1100, 1, 1000, 0.5), (2101, 0, 9000, 0.5), (2101, 2, 9000, 0.5)]
    outcome = played("layout=code data=1 parity=0", failures, nodes=3)
    assert runs(outcome)[-1][2:4] == (1000, 1000)
    outcome = played("layout=code data=1 parity=0 keep=1", failures, nodes=3)
    assert runs(outcome)[-1][2:4] == (0, 2000)


def test_a_save_that_a_failure_meets_counts_for_nothing() -> None:
    outcome = played("layout=server", [(1014, 0, 100, 0.5)])
    assert outcome.saves is not None
    first = outcome.saves[0]
    assert (first["start"], first["until"], first["complete"]) == (1000, 1014, 0)
    assert runs(outcome)[1][2] == 0
    assert runs(played("layout=server", [(1015, 0, 100, 0.5)]))[1][2] == 1000


# -------------------------------------------------------------------------- against a reference


def failing_case(seed: int) -> Case:
    """Return a case of few nodes that fail often, and for long enough to be missed."""
    rng = random.Random(seed)
    nodes = rng.randint(3, 9)
    lengths = sorted((rng.randint(0, 3000), rng.randint(1, 4000)) for _ in range(rng.randint(2, 9)))
    rows = [
        (at, rng.randint(1, nodes), runtime, runtime + rng.choice([0, 0, 900]))
        for at, runtime in lengths
    ]
    places = {(rng.randint(0, 9000), rng.randrange(nodes)) for _ in range(rng.randint(1, 40))}
    if rng.random() < 0.5:  # several at once
        places |= {(at, (node + 1) % nodes) for at, node in places}
    failures = [(*at, rng.choice([30, 300, 4000]), rng.random()) for at in sorted(places)]
    return Case(rows, failures, nodes, rng.choice([0, 5]), rng.choice([40, 200, 600]), seed)


def stores_of(case: Case, seed: int) -> str | None:
    """Return stores that fit the machine, mostly ones whose pieces may be out of reach."""
    rng = random.Random(seed)
    most = case.nodes - 1
    if most < 2 or rng.random() < 0.2:
        where = rng.choice(["local", "local", "server", "submitter"])
        return f"layout={where} size={rng.choice(['1MB', '300MB', '2GB'])} keep={rng.randint(1, 3)}"
    data = rng.randint(1, min(3, most - 1))
    parity = rng.randint(0, min(2, most - 1 - data))
    keep = data + parity + 1 + rng.randint(0, case.nodes - data - parity - 1)
    sites = rng.choice([1, 1, 2, min(3, case.nodes)])
    return (
        f"layout=code data={data} parity={parity} stores=0-{keep - 1} sites={sites} "
        f"size={rng.choice(['1MB', '300MB', '2GB'])} keep={rng.randint(1, 3)} near=50MB"
    )


def test_promises_against_the_plain_reference() -> None:
    seen: Counter[str] = Counter()
    for seed in range(500):
        case = failing_case(seed)
        rng = random.Random(seed)
        told = {
            "accuracy": rng.choice([0.0, 0.7]), "risk": rng.choice([0.0, 0.9]),
            "checkpoint": rng.choice(["risk", "periodic", "periodic"]),
            "vault": stores_of(case, seed),
        }  # fmt: skip
        outcome = run(case, **told)
        reference, begun = simulate_stored(
            case.jobs, case.failures, nodes=case.nodes, overhead=case.overhead,
            interval=case.interval, **told,
        )  # fmt: skip
        size = np.array([row[1] for row in case.jobs])
        owed = np.zeros(len(case.jobs), dtype=np.int64)
        mine = sorted(
            (int(r["job"]), int(r["start"]), int(r["resumed"]), int(r["unrecovered"]))
            for r in outcome.runs
        )
        assert mine == begun, (seed, told)
        for job, _, _, unrecovered in begun:
            owed[job] += unrecovered * size[job]
        reference.lost = (np.array(reference.lost) + owed).tolist()
        assert_same(outcome, reference, seed, told)
        seen["recoveries"] += sum(row[2] > 0 for row in begun)
        seen["from scratch"] += sum(row[3] > 0 and row[2] == 0 for row in begun)
        seen["from the one before"] += sum(row[3] > 0 and row[2] > 0 for row in begun)
    assert min(seen.values()) > 0, seen


# ----------------------------------------------------------------- certified, replayed, the same


def stored_result(seed: int, **more: Any) -> Result:
    case = failing_case(seed)
    rng = random.Random(seed)
    policy = rng.choice(["promise", *POLICIES])
    checkpoint = rng.choice(["risk", "periodic", "daly"])
    told = {"policy": policy, "checkpoint": checkpoint, "vault": stores_of(case, seed), **more}
    return result(case, **told)


def test_the_certifier_agrees_and_a_replay_decides_the_same(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(30):
        one = stored_result(seed, log_events=True)
        folder = one.save(tmp_path / str(seed), report=False)
        certificate = certify_promise(folder)
        assert certificate.passed, (seed, str(certificate))
        assert "".join(replay(folder)).encode() == (folder / "decisions.csv").read_bytes(), seed
        again = stored_result(seed)
        assert again.summary == one.summary
        policy = one.outcome.parameters.policy
        for name in ("saves", "broken_saves", "recoveries", "fallbacks"):
            seen[f"{policy} {name}"] += one.measures["vault"][name]
    for policy in POLICIES:
        assert seen[f"{policy} fallbacks"] > 0, seen
        assert seen[f"{policy} saves"] > 20, seen


@pytest.mark.parametrize(
    ("file", "column", "change", "rule"),
    [
        ("checkpoints.csv", "until", 1, "checkpoints in the vault"),
        ("checkpoints.csv", "work", 1, "checkpoints in the vault"),
        ("runs.csv", "resumed", 1, "checkpoints in the vault"),
        ("runs.csv", "unrecovered", 1, "lost"),
        ("failures.csv", "downtime", -300, "checkpoints in the vault"),
    ],
)
def test_what_cannot_have_happened_is_found(
    tmp_path: Path, file: str, column: str, change: int, rule: str
) -> None:
    case = Case(LONG, FIRST_FAILS, 3, 5, 1000)
    told = {"accuracy": 0.0, "checkpoint": "periodic", "vault": f"layout=local {PLAIN}"}
    folder = result(case, **told).save(tmp_path / "run", report=False)
    assert certify_promise(folder).passed
    table = pl.read_csv(folder / file)
    falsified = table.with_columns(
        pl.when(pl.int_range(pl.len()) == pl.len() - 1)
        .then((pl.col(column) + change).clip(1 if column == "downtime" else 0))
        .otherwise(pl.col(column))
        .alias(column)
    )
    if column == "downtime":
        falsified = table.with_columns(pl.lit(0).alias(column))
    falsified.write_csv(folder / file)
    failed = {check.name for check in certify_promise(folder).checks if not check.passed}
    assert any(rule in name for name in failed), failed
