"""Users who bargain: what each does, and that a run with them is one of the jobs that came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import InputError
from forestall.core.model.nodes import NodeSet
from forestall.core.model.quotes import Quote
from forestall.core.model.users import Population
from forestall.scheduling.simulation.run import Outcome, play
from forestall.scheduling.simulation.users import User, bargain, traits_of
from scheduling.simulation.cases import Case, cases, loaded_case, prepared, random_case, run


def bargained(case: Case, users: str, **more: Any) -> Outcome:
    """Return the run of a case with these users."""
    told = prepared(case, users=users, **more)
    return play(*told, population=told[2].population, log_events=True)


# ------------------------------------------------------------------------------- one user


def offer(deadline: int, probability: float) -> Quote:
    return Quote(0, deadline, probability, NodeSet())


FRONT = [offer(100, 0.5), offer(150, 0.8), offer(300, 0.9), offer(500, 0.99)]


def shown(by: int) -> list[Quote]:
    return [one for one in FRONT if one.deadline <= by]


def test_the_first_deadline_that_does_is_asked_for_no_further() -> None:
    asked = []

    def ask(by: int) -> list[Quote]:
        asked.append(by)
        return shown(by)

    deal = bargain(User(0.8, 400, 1.0, 4), 100, ask)
    assert asked == [100 + 50]
    assert (deal.asked, deal.shown, deal.row, deal.offer) == (1, 2, 2, FRONT[1])
    assert deal.worth == pytest.approx(1 - 50 / 400)
    asked.clear()
    deal = bargain(User(0.95, 400, 1.0, 4), 100, ask)
    assert asked == [150, 200, 300, 500]
    assert (deal.asked, deal.row, deal.offer, deal.worth) == (4, 4, FRONT[3], 0.0)


def test_who_finds_nothing_leaves() -> None:
    deal = bargain(User(0.95, 300, 1.0, 4), 100, shown)
    assert (deal.asked, deal.shown, deal.row, deal.offer) == (4, 3, 0, None)
    # Without patience there is one question.
    assert bargain(User(0.6, 0, 1.0, 4), 100, shown).asked == 1
    assert bargain(User(0.5, 0, 7.0, 4), 100, shown).worth == 7.0


def test_of_those_that_do_the_best_is_taken() -> None:
    # Waiting from 100 to 150 s costs an eighth of the value, and buys 0.3 of probability.
    assert bargain(User(0.0, 400, 1.0, 1), 100, shown).row == 2
    # Whose job is worth nothing takes the first.
    assert bargain(User(0.0, 400, 0.0, 1), 100, shown).row == 1


# ------------------------------------------------------------------------------- runs


@settings(max_examples=25, deadline=None)
@given(cases(), st.sampled_from([0.0, 0.3, 0.7, 0.9]))
def test_patient_users_with_one_least_probability_are_the_paper_s(case: Case, risk: float) -> None:
    plain = run(case, risk=risk, accuracy=1.0, log_events=True)
    mine = bargained(case, f"least={risk} patience=1e6 value=0 rounds=1", accuracy=1.0)
    assert mine.bargains is not None
    if int(mine.bargains["shown"].max()) >= 7:
        return  # of more than 7 offers not all are shown
    assert bool((mine.bargains["row"] > 0).all())
    for name in ("jobs", "promises", "deadlines", "runs", "ranges", "played"):
        assert getattr(mine, name).tobytes() == getattr(plain, name).tobytes(), name
    names = [n for n in plain.log.decisions.dtype.names if n != "reason"]
    for name in names:
        same = mine.log.decisions[name] == plain.log.decisions[name]
        assert bool(same.all()), name


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_run_is_that_of_the_jobs_that_came(seed: int) -> None:
    case = loaded_case(seed, jobs=200)
    users = "eager share=1 least=0.9 patience=0:2; calm share=1 least=0:0.95 patience=1:50 value=3"
    mine = bargained(case, users, accuracy=0.9)
    assert mine.bargains is not None
    took = mine.bargains["row"] > 0
    assert 0 < int(took.sum()) < len(took)
    taken = mine.bargains[took]
    assert mine.promises.tobytes() == np.ascontiguousarray(taken["probability"]).tobytes()
    assert mine.deadlines.tolist() == taken["deadline"].tolist()
    assert bool((taken["probability"] >= taken["least"]).all())
    assert bool((taken["deadline"] <= taken["latest"]).all())
    assert bool((mine.bargains["asked"] >= 1).all())
    # The jobs that left were never there: nobody runs for them, and places are those of the rest.
    assert set(mine.runs["job"].tolist()) == set(range(int(took.sum())))
    assert len(mine.workload.jobs) == int(took.sum())
    assert len(mine.jobs) == int(took.sum())
    again = bargained(case, users, accuracy=0.9)
    assert again.bargains is not None
    assert again.bargains.tobytes() == mine.bargains.tobytes()
    assert again.runs.tobytes() == mine.runs.tobytes()
    other = bargained(case, users, accuracy=0.9, seed=2)
    assert other.bargains is not None
    assert other.bargains["least"].tolist() != mine.bargains["least"].tolist()


def test_where_everybody_leaves_there_is_no_run() -> None:
    case = Case([(0, 1, 100, 100)] * 3, [(t, 0, 5, 0.5) for t in range(1, 400, 30)], nodes=1)
    with pytest.raises(InputError, match="all 3 users left"):
        bargained(case, "least=1 patience=0", accuracy=1.0)


def test_traits_come_from_streams_of_their_own() -> None:
    workload = prepared(random_case(4, jobs=60))[0]
    one = traits_of(Population.of("least=0.2:0.8 patience=1:2 value=5:6"), workload, 7)
    two = traits_of(Population.of("least=0.2:0.8 patience=3:9 value=1 rounds=2"), workload, 7)
    assert one.least.tolist() == two.least.tolist()
    assert 0.2 <= one.least.min() < one.least.max() <= 0.8
    assert 1 <= one.patience.min() < one.patience.max() <= 2
    assert set(two.value.tolist()) == {1.0}
    three = traits_of(Population.of("a share=1 least=0; b share=3 least=1"), workload, 7)
    assert three.kind.tolist() == three.least.tolist()
    assert 0.5 < three.kind.mean() < 0.95
