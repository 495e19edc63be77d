"""Brandt et al.: the claims on small machines, the paper's own counts, and the files written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import kstest

from forestall.core.model.errors import TraceError
from forestall.prediction.assess.roc import area
from forestall.prediction.assess.significance import permutation
from studies.assessment import STUDY, Plan, paper
from studies.assessment.claims import Played, saved, truth, uniform_p
from studies.assessment.figures import NAMES
from studies.assessment.scenario import Machine, play, sample_of
from studies.kit.study import Reproduction
from study_calls import told_by

SMALL = Plan(
    nodes=96, days=8, period=300, repeats=3, repeat_period=600, nulls=12, null_nodes=48, draws=500
)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Reproduction[Played]:
    pytest.importorskip("matplotlib")
    steps: list[tuple[int, int]] = []
    out = tmp_path_factory.mktemp("assessment") / "deep"
    found = STUDY.reproduce(out, plan=SMALL, progress=lambda a, b: steps.append((a, b)))
    assert steps[-1] == (SMALL.steps, SMALL.steps)
    assert [a for a, _ in steps] == [*range(1, SMALL.steps), SMALL.steps]
    return found


def test_a_sample_of_the_papers_size_and_area() -> None:
    rng = np.random.default_rng(1)
    scores, failed = sample_of(paper.CASES[0], paper.CASES[1], paper.AREA, rng)
    assert (int(failed.sum()), len(failed)) == (479, 1019)
    assert area(scores, failed) == pytest.approx(paper.AREA, abs=5e-6)
    found = permutation(scores, failed, paper.DRAWS, rng=rng)
    assert found.exceed <= 5  # the paper: 2; 0.9 are expected
    assert found.p_normal == pytest.approx(3.1e-4, rel=0.05)


def test_every_claim_has_a_verdict(done: Reproduction[Played]) -> None:
    claims = {claim.name: claim for claim in done.claims}
    assert len(claims) == len(done.claims) == 12
    for claim in done.claims:
        assert claim.measured
        assert claim.why
        assert claim.verdict in ("confirmed", "in part", "not confirmed")
    for name in ("significance", "rise", "action_cost"):
        assert claims[name].verdict == "confirmed", claims[name]
    assert claims["bias"].verdict in ("confirmed", "in part")


def changed(played: Played, **told: Callable[[Machine], float]) -> Played:
    """Return what was found with another truth."""
    machines = (
        replace(one, truth=replace(one.truth, **{name: of(one) for name, of in told.items()}))
        for one in (played.main, *played.related)
    )
    main, *related = machines
    return replace(played, main=main, related=tuple(related))


def test_claims_about_the_truth_go_by_it(done: Reproduction[Played]) -> None:
    found = done.found
    all_memory = changed(
        found, killed=lambda one: one.truth.failed, found=lambda one: one.truth.failed
    )
    blind = changed(found, area_killed=lambda one: 0.5, found=lambda one: 0)
    assert [truth(one).verdict for one in (found, all_memory, blind)] == [
        "in part", "confirmed", "not confirmed",
    ]  # fmt: skip
    one_factor = changed(found, lost=lambda one: 1.0, caught=lambda one: one.part)
    more = changed(
        found, lost=lambda one: 2 * float(one.occasions.gain.sum()), caught=lambda one: 0
    )
    assert [saved(one).verdict for one in (one_factor, more)] == ["confirmed", "not confirmed"]


def test_what_was_put_in_is_found_again(done: Reproduction[Played]) -> None:
    machines = (done.found.main, *done.found.related)
    killed = sum(one.truth.killed for one in machines)
    assert killed > 15
    assert sum(one.truth.found for one in machines) > 0.8 * killed
    areas = [one.truth.area_killed for one in machines]
    assert np.mean(areas) > 0.7
    assert np.mean(areas) > np.mean([one.area.auc for one in machines]) + 0.1
    lost = sum(one.truth.lost for one in machines)
    assert sum(one.truth.caught for one in machines) > 0.6 * lost


def test_without_a_relation_nothing_was_killed(done: Reproduction[Played]) -> None:
    for one in (*done.found.unrelated, *done.found.nulls):
        assert (one.truth.killed, one.truth.lost) == (0, 0)
    areas = [one.area.auc for one in (*done.found.unrelated, *done.found.nulls)]
    assert np.mean(areas) == pytest.approx(0.5, abs=0.04)


def test_the_files(done: Reproduction[Played]) -> None:
    names = {path.name for path in done.files}
    assert names == {*NAMES, "claims.csv", "machines.csv", "policies.csv", "verdict.md"}
    assert {path.name for path in done.folder.iterdir()} == names
    table = pl.read_csv(done.folder / "machines.csv")
    assert len(table) == 1 + 2 * SMALL.repeats + SMALL.nulls
    text = (done.folder / "verdict.md").read_text()
    for claim in done.claims:
        assert claim.claim in text
    assert all(f"]({name})" in text for name in NAMES)


def test_what_is_told_is_what_was_told_before(done: Reproduction[Played]) -> None:
    """Hashes of the texts."""
    assert told_by(done.folder, "claims.csv", "verdict.md") == [
        "3ed53a5790a284d3", "72929329a076bd5c",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_same_bytes_twice(done: Reproduction, tmp_path: Path) -> None:
    again = STUDY.reproduce(tmp_path, plan=SMALL)
    for path, other in zip(done.files, again.files, strict=True):
        assert path.read_bytes() == other.read_bytes(), path.name


def test_uniform_as_scipy_has_it() -> None:
    rng = np.random.default_rng(3)
    for values in (rng.random(66), rng.random(66) ** 1.5, rng.random(300)):
        expected = kstest(values, "uniform", method="exact").pvalue
        assert uniform_p(values) == pytest.approx(expected, abs=0.02)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot be a folder"):
        STUDY.reproduce(tmp_path / "file", plan=SMALL)


@pytest.mark.slow
def test_the_machine_of_the_paper() -> None:
    found = play(1, Plan(), nodes=paper.NODES, period=60)
    for ours, theirs in zip(found.periods.counts(), paper.CASES, strict=True):
        assert ours == pytest.approx(theirs, rel=0.1)
    assert found.truth.failed == paper.FAILED
    assert found.chance.p_value < 0.01
    assert found.area.low > 0.5
    assert found.part > 0.5  # most of the gain from a fifth of the periods
    assert found.part < found.blind_part + 0.15  # and most of that is attribution
