"""Which limit counts for a job: of the partition's QOS, its own, its user's, its accounts'."""

from __future__ import annotations

import pytest

from forestall.slurm.cluster.limits import Association, Claim, ClusterLimits, Limit, QosLimits

WALL, JOBS = "MaxWall", "MaxJobs"
QOS = {
    "normal": QosLimits(()),
    "short": QosLimits((Limit(WALL, "time", 600), Limit("MaxJobsPU", "jobs", 3))),
    "over": QosLimits((Limit(WALL, "time", 900),), frozenset({"OverPartQOS"})),
    "part": QosLimits((Limit(WALL, "time", 300),)),
}
GROUP = (Limit("GrpTRES", "node", 3), Limit(WALL, "time", 7200))
LIMITS = ClusterLimits(
    QOS,
    {
        ("root", "", ""): Association("", "", ("normal",), (Limit("GrpTRES", "node", 9),)),
        ("lab", "", ""): Association("root", "", ("normal",), GROUP),
        ("lab", "ann", ""): Association(
            "", "short", ("normal", "short"), (Limit(WALL, "time", 7200), Limit(JOBS, "jobs", 0))
        ),
        ("lab", "bob", ""): Association("", "", ("normal", "short"), ()),
        ("lab", "bob", "gpu"): Association("", "", ("short",), ()),
    },
    {"ann": "lab", "bob": "lab"},
)


def told(job: Claim, of_partition: str = "") -> set[tuple[str, str, int]]:
    found = LIMITS.on(job, of_partition)
    return {(one.whose, one.limit.name, one.limit.value) for one in found}


GROUPS = {("account lab", "GrpTRES", 3), ("account root", "GrpTRES", 9)}


def test_the_qos_of_a_job_goes_before_its_association() -> None:
    assert told(Claim("ann")) == {
        ("QOS short", WALL, 600), ("QOS short", "MaxJobsPU", 3), *GROUPS,
    }  # fmt: skip
    assert told(Claim("ann", qos="normal")) == {
        ("user ann in account lab", WALL, 7200), ("user ann in account lab", JOBS, 0), *GROUPS,
    }  # fmt: skip


@pytest.mark.parametrize(("qos", "whose", "wall"), [("short", "part", 300), ("over", "over", 900)])
def test_the_qos_of_a_partition_goes_first_unless_that_of_the_job_says_otherwise(
    qos: str, whose: str, wall: int
) -> None:
    found = told(Claim("ann", qos=qos), "part")
    assert {one for one in found if one[1] == WALL} == {(f"QOS {whose}", WALL, wall)}


def test_an_association_of_a_partition_goes_before_that_of_all() -> None:
    assert told(Claim("bob", "main")) == GROUPS
    assert ("QOS short", WALL, 600) in told(Claim("bob", "gpu"))


@pytest.mark.parametrize("job", [Claim("eve"), Claim(""), Claim("ann", account="other")])
def test_of_who_is_not_known_there_are_limits_of_a_named_qos_only(job: Claim) -> None:
    assert told(job) == set()
    assert told(job._replace(qos="over")) == {("QOS over", WALL, 900)}
