"""Long answers of Slurm taken apart, remembered, and read as a whole: the same nouns always."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.faults import LookError, LookFault
from forestall.slurm.control import documents
from forestall.slurm.control.documents import Document
from forestall.slurm.control.entries import RememberedList, remembered_jobs, remembered_nodes
from forestall.slurm.control.entry_kernels import places_of

RECORDED = Path(__file__).parents[1] / "recorded"
ONE = {"job_id": 7, "job_state": "PENDING"}


def believed(_: Document) -> None:
    """Find nothing wrong with an answer."""


def found(raw: bytes, name: str = "jobs") -> list[bytes] | None:
    """Return the entries of a list as they stand, None where the kernel does not find them."""
    out = np.full((len(raw) + 2, 2), -7)
    count = places_of(np.frombuffer(raw, np.uint8), np.frombuffer(name.encode(), np.uint8), out)
    return None if count < 0 else [raw[begin:end] for begin, end in out[1 : count + 1].tolist()]


@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("compact", [False, True])
def test_what_was_recorded_is_read_as_by_a_whole_reading(version: str, compact: bool) -> None:
    raw = (RECORDED / version / "squeue.json").read_bytes()
    if compact:
        raw = json.dumps(json.loads(raw), separators=(",", ":")).encode()
    whole, entries = documents.document(raw, "queue"), found(raw)
    assert entries is not None
    assert [json.loads(one) for one in entries] == whole.value["jobs"]
    jobs, told = remembered_jobs().read(raw, believed)
    assert jobs == documents.jobs_of(whole.value)
    assert (told.told_at, told.version, told.replaced) == (
        whole.told_at, whole.version, whole.replaced,
    )  # fmt: skip


def test_only_what_is_new_is_read() -> None:
    read: list[Any] = []

    def noun(one: Any) -> int:
        read.append(one)
        return int(one["k"])

    reader = RememberedList("jobs", "queue", noun)
    texts: list[dict[str, Any]] = [{"k": 1, "name": "a"}, {"k": 2, "name": "}]\\"}, {"k": 3}]
    for jobs, new in (
        (texts, texts), (texts[::-1], []), ([texts[2], {"k": 4}], [{"k": 4}]), (texts, texts[:2]),
    ):  # fmt: skip
        raw = json.dumps({"meta": {"jobs": [9]}, "jobs": jobs, "last_update": 5}).encode()
        nouns, told = reader.read(raw, believed)
        assert nouns == [one["k"] for one in jobs]
        assert told.told_at == 5
        assert read == new, "what stood in the last answer is not read again"
        read.clear()


def test_an_answer_that_is_not_believed_is_not_remembered() -> None:
    reader = remembered_jobs()
    good = json.dumps({"jobs": [ONE]}).encode()
    first, _ = reader.read(good, believed)
    with pytest.raises(LookError, match="no id or no state"):
        reader.read(json.dumps({"jobs": [ONE, {}]}).encode(), believed)

    def refuse(told: Document) -> None:
        assert told.value == {"jobs": [], "errors": ["away"]}
        raise LookError(LookFault.FAILED, "queue", "away")

    with pytest.raises(LookError, match="away"):
        reader.read(json.dumps({"jobs": [ONE], "errors": ["away"]}).encode(), refuse)
    again, _ = reader.read(good, believed)
    assert again[0] is first[0]


def test_signs_that_are_not_utf_8_are_counted_in_all_parts_and_again() -> None:
    reader = remembered_jobs()
    raw = json.dumps({"meta": "@", "jobs": [{**ONE, "name": "gr@n"}]}).encode()
    for _ in range(2):
        (job,), told = reader.read(raw.replace(b"@", b"\xfc"), believed)
        assert (job.name, told.replaced) == ("gr\ufffdn", 2)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"[]", b"{}", b'{"jobs": 3}', b'{"jobs": [1]}', b'{"jobs": [{} {}]}',
        b'{"jobs": [{},]}', b'{"jobs": [,{}]}', b'{"jobs": [{}]', b'{"jobs": [{"a": "', b'"jobs',
        b'{"jobs": [{}]}}', b'{"jobs": [{"a": [}]}', b'{"jobs": [], "jobs": []}', b'{"jobs":',
        b'{"meta": {"jobs": []}}', b'{"jobs": "\\', b'{"jobs": [{"job_id": 1,}]}',
        b'{"jobs": [{"a": "\n"}]}', b'{"jobs" [{}]}', b'{x "jobs": []}', b'{"jobs": [] "a": 1}',
    ],
)  # fmt: skip
def test_what_is_no_such_answer_is_refused_in_the_words_of_a_whole_reading(raw: bytes) -> None:
    said = []
    for read in (
        lambda: remembered_jobs().read(raw, believed)[0],
        lambda: documents.jobs_of(documents.document(raw, "queue").value),
    ):
        try:
            said.append(str(read()))
        except LookError as error:
            said.append(str(error))
    assert said[0] == said[1]


_TEXT = st.text('ab"\\{}[],:\u00fc\n', max_size=6)
_VALUE = st.recursive(
    st.none() | st.integers() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_JOB = st.fixed_dictionaries(
    {"name": _TEXT, "state": st.sampled_from(("IDLE", "DOWN"))}, optional={"x": _VALUE}
)


@given(st.lists(st.lists(_JOB, max_size=4), min_size=1, max_size=3), _VALUE, st.sampled_from(
    [{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}]))  # fmt: skip
def test_any_answers_one_after_the_other(
    looks: list[list[dict[str, Any]]], rest: Any, form: dict[str, Any]
) -> None:
    reader = remembered_nodes()
    for nodes in looks:
        named = [{**one, "name": one["name"] or "n"} for one in nodes]
        raw = json.dumps({"rest": rest, "nodes": named, "after": rest}, **form).encode()
        entries = found(raw, "nodes")
        assert entries is not None
        assert [json.loads(one) for one in entries] == named
        nouns, told = reader.read(raw, believed)
        assert nouns == documents.nodes_of({"nodes": named})
        assert told.value == {"rest": rest, "nodes": [], "after": rest}


@given(st.lists(_JOB, max_size=2), st.data())
def test_an_answer_cut_anywhere_is_never_a_shorter_one(
    nodes: list[Any], data: st.DataObject
) -> None:
    raw = json.dumps({"nodes": nodes, "after": 1}).encode()
    cut = raw[: data.draw(st.integers(0, len(raw) - 1))]
    assert found(cut, "nodes") is None
