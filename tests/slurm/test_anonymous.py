"""Pseudonyms: the same for the same key, nothing of the originals, hostlists that stay short."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.coded import Coded
from forestall.core.model.errors import ParameterError
from forestall.core.model.hostlist import expand
from forestall.slurm.anonymous import Pseudonyms, anonymous
from forestall.slurm.reasons import gpu_error, ticket, told
from forestall.slurm.records.site_records import SiteRecords
from slurm.files.site_tables import ZERO, inventory, outages, runs

KEY = b"a key"


def test_the_key_decides() -> None:
    one, same, other = Pseudonyms(KEY), Pseudonyms(KEY), Pseudonyms(b"b key")
    assert one.of("user", "ann") == same.of("user", "ann") != other.of("user", "ann")
    assert one.of("user", "ann") == "user-" + one.of("user", "ann")[5:]
    assert one.of("user", "ann")[5:] != one.of("account", "ann")[8:]
    assert one.of("user", "") == ""
    assert one.node("n017") == same.node("n017") != other.node("n017")
    assert len(one.number("uid", "1001", 9)) == 9
    for key in (b"", b"x" * 65):
        with pytest.raises(ParameterError):
            Pseudonyms(key)


def test_pseudonyms_do_not_change_between_versions() -> None:
    # Whoever keeps a key compares imports of years: these values must stay.
    names = Pseudonyms(b"forestall")
    assert (names.of("user", "ann"), names.node("node017"), names.number("ticket", "4711")) == (
        "user-e9d8dbd2fb10", "ndqbjmdeq017", "588735",
    )  # fmt: skip


HOSTS = st.sampled_from(["n", "node", "r1n", "gpu-a", "login", "x1000c0s", ""])


@st.composite
def hostlists(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        prefix = draw(HOSTS)
        tail = draw(st.sampled_from(["7", "012", "[1-3]", "[001-003,007]", "[08-11]", "", "-ib"]))
        parts.append((prefix + tail) or "a")
    return ",".join(parts)


@given(hostlists())
def test_hostlists_name_the_pseudonyms_of_their_hosts(text: str) -> None:
    names = Pseudonyms(KEY)
    assert sorted(expand(names.hostlist(text))) == sorted(names.node(h) for h in expand(text))


@pytest.mark.parametrize(
    "text", ["n0[1-3]", "r[1-2]n[01-04]", "n[1-3]-ib", "a1b[2,4]c", "n[1-2]x5"]
)
def test_hostlists_of_odd_forms(text: str) -> None:
    names = Pseudonyms(KEY)
    assert sorted(expand(names.hostlist(text))) == sorted(names.node(h) for h in expand(text))


def test_hostlists_stay_short_and_what_is_none_vanishes() -> None:
    names = Pseudonyms(KEY)
    assert names.hostlist("node[001-512,900]").endswith("[001-512,900]")
    assert names.hostlist("") == ""
    assert names.hostlist("n[1-") == ""


def site() -> SiteRecords:
    rows = (
        {"job": 1, "user": "ann", "account": "secretproject", "name": "train_bomb", "qos": "vip",
         "partition": "main,lab42", "state": "CANCELLED by 10017", "nodelist": "node[1-3]",
         "excluded": "node4", "reason": "ReqNodeNotAvail, UnavailableNodes:node9"},
        {"job": 2, "user": "ann", "account": "secretproject", "partition": "main",
         "state": "CANCELLED by 0", "reason": "Priority", "failed_node": "node2"},
        {"job": 3, "user": "bob", "reason": "ask bob", "state": "FAILED"},
    )  # fmt: skip
    events = outages(
        ("node2", ZERO, ZERO + 9, "fault"), ("node10", ZERO + 1, None, "administrative"),
        ("node2", ZERO + 20, ZERO + 30, "unclear"),
    )  # fmt: skip
    reasons = ["bob: Xid 79 on node2, ticket 48213", "BIOS update by bob", "ask bob"]
    events = replace(
        events,
        reason=Coded.of(reasons),
        user=Coded.of(["bob(10017)", "root(0)", "slurm(64030)"]),
        source="/home/ann/events.txt",
        cleaning=Cleaning().plus("other_clusters", "events of clusters other than hal", "left out",
                                 ["node2 (events.txt:3)"]),
    )  # fmt: skip
    nodes = inventory(["node2", "node10"], reason=("bob broke it [bob@2026-01-01T00:00:00]", ""))
    return SiteRecords(runs(*rows), events, nodes, sources=("/home/ann/jobs.txt",))


def test_records_lose_their_names_and_keep_their_sense() -> None:
    found = anonymous(site(), KEY)
    text = repr(found)
    for name in ("ann", "bob", "secretproject", "train_bomb", "vip", "main", "lab42", "10017",
                 "node", "48213", "hal", "secretfeature", "64030"):  # fmt: skip
        assert f"{name}'" not in text, name
        if name not in {"node", "hal", "main", "ann"}:
            assert name not in text, name
    assert found.accounting is not None
    assert found.accounting.user.code.tolist() == [0, 0, 1]
    assert found.accounting.state[1] == "CANCELLED by 0"
    assert found.accounting.reason.texts() == ["ReqNodeNotAvail", "Priority", "other"]
    assert len(found.accounting.partition[0].split(",")) == 2
    assert found.accounting.partition[0].split(",")[0] == found.accounting.partition[1]
    assert found.events is not None
    assert found.inventory is not None
    assert set(found.events.names) == set(found.inventory.names)
    assert found.events.names[1].endswith("10")  # in the order of their numbers
    assert [told("DOWN", reason).nature for reason in found.events.reason.texts()] == [
        "fault", "administrative", "unclear",
    ]  # fmt: skip
    assert gpu_error(found.events.reason[0]) == "Xid 79"
    assert len(ticket(found.events.reason[0])) == 6
    assert found.events.user.texts()[1:] == ["root", "slurm"]
    assert found.events.nature.tolist() == site().events.nature.tolist()  # type: ignore[union-attr]
    assert found.inventory.hardware[0].startswith("4 x a100, 64 CPUs, features-")
    assert found.cleanings().counts() == {"other_clusters": 1}
    assert repr(found) == repr(anonymous(site(), KEY))


def test_partitions_are_kept_on_demand() -> None:
    found = anonymous(site(), KEY, keep_partitions=True)
    assert found.accounting is not None
    assert found.accounting.partition[0] == "main,lab42"
    assert found.accounting.qos[0] == "vip"
    assert found.inventory is not None
    assert found.inventory.partition_limits.keys() == {"main", "gpu"}


def test_nothing_at_all() -> None:
    assert anonymous(SiteRecords(), KEY).accounting is None
