"""What must hold of every run whose checkpoints a vault keeps; and a plain, slow reading of the
rule of what can be recovered, which every restore is held against."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.cycle import StayEnd
from forestall.core.model.errors import ParameterError
from forestall.runs.replay import replay
from forestall.sharing.certify.certifier import certify_cycle
from forestall.sharing.report.result import CycleResult
from forestall.sharing.simulation.outcome import CycleOutcome
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle
from sharing.simulation.cycle_cases import Case, daily_case, prepared, random_case
from sharing.simulation.test_invariants import by, states_between

FEW = settings(max_examples=30)
CASES = st.tuples(
    st.one_of(st.integers(0, 10**6).map(random_case), st.integers(0, 10**6).map(daily_case)),
    st.integers(0, 10**6),
)
SAVE, LAST, RESTORE = range(3)


def vault_of(seed: int) -> str:
    """Return settings of every kind, and of sizes that matter in worlds of minutes."""
    rng = random.Random(seed)
    data, parity = rng.choice([(1, 0), (1, 1), (2, 1), (2, 0), (1, 2)])
    parts = {
        "layout": rng.choice(["code", "code", "code", "server", "remote", "submitter", "local"]),
        "data": data,
        "parity": parity,
        "choice": rng.choice(["rule", "rule", "next"]),
        "size": rng.choice([1, 10**6, 10**8, 10**9]),
        "ratio": rng.choice([1.0, 2.5]),
        "fresh": rng.choice([1.0, 0.5, 0.1]),
        "full": rng.choice([1, 2, 3, 8]),
        "keep": rng.choice([1, 2, 3]),
        "sites": rng.choice([1, 2, 3]),
        "far": rng.choice([10**6, 10**7]),
        "grace": rng.choice([0, 1, 20, 600]),
    }
    return " ".join(f"{name}={value}" for name, value in parts.items())


def played(case: Case, seed: int, **options: Any) -> CycleOutcome | None:
    """Return what comes of a case with a vault, None where its hosts are too few for one."""
    more = {"vault": vault_of(seed), "restart": "checkpoint"}
    if case.settings.get("scheduler") == "omniscient":
        more["scheduler"] = "condor"
    jobs, hosts, parameters = prepared(replace(case, settings={**case.settings, **more}))
    try:
        return play_cycle(prepare_guests(jobs, hosts, parameters), hosts, parameters, **options)
    except ParameterError as error:
        if "hosts to keep pieces" not in str(error):
            raise
        return None


def rows_of(outcome: CycleOutcome) -> dict[int, list[tuple[Any, list[int]]]]:
    """Return the transfers of each job with their stores, in order."""
    assert outcome.stored is not None
    found: dict[int, list[tuple[Any, list[int]]]] = defaultdict(list)
    for row, at in zip(outcome.stored.transfers, outcome.stored.places.tolist(), strict=True):
        found[int(row["job"])].append((row, [one for one in at if one >= 0]))
    return found


def can_be_had(
    outcome: CycleOutcome, versions: list[tuple[Any, list[int]]], which: int, time: int, needed: int
) -> bool:
    """Return whether a version can be recovered at a time: by the words of the rule. Of the version
    and of each older one down to the first that it leans on, at least `needed` stores are not away;
    what is no shared host never is."""
    hosts = len(outcome.hosts)
    base = int(versions[which][0]["base"])
    for row, stores in versions[: which + 1]:
        if row["version"] < base:
            continue
        there = 0
        for store in stores:
            state = 0 if store == hosts else states_between(outcome, store, time, time + 1)[0]
            there += state != 4
        if there < needed:
            return False
    return True


@FEW
@given(CASES)
def test_nothing_is_gone_on_from_that_cannot_be_recovered(drawn: tuple[Case, int]) -> None:
    outcome = played(*drawn)
    if outcome is None:
        return
    stores = outcome.parameters.stores
    assert stores is not None
    transfers = rows_of(outcome)
    for job, stays in by(outcome.stays, "job").items():
        versions: list[tuple[Any, list[int]]] = []
        mine = transfers[job]
        for stay in stays:
            start, end = int(stay["start"]), int(stay["end"])
            oldest = max(len(versions) - stores.keep, 0)
            place = next(
                (k for k in range(len(versions) - 1, oldest - 1, -1)
                 if can_be_had(outcome, versions, k, start, stores.needed)), -1,
            )  # fmt: skip
            versions = versions[: place + 1]
            assert stay["resumed"] == (versions[-1][0]["work"] if versions else 0), drawn
            for row, at in mine:
                inside = start <= row["start"] < end and row["kind"] != LAST
                inside |= row["kind"] == LAST and row["start"] == end
                if inside and row["kind"] != RESTORE and row["complete"]:
                    versions.append((row, at))
                    least = versions[max(len(versions) - stores.keep, 0)][0]["base"]
                    versions = [one for one in versions if one[0]["version"] >= least]


@FEW
@given(CASES)
def test_work_is_conserved(drawn: tuple[Case, int]) -> None:
    outcome = played(*drawn)
    if outcome is None:
        return
    need = outcome.workload.work
    for job, stays in by(outcome.stays, "job").items():
        kept = 0
        for stay in stays:
            resumed, work = int(stay["resumed"]), int(stay["work"])
            assert 0 <= resumed <= kept
            assert resumed + work <= need[job]
            behind = kept - resumed
            if stay["ended"] == StayEnd.COMPLETED:
                assert resumed + work == stay["saved"] == need[job]
                assert stay["lost"] == behind
            elif stay["ended"] == StayEnd.UNFINISHED:
                assert stay["lost"] == behind
            else:
                assert resumed <= stay["saved"] <= resumed + work < need[job]
                assert stay["lost"] == behind + resumed + work - stay["saved"]
            kept = int(stay["saved"])
        if stays[-1]["ended"] == StayEnd.COMPLETED:
            assert sum(int(one["work"] - one["lost"]) for one in stays) == need[job]


@FEW
@given(CASES)
def test_pieces_go_to_hosts_that_are_there_and_not_to_the_guests_own(
    drawn: tuple[Case, int],
) -> None:
    outcome = played(*drawn)
    if outcome is None or outcome.parameters.stores is None:
        return
    stores, hosts = outcome.parameters.stores, len(outcome.hosts)
    for rows in rows_of(outcome).values():
        for row, at in rows:
            count = stores.needed if row["kind"] == RESTORE else stores.pieces
            assert len(at) == len(set(at)) == count
            assert row["until"] > row["start"] or not row["complete"]
            if stores.layout != "code":
                continue
            start = int(row["start"])
            states = {states_between(outcome, one, start, start + 1)[0] for one in at}
            assert max(at) < hosts
            if row["kind"] == RESTORE:
                assert 4 not in states
            else:
                assert states <= {0, 1}
                assert row["host"] not in at


@settings(max_examples=12)
@given(CASES)
def test_the_certifier_agrees_and_a_replay_decides_the_same(drawn: tuple[Case, int]) -> None:
    outcome = played(*drawn, log_events=True)
    if outcome is None:
        return
    folder = CycleResult(outcome, {}).save(Path("run"), report=False)
    certificate = certify_cycle(folder)
    assert certificate.passed, certificate
    assert replay(folder).same


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@settings(max_examples=15)
@given(CASES)
def test_same_inputs_same_bytes_with_or_without_a_log(drawn: tuple[Case, int]) -> None:
    one, two = played(*drawn), played(*drawn, log_events=True)
    if one is None or two is None:
        assert one is two
        return
    assert one.stored is not None
    assert two.stored is not None
    assert np.array_equal(one.stays, two.stays)
    assert np.array_equal(one.stored.transfers, two.stored.transfers)
    assert np.array_equal(one.stored.places, two.stored.places)


def test_random_cases_hold_what_is_hard() -> None:
    seen: dict[str, int] = defaultdict(int)
    for seed in range(150):
        case = random_case(seed) if seed % 3 else daily_case(seed)
        outcome = played(case, seed)
        if outcome is None:
            seen["too few hosts"] += 1
            continue
        assert outcome.stored is not None
        rows = outcome.stored.transfers
        for kind, name in enumerate(("save", "last", "restore")):
            for complete in (0, 1):
                found = (rows["kind"] == kind) & (rows["complete"] == complete)
                seen[f"{name} {complete}"] += int(found.sum())
        leaning = (rows["base"] < rows["version"]).sum()
        seen["leaning"] += int(leaning)
        seen["skipped"] += outcome.stored.skipped
        for stays in by(outcome.stays, "job").values():
            for before, after in pairwise(stays):
                seen["behind"] += int(after["resumed"] < before["saved"])
    del seen["last 0"]  # a last checkpoint is only begun where it is over in time
    assert min(seen.values()) >= 2, dict(seen)
