"""Limits of QOS and associations, from rows as Slurm 22.05 told them."""

from __future__ import annotations

import pytest

from forestall.core.model.faults import LookError
from forestall.slurm.cluster.limits import Association, Limit, QosLimits
from forestall.slurm.control.site_limits import enforced_in, limits_of_rows

QOS = """\
normal||||||||||
short|DenyOnLimit,OverPartQOS|00:10:00|gres/gpu=1,node=2,mem=10G|cpu=20||3||node=5||node=1
"""
ASSOCIATIONS = """\
root||||| normal|||||
research|||root||normal|1-00:30:00|cpu=12||node=3|
research|games|||short|normal,short|1-00:30:00|cpu=12|0||
"""
USERS = "games|research\nroot|root\n"


def test_rows_are_limits() -> None:
    found = limits_of_rows(QOS, ASSOCIATIONS, USERS)
    assert found.qos["normal"] == QosLimits(())
    assert found.qos["short"] == QosLimits(
        (
            Limit("MaxWall", "time", 600), Limit("MaxTRES", "gres/gpu", 1),
            Limit("MaxTRES", "node", 2), Limit("MaxTRESPU", "cpu", 20),
            Limit("MaxJobsPU", "jobs", 3), Limit("GrpTRES", "node", 5), Limit("MinTRES", "node", 1),
        ),
        frozenset({"DenyOnLimit", "OverPartQOS"}),
    )  # fmt: skip
    assert found.associations["research", "games", ""] == Association(
        "", "short", ("normal", "short"),
        (
            Limit("MaxWall", "time", 88_200), Limit("MaxTRES", "cpu", 12),
            Limit("MaxJobs", "jobs", 0),
        ),
    )  # fmt: skip
    assert found.associations["research", "", ""].parent == "root"
    assert found.accounts == {"games": "research", "root": "root"}


@pytest.mark.parametrize(
    ("broken", "said"),
    [(QOS.replace("00:10:00", "ten"), "MaxWall is 'ten'"), (QOS[:30], "fields, not 11")],
)
def test_what_is_no_row_is_an_error(broken: str, said: str) -> None:
    with pytest.raises(LookError, match=said):
        limits_of_rows(broken, ASSOCIATIONS, USERS)


@pytest.mark.parametrize(
    ("words", "cluster"),
    [
        ("associations,limits,qos", "tiny"), ("safe", "tiny"), ("ALL", "tiny"),
        ("none", ""), ("associations", ""), ("qos", ""), ("nolimits", ""),
    ],
)  # fmt: skip
def test_limits_count_only_where_slurm_enforces_them(words: str, cluster: str) -> None:
    config = f"AccountingStorageEnforce = {words}\nClusterName             = tiny\n"
    assert enforced_in(config) == cluster


def test_a_configuration_that_tells_nothing_is_an_error() -> None:
    with pytest.raises(LookError, match="does not tell"):
        enforced_in("slurm_load_ctl_conf error")
