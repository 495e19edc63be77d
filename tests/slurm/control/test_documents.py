"""JSON of Slurm as nouns: what real clusters of three versions said, and forms of the others."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.faults import LookError, LookFault
from forestall.slurm.cluster.nouns import ClusterNode
from forestall.slurm.control import documents
from forestall.slurm.control.documents import document
from forestall.slurm.control.lines import nodes_of_lines, reservations_of_lines

RECORDED = Path(__file__).parents[1] / "recorded"
TYPED = Path(__file__).parent / "typed"
VERSIONS = ("22.05", "24.11", "26.05")


def recorded(version: str, name: str) -> bytes:
    return (RECORDED / version / name).read_bytes()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_queue_that_was_recorded(version: str) -> None:
    told = document(recorded(version, "squeue.json"), "queue")
    jobs = {job.name: job for job in documents.jobs_of(told.value)}
    assert told.version.startswith(version)
    assert told.replaced == 0
    assert (told.told_at is None) == (version == "22.05")
    fill, wide, held = jobs["fill1"], jobs["wide2"], jobs["held"]
    assert (fill.state, fill.nodes, fill.limit, fill.node_count) == ("RUNNING", ("n5",), 1800, 1)
    assert fill.start is not None
    assert fill.end == fill.start + 1800
    assert (wide.state, wide.node_count, wide.nodes, wide.start) == ("PENDING", 4, (), None)
    assert wide.limit == 1200
    assert held.held
    assert not fill.held
    assert not wide.held
    assert jobs["after"].reason == "DependencyNeverSatisfied"
    assert jobs["arraywait"].array == jobs["arraywait"].id
    assert jobs["rerun held"].restarts == 1
    assert jobs["next1"].user == "daemon"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_nodes_that_were_recorded(version: str) -> None:
    """From JSON and from lines alike."""
    name = "sinfo.json" if version == "22.05" else "scontrol.node.json"
    nodes = documents.nodes_of(document(recorded(version, name), "nodes").value)
    lines = nodes_of_lines(recorded(version, "scontrol.node.epoch.txt").decode())
    assert [told(node) for node in nodes] == [told(node) for node in lines]
    by_name = {node.name: node for node in nodes}
    n1, n4, n6 = by_name["n1"], by_name["n4"], by_name["n6"]
    assert n1.in_service
    assert n1.partitions == ("main", "spare")
    assert not n4.in_service
    assert n4.reason.startswith("ünklar")
    assert (n4.set_by, n4.ours) == ("root", "")
    assert n6.down
    assert n6.reason == "Not responding"


def told(node: ClusterNode) -> tuple[object, ...]:
    """Return what both forms tell; what changes by the second is left out."""
    flags = tuple(flag for flag in node.flags if flag != "PLANNED")
    return node._replace(flags=flags, gres=node.gres.split("(")[0])


def test_nodes_of_20_11_in_lines() -> None:
    nodes = {
        n.name: n for n in nodes_of_lines(recorded("20.11", "scontrol.node.epoch.txt").decode())
    }
    assert nodes["n6"].down
    assert not nodes["n4"].in_service
    assert nodes["n1"].in_service


@pytest.mark.parametrize("version", ["20.11", *VERSIONS])
def test_the_reservation_that_was_recorded(version: str) -> None:
    """Written with dates; asked with SLURM_TIME_FORMAT it has seconds."""
    text = recorded(version, "scontrol.reservation.txt").decode()
    with pytest.raises(LookError, match="no name, start or end"):
        reservations_of_lines(text)
    seconds = text.replace(text.split("StartTime=")[1].split()[0], "1795296398")
    seconds = seconds.replace(text.split("EndTime=")[1].split()[0], "1795299998")
    (one,) = reservations_of_lines(seconds)
    assert (one.name, one.nodes, one.node_count) == ("maint", ("n1",), 1)
    assert one.users == ("root",)
    assert one.accounts == ()
    assert one.flags[:2] == ("MAINT", "IGNORE_JOBS")


@pytest.mark.parametrize("path", sorted(TYPED.glob("*.json")), ids=lambda path: path.stem)
def test_forms_of_versions_that_were_not_recorded(path: Path) -> None:
    """Typed by hand from SchedMD's OpenAPI descriptions of that version, one entry of each kind."""
    whole = json.loads(path.read_bytes())
    (job,) = documents.jobs_of(whole)
    (node,) = documents.nodes_of(whole)
    (one,) = documents.reservations_of(whole)
    flags = () if path.stem == "v0.0.39" else ("REQUEUED",)  # one word there
    assert (job.id, job.user, job.state, job.flags) == (17, "ada", "PENDING", flags)
    assert (job.limit, job.node_count, job.excluded) == (21_600, 16, ("n3", "n4"))
    assert (job.submit, job.start, job.end) == (1_800_000_000, None, None)
    assert (job.restarts, job.priority, job.held) == (1, 0, True)
    assert job.mark == ("p17", "h1", "h1", False, "")
    assert (node.name, node.state, node.flags) == ("n1", "IDLE", ("DRAIN", "REBOOT_REQUESTED"))
    assert (node.ours, node.set_at, node.features) == ("d1", 1_800_000_100, ("ib", "big"))
    assert not node.in_service
    assert (one.name, one.start, one.end) == ("forestall_p17", 1_800_003_600, 1_800_007_200)
    assert (one.nodes, one.node_count, one.users) == (("n1", "n2"), 2, ("ada", "bob"))
    assert "REPLACE_DOWN" in one.flags


# What is not believed ----------------------------------------------------------------------------


def fault(raw: bytes) -> LookFault:
    with pytest.raises(LookError) as raised:
        documents.jobs_of(document(raw, "queue").value)
    assert "\n" not in str(raised.value)
    return raised.value.fault


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("version", VERSIONS)
def test_an_answer_that_is_cut_short_is_no_queue(version: str, share: float) -> None:
    raw = recorded(version, "squeue.json")
    assert fault(raw[: int(share * len(raw))]) in (LookFault.CUT, LookFault.UNREADABLE)


@pytest.mark.parametrize(
    "raw",
    [b"[]", b"{}", b'{"jobs": null}', b'{"jobs": {}}', b'{"jobs": [7]}', b'{"jobs": [{}]}',
     b'{"jobs": [{"job_id": 7}]}', b'{"jobs": [{"job_state": "RUNNING"}]}', b"No jobs", b"nul",
     b'{"jobs": [{"job_id": -1, "job_state": "RUNNING"}]}', b"[" * 100_000,
     b'{"jobs": [{"job_id": 7, "job_state": "RUNNING", "nodes": "n[1-"}]}'],
)  # fmt: skip
def test_an_answer_without_its_queue_is_no_empty_queue(raw: bytes) -> None:
    assert fault(raw) in (LookFault.UNREADABLE, LookFault.CUT)


def test_an_empty_queue() -> None:
    assert documents.jobs_of(document(b'{"jobs": [], "errors": []}', "queue").value) == []


def test_complaints() -> None:
    said = documents.complaints({"errors": [{"error": "Unable to\ncontact", "error_number": 1}]})
    assert said == "Unable to contact"
    assert documents.complaints({"errors": []}) == ""
    assert documents.complaints({"errors": [{}]}) == "an error without a message"


def test_signs_that_are_not_utf8_are_counted() -> None:
    raw = b'{"jobs": [{"job_id": 1, "job_state": "RUNNING", "name": "gr\xfcn \xef\xbf\xbd"}]}'
    told = document(raw, "queue")
    assert told.replaced == 1
    assert documents.jobs_of(told.value)[0].name == "gr\ufffdn \ufffd"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip
_ONE: dict[str, Any] = json.loads(recorded("26.05", "squeue.json"))["jobs"][0]


MAKES: Final = frozenset({"job_id", "job_state", "nodes", "excluded_nodes"})
"""What makes an entry a job, and lists of hosts: where it is none, the entry is refused."""


@given(st.dictionaries(st.sampled_from(sorted(_ONE)), JSON, max_size=6))
def test_whatever_stands_in_an_entry(changed: dict[str, Any]) -> None:
    """It is a job, or an error that says so; never anything else. Whatever stands beside what
    makes it a job refuses nothing."""
    if changed.keys() & MAKES:
        with suppress(LookError):
            documents.jobs_of({"jobs": [_ONE | changed]})
    (job,) = documents.jobs_of(
        {"jobs": [_ONE | {name: value for name, value in changed.items() if name not in MAKES}]}
    )
    assert (job.id, job.state) == (_ONE["job_id"], _ONE["job_state"][0])
