"""Who is asked for offers, what they say of themselves, and when they hold no more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.live.desk import JobOrder
from forestall.live.ledger.rows import OfferRow, PromiseRow
from forestall.live.quotes.offers import UNLEARNED, WantedJob
from forestall.live.slurm.quoting import wanted_job
from forestall.live.slurm.scripts import lines_of
from forestall.slurm.cluster.actions import Reserve, Submit
from forestall.slurm.cluster.limits import Association, ClusterLimits, Limit, QosLimits
from forestall.slurm.cluster.nouns import ClusterPartition
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
    job, controller = wanted_job(offer), one.controller
    with controller._to_ask(job) as asked:
        quoting = controller._quoting(asked, job)
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
    with pytest.raises((ParameterError, InputError)):
        one.controller.accept(offer.id, JOB.user, job)
    assert one.ledger.one(PromiseRow, offer.id) is None


def test_no_offer_is_certain() -> None:
    one = begun(KEEPER)
    told = one.controller.quote(JOB).offers
    assert told
    assert all(0 < offer.probability < 1 for offer in told)
    assert max(offer.probability for offer in told) > 0.99


def limited(one: Scenario, *, gpus: str = "", limits: ClusterLimits | None = None) -> None:
    """Let the last look have shown limits, or GPUs of the first four nodes."""
    known = one.controller._known
    assert known is not None
    nodes = {
        name: node._replace(gres=gpus if k < 4 else "")
        for k, (name, node) in enumerate(known.seen.nodes.items())
    }
    known.seen = replace(known.seen, nodes=nodes, limits=limits)


SITE = ClusterLimits(
    {
        "short": QosLimits((Limit("MaxWall", "time", 600), Limit("MaxTRES", "node", 1))),
        "large": QosLimits((Limit("MinTRES", "node", 4),)),
        "none": QosLimits((Limit("MaxJobsPU", "jobs", 0),)),
        "gpus": QosLimits((Limit("MaxTRES", "gres/gpu", 3),)),
        "normal": QosLimits(()),
    },
    {
        ("lab", "", ""): Association("", "", (), (Limit("GrpTRES", "node", 5),)),
        ("lab", "ann", ""): Association("", "", ("normal", "short"), ()),
        ("lab", "bob", ""): Association("", "short", ("normal", "short"), ()),
    },
    {"ann": "lab", "bob": "lab"},
)


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (JOB, ""),
        (replace(JOB, user="eve"), ""),
        (replace(JOB, user="bob"), "QOS short allows 10 min (MaxWall); 15 min are asked for"),
        (
            replace(JOB, user="bob", time=600),
            "QOS short allows 1 node (MaxTRES); 2 nodes are asked for",
        ),
        (replace(JOB, nodes=6), "account lab allows 5 nodes (GrpTRES); 6 nodes are asked for"),
    ],
)
def test_a_job_that_slurm_would_never_start_has_no_offer(job: WantedJob, said: str) -> None:
    one = begun(KEEPER)
    assert one.controller.quote(job).offers, "without the limits it has"
    limited(one, limits=SITE)
    told = one.controller.quote(job)
    assert told.said == said
    assert bool(told.offers) == (not said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--qos=short", "QOS short allows 10 min (MaxWall); 15 min are asked for"),
        ("-q large", "QOS large takes jobs from 4 nodes on (MinTRES)"),
        ("-q none", "QOS none starts no jobs (MaxJobsPU=0)"),
        ("-q gpus --gres=gpu:2", "QOS gpus allows 3 GPUs (MaxTRES); 4 GPUs are asked for"),
        ("--gres=gpu:5", "no node in main has 5 GPUs; the most is 4"),
        ("--gpus=a100:2", "no node in main has 1 a100 GPU; the most is 0"),
        ("--gpus-per-node=2", "only 4 of 12 nodes in main have 2 GPUs, and the offer counted all"),
    ],
)
@pytest.mark.parametrize("by_owner", [False, True])
def test_what_a_script_asks_for_counts_when_an_offer_is_taken(
    line: str, said: str, by_owner: bool
) -> None:
    one = begun(KEEPER)
    [offer, *_] = one.controller.quote(JOB).offers
    limited(one, gpus="gpu:4", limits=SITE)
    order = JobOrder(f"#!/bin/sh\n#SBATCH {line}\n")
    if by_owner:
        order = JobOrder(asks=lines_of(order.script).asked)
    with pytest.raises(InputError) as raised:
        one.controller.accept(offer.id, JOB.user, order)
    assert str(raised.value).startswith(said)
    assert one.ledger.one(PromiseRow, offer.id) is None
    plain = JobOrder("#!/bin/sh\n#SBATCH --gres=gpu:0\n")
    assert one.controller.accept(offer.id, JOB.user, plain)


def test_gpus_that_all_nodes_have_are_no_obstacle() -> None:
    one = begun(KEEPER)
    [offer, *_] = one.controller.quote(JOB).offers
    known = one.controller._known
    assert known is not None
    nodes = {name: node._replace(gres="gpu:2") for name, node in known.seen.nodes.items()}
    known.seen = replace(known.seen, nodes=nodes)
    assert one.controller.accept(offer.id, JOB.user, JobOrder("#!/bin/sh\n#SBATCH --gres=gpu:2\n"))


def test_a_qos_may_lift_the_limits_of_a_partition() -> None:
    one = begun(KEEPER)
    lifts = QosLimits((), frozenset({"PartitionTimeLimit"}))
    known = one.controller._known
    assert known is not None
    parts = {"main": ClusterPartition("main", longest=600)}
    known.seen = replace(known.seen, partitions=parts)
    assert "allows 10 min" in one.controller.quote(JOB).said
    known.seen = replace(known.seen, limits=replace(SITE, qos={"normal": lifts}))
    assert one.controller.quote(JOB).offers


def test_quotes_are_made_while_a_look_is_taken_in() -> None:
    """From what was known before it; and the same as then."""
    one = begun(KEEPER)
    controller = one.controller
    before = controller.quote(JOB)
    with controller._lock, controller._set_aside(), ThreadPoolExecutor(1) as other:
        told = other.submit(controller.quote, JOB).result(60)
    figures = [(row.start, row.deadline, row.probability, row.held) for row in before.offers]
    assert [(row.start, row.deadline, row.probability, row.held) for row in told.offers] == figures
    assert figures
    assert {row.id for row in told.rows}.isdisjoint(row.id for row in before.rows)


def test_a_quote_for_nodes_of_which_nobody_asked_waits_for_the_look() -> None:
    one = begun(KEEPER)
    controller = one.controller
    new = replace(JOB, features="never_heard_of")
    with ThreadPoolExecutor(1) as other:
        with controller._lock, controller._set_aside():
            waits = other.submit(controller.quote, new)
            with pytest.raises(TimeoutError):
                waits.result(0.3)
        assert "never_heard_of" in waits.result(60).said
