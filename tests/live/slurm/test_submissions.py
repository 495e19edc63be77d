"""Jobs that owners submit: whose tag it is, and whether the job is the one that was promised."""

from __future__ import annotations

from typing import Any

import pytest

from forestall.core.model.marks import Mark
from forestall.live.ledger.rows import OfferRow, PromiseRow
from forestall.live.slurm.sight import carriers
from forestall.live.slurm.submissions import (
    BY_OWNER,
    OwnerJob,
    Seals,
    claims_of,
    mismatch,
    sbatch_options,
    stray_tags,
)
from forestall.slurm.cluster.nouns import ClusterJob, ClusterView
from live.slurm.test_reconcile import NOW, job

SEALS = Seals(b"k" * 16)
PROMISE = PromiseRow("ab1", NOW, "ab1", BY_OWNER, "ann", NOW + 3600, 0.9, 1, [])
QUESTION = {"nodes": 2, "time": 600, "partition": "main", "features": "ib"}
OFFER = OfferRow(
    "ab1", NOW, NOW + 300, "ann", QUESTION, 2, 600, NOW, NOW + 3600, 0.9, 0.9, [], {}, 1
)  # fmt: skip
SEAL = SEALS.of("ab1", "ann")


def waiting(number: int = 7, **changed: Any) -> ClusterJob:
    told = {"node_count": 2, "limit": 600, "partition": "main", "features": "ib", "submit": NOW,
            "comment": f"forestall:ab1.{SEAL}", "priority": 9, **changed}  # fmt: skip
    return job(number, **told)


def test_options_carry_the_tag() -> None:
    found = sbatch_options(PROMISE, OFFER, SEAL, "forestall_ab1", ("n2", "n3"))
    assert found == (
        f"--comment=forestall:ab1.{SEAL}", "--nodes=2", "--time=10", "--partition=main",
        "--constraint=ib", "--reservation=forestall_ab1", "--exclude=n[2-3]",
    )  # fmt: skip
    mark = Mark.parse(found[0].removeprefix("--comment=") + " my words", "")
    assert (mark.promise, mark.seal) == ("ab1", SEAL)


def test_seals_depend_on_key_promise_and_owner() -> None:
    others = {SEALS.of("ab2", "ann"), SEALS.of("ab1", "bob"), Seals(b"x" * 16).of("ab1", "ann")}
    assert SEAL not in others
    assert len(others) == 3
    assert len(SEAL) == 32


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"limit": 300}, ""),
        ({"array": 7}, "it is an array, and a promise covers one job"),
        ({"node_count": 8}, "it asks for 8 nodes; the offer is for 2 nodes"),
        ({"node_count": 1}, "it asks for 1 node; the offer is for 2 nodes"),
        ({"limit": 660}, "it has a limit of 11 min; the offer is for 10 min"),
        ({"limit": None}, "it has no time limit; the offer is for 10 min"),
        ({"partition": "fast"}, "it is in partition fast; the offer is for main"),
        ({"features": ""}, "it asks for no features; the offer is for ib"),
        ({"reason": "Dependency"}, "it waits for another job; the offer counted on its start"),
        ({"reason": "BeginTime"}, "it may not begin before a time of its own; the offer counted"),
        ({"priority": 0, "reason": "JobHeldUser"}, "it is held, and a held job cannot keep"),
        ({"submit": NOW + 301}, "it was submitted 1 s after the offer expired"),
        ({"submit": NOW + 301, "restarts": 1}, ""),
    ],
)
def test_whether_a_job_is_the_one_that_was_promised(changed: dict[str, Any], said: str) -> None:
    found = mismatch(waiting(**changed), OFFER)
    assert found == said if not said else found.startswith(said)


@pytest.mark.parametrize(
    ("changed", "carries"),
    [
        ({}, True),
        ({"user": "bob"}, False),  # somebody copied it
        ({"comment": "forestall:ab1"}, False),  # without its seal
        ({"comment": "forestall:ab1." + "0" * 32}, False),
        ({"comment": f"forestall:ab1.{SEALS.of('ab1', 'bob')}"}, False),
        ({"comment": f"x forestall:ab1.{SEAL}"}, False),  # not at its begin
        ({"comment": f"forestall:ab1.{SEAL} my words"}, True),
    ],
)
def test_only_a_sealed_tag_of_the_owner_carries(changed: dict[str, Any], carries: bool) -> None:
    one = waiting(**changed)
    seen = ClusterView({7: one}, {}, {})
    claims = claims_of({"ab1": PROMISE}, {}, SEALS)
    assert carriers(seen, {"ab1": "ann"}, claims) == ({"ab1": one} if carries else {})


def test_a_tag_is_good_for_one_job() -> None:
    first, second = waiting(7), waiting(9)
    both = ClusterView({7: first, 9: second}, {}, {})
    owners = {"ab1": "ann"}
    carried = carriers(both, owners, {"ab1": OwnerJob(SEAL)})
    assert carried == {"ab1": first}
    assert stray_tags(both, carried, {}) == {9: "promise ab1 is job 7's; a tag is good once"}
    # Once it was seen, no other job takes its place, also where it is gone.
    alone = ClusterView({9: second}, {}, {})
    assert carriers(alone, owners, {"ab1": OwnerJob(SEAL, 7)}) == {}
    told = stray_tags(alone, {}, {"ab1": "job 7: it asks for 8 nodes; the offer is for 2 nodes"})
    assert told == {9: "promise ab1 is over: job 7: it asks for 8 nodes; the offer is for 2 nodes"}
    strange = ClusterView({9: waiting(9, user="bob")}, {}, {})
    assert stray_tags(strange, {}, {}) == {9: "tag ab1 is no open promise of bob's, or was changed"}


def test_a_sealed_tag_carries_no_promise_that_the_controller_submits() -> None:
    seen = ClusterView({7: waiting()}, {}, {})
    assert carriers(seen, {"ab1": "ann"}) == {}
    plain = waiting(comment="forestall:ab1")
    assert carriers(ClusterView({7: plain}, {}, {}), {"ab1": "ann"}) == {"ab1": plain}
