"""The list that a user chooses from: none of it is beaten by another, and each row says why."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.quotes import DecileRecord, Offer
from forestall.live.quotes.offers import OfferSources, WantedJob, answer, front, offers, unknown
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, rules_of
from forestall.site.learning.turnaround.book import CompletionBook


def engine() -> Engine:
    """Return a machine of two nodes, both of which are predicted to fail now and then."""
    times, nodes = [50, 90, 300, 340, 700], [0, 1, 0, 1, 0]
    seen = Failures.build(times, nodes, [10] * 5, [0.6, 0.7, 0.3, 0.4, 0.1])
    foreseen = foreseen_by(TracePredictor(1.0), seen, 0)
    return Engine(2, rules_of(Parameters(nodes=2, risk=0.5)), foreseen, 0, validate=True)


def book() -> CompletionBook:
    """Return a book of jobs that waited for 10 s and ran for 40 s to 128 s."""
    made = CompletionBook({"warm": 0.0}, learn=False)
    for k in range(120):
        made.submit(k, 200 * k, nodes=2, limit=150, user="ann")
        made.quote(k, probability=0.9)
        made.observe("start", k, 200 * k + 10)
        made.observe("end", k, 200 * k + 50 + 37 * k % 89)
    return made


JOB = WantedJob(nodes=2, time=100, user="ann")


def beaten(one: Offer, two: Offer) -> bool:
    """Return whether an offer is in nothing better than another, and in something worse."""
    mine = (one.start, one.deadline, -one.probability)
    theirs = (two.start, two.deadline, -two.probability)
    return mine != theirs and all(a >= b for a, b in zip(mine, theirs, strict=True))


def test_held_offers_are_those_of_the_engine_with_their_record() -> None:
    asked, record = engine(), DecileRecord(0.9, 1.0, 412, 371)
    found = offers(JOB, 0, OfferSources(asked, record=lambda _: record))
    quotes = asked.offers(2, 100, 100, 0)
    assert [(one.start, one.deadline, one.probability) for one in found] == [
        (one.start, one.deadline, one.probability) for one in quotes
    ]
    assert len(found) >= 2
    assert all(
        one.held and one.record.brief == "stated 90 to 100 %: 412, kept 371" for one in found
    )
    assert found[0].reasons[0] == "start held by a reservation"
    for before, one in pairwise(found):
        points = 100 * (one.probability - before.probability)
        assert one.reasons[-1].endswith(
            f"later than the row above, {points:.1f} points more probable"
        )


def test_of_both_sources_none_is_beaten_and_nothing_changes() -> None:
    asked, kept = engine(), book()
    before, now = kept.state()[1]["jobs"].tobytes(), kept.now
    sources = OfferSources(asked, kept)
    assert [one.start for one in offers(JOB, now, OfferSources(asked))] == [now]
    found = offers(JOB, now, sources)
    assert found == offers(JOB, now, sources)
    assert 2 <= len(found) <= 7
    assert {one.held for one in found} == {True, False}
    assert not any(beaten(one, two) for one in found for two in found)
    assert [one.deadline for one in found] == sorted(one.deadline for one in found)
    assert all(one.reasons and str(one.record) for one in found)
    assert kept.state()[1]["jobs"].tobytes() == before
    assert asked.jobs == 0
    few = offers(JOB, now, sources, most=3)
    assert len(few) == 3
    assert (few[0].deadline, few[-1].probability) == (found[0].deadline, 1.0)


def test_a_deadline_has_its_probability_and_the_nearest_that_would_do() -> None:
    kept = book()
    now = kept.now
    said = answer(JOB, now, OfferSources(book=kept), by=now + 80, least=0.9)
    assert said.by is not None
    assert said.by.deadline == now + 80
    assert (
        said.by.probability
        == kept.ask(now, nodes=2, limit=100, user="ann", deadlines=(now + 80,))[0].probability
    )
    assert said.offers[0].probability == 0.9
    assert all(one.probability >= 0.9 for one in said.offers)
    held = answer(JOB, 0, OfferSources(engine()), by=120, least=0.5)
    assert held.by is not None
    assert held.by.held
    assert held.by.deadline <= 120
    assert answer(JOB, 0, OfferSources(engine()), by=99).by is None
    # Asked again with a later deadline it answers again.
    later = [answer(JOB, 0, OfferSources(engine()), by=by).by for by in (120, 500, 5000)]
    chances = [one.probability for one in later if one is not None]
    assert len(chances) == 3
    assert chances == sorted(chances)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(4, 9), st.integers(0, 5), st.booleans()),
        max_size=12,
    )
)
def test_the_front_has_all_that_is_not_beaten(rows: list[tuple[int, int, int, bool]]) -> None:
    found = [Offer(a, d, p / 5, held, unknown(p / 5)) for a, d, p, held in rows]
    best = front(found)
    assert not any(beaten(one, two) for one in best for two in found)
    for one in found:
        assert any(
            (one.start, one.deadline, one.probability) == (two.start, two.deadline, two.probability)
            or beaten(one, two)
            for two in best
        )


def test_what_cannot_be_asked() -> None:
    with pytest.raises(ParameterError, match="one of them"):
        OfferSources()
    sources = OfferSources(engine())
    with pytest.raises(ParameterError, match="a moment after"):
        answer(JOB, 5, sources, by=5)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        answer(JOB, 5, sources, by=9, least=1.0)
    with pytest.raises(ParameterError, match="at least 1"):
        offers(JOB, 5, sources, most=0)
    assert offers(WantedJob(nodes=3, time=10), 5, sources) == ()
    assert unknown(0.95).brief == "stated 90 to 100 %: none settled yet"
