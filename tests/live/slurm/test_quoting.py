"""Who is asked for offers, what they say of themselves, and when they hold no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forestall.live.ledger.rows import OfferRow, PromiseRow
from forestall.live.quotes.offers import UNLEARNED, WantedJob
from forestall.live.slurm.quoting import wanted_job
from forestall.model.cluster.actions import Reserve, Submit
from forestall.model.errors import InputError, ParameterError
from forestall.model.live.desk import JobOrder
from live.slurm.scenarios import Scenario

JOB = WantedJob(2, 900, user="ann")
KEEPER, ADVISOR = 15, 10
"""Seeds of calm scenarios with the keeper on (which asks the book from the first job that ended),
and with none."""


def begun(seed: int, steps: int = 1) -> Scenario:
    one = Scenario(seed, calm=True)
    for _ in range(steps):
        one.world.advance(one.world.state.now + 60)
        one.controller.cycle()
    return one


def test_an_advisor_who_learned_nothing_says_so() -> None:
    one = begun(ADVISOR)
    assert one.controller.site.ended == 0
    offers = one.controller.quote(JOB).offers
    assert offers
    for offer in offers:
        assert offer.held == 0
        assert UNLEARNED in offer.reasons


def test_an_advisors_offers_rest_on_the_book_alone() -> None:
    one = begun(ADVISOR, 120)
    assert one.controller.site.ended > 0
    offers = one.controller.quote(JOB).offers
    assert offers
    assert all(not offer.held and offer.reasons[0] == "start not held" for offer in offers)
    deadlines = [offer.deadline for offer in offers]
    assert deadlines == sorted(deadlines)
    assert max(offer.probability for offer in offers) < 1.0
    record = offers[0].record
    assert set(record) == {"low", "high", "made", "kept"}


def test_a_keeper_holds_what_the_engine_plans() -> None:
    one = begun(KEEPER)
    first = one.controller.quote(JOB).offers[0]
    assert (first.held, first.reasons[0]) == (1, "start held by a reservation")


@pytest.mark.parametrize("seed", [KEEPER, ADVISOR])
def test_a_job_without_a_partition_is_the_default_ones(seed: int) -> None:
    one = begun(seed, 2)
    offer = one.controller.quote(JOB).offers[0]
    assert offer.question["partition"] == "main"
    _, number = one.controller.accept(offer.id, "ann", JobOrder("#!/bin/sh\n"))
    (deed,) = [deed.action for deed in one.world.state.deeds if isinstance(deed.action, Submit)]
    assert deed.partition == "main"
    assert one.world.state.jobs[number].partition == "main"
    reserved = [deed.action for deed in one.world.state.deeds if isinstance(deed.action, Reserve)]
    assert all(action.partition == "main" for action in reserved)


def test_only_nodes_of_the_default_partition_count() -> None:
    one = begun(ADVISOR)
    state = one.world.state
    for name in list(state.nodes)[2:]:
        state.nodes[name] = state.nodes[name]._replace(partitions=("big",))
    one.world.advance(state.now + 60)
    one.controller.cycle()
    assert "in main: there are 2" in one.controller.quote(replace(JOB, nodes=3)).said
    assert "there are 2" not in one.controller.quote(replace(JOB, nodes=3, partition="big")).said


def test_a_deadline_that_is_named() -> None:
    one = begun(ADVISOR, 120)
    now = one.cluster.clock
    told = one.controller.quote(JOB, by=now + 4 * 3600, least=0.7)
    assert told.by is not None
    assert told.by.deadline <= now + 4 * 3600
    assert all(offer.probability >= 0.7 for offer in told.offers)
    near = one.controller.quote(JOB, by=now + 600, least=0.7)
    assert near.by is None or near.by.probability < told.by.probability
    assert {row.id for row in one.ledger.read(OfferRow)} == {
        row.id for row in (*told.rows, *near.rows)
    }
    with pytest.raises(ParameterError, match="by"):
        one.controller.quote(JOB, by=now)


@pytest.mark.parametrize("seed", [KEEPER, ADVISOR])
def test_an_offer_holds_until_it_expires(seed: int) -> None:
    one = begun(seed, 120)
    offer = one.controller.quote(replace(JOB, nodes=1)).offers[-1]
    quoting = one.controller._quoting(one.controller._mind, one.controller._books)  # type: ignore[arg-type]
    job = wanted_job(offer)
    assert quoting.holds_still(offer, job, offer.at)
    better = replace(offer, probability=1.0, before=1.1)
    assert not quoting.holds_still(better, job, offer.at)
    elsewhere = wanted_job(offer, partition="nowhere")
    assert not quoting.holds_still(offer, elsewhere, offer.at)
    one.world.advance(offer.expires)
    one.controller.cycle()
    with pytest.raises(InputError, match="expired"):
        one.controller.accept(offer.id, "ann", JobOrder("#!/bin/sh\n"))


def test_too_large_a_job_is_told_why_it_has_no_offer() -> None:
    told = begun(KEEPER).controller.quote(replace(JOB, nodes=99))
    assert told.rows == ()
    assert told.said == "no job can have 99 nodes in main: there are 12"


@pytest.mark.parametrize(
    "job",
    [
        JobOrder("no shebang"), JobOrder("#!/bin/sh\0"), JobOrder("#!/bin/sh", name="a\0"),
        JobOrder("#!/bin/sh", partition="a b"),
    ],
    ids=range(4),
)  # fmt: skip
def test_what_cannot_be_submitted_is_promised_to_nobody(job: JobOrder) -> None:
    one = begun(KEEPER)
    [offer, *_] = one.controller.quote(JOB).offers
    with pytest.raises(ParameterError):
        one.controller.accept(offer.id, JOB.user, job)
    assert one.ledger.one(PromiseRow, offer.id) is None


def test_no_offer_is_certain() -> None:
    one = begun(KEEPER)
    told = one.controller.quote(JOB).offers
    assert told
    assert all(0 < offer.probability < 1 for offer in told)
    assert max(offer.probability for offer in told) > 0.99
