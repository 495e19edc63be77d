"""Files damaged at random: read with what is left, or refused in one line; nothing else."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ForestallError
from forestall.logs.jobs.job_records import read_job_records
from forestall.logs.metrics.info import describe_metrics
from forestall.logs.metrics.read import read_metrics

WHOLE = (
    "time,node,cpu,memory_free\n0,0,0.5,0.9\n0,1,0.1,0.8\n6,0,0.6,\n6,1,nan,0.7\n",
    "host,date,x\na,2024-01-05,1\nb,2024-01-06T10:00:00Z,2\n",
    "#Time,Time_usec,ProducerName,component_id,MemTotal,Active\n1563391900.002,2000,nid1,1,9,6\n",
    '{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"__name__": '
    '"load", "instance": "b:9100"}, "values": [[60, "1"], [120.9, "NaN"]]}]}}',
    "vm,t000,t001,t002\nb,10,20,30\na,0,,5\n",
    "10 40\n20 60\n",
)
JOBS = (
    "JobID|State|Start|End|NodeList|NCPUS\n7|CANCELLED by 1|2024-01-05T10:00:00|Unknown|n[1-3]|9\n"
    "7.0|FAILED|2024-01-05T10:00:00|Unknown|n1|3\n8|COMPLETED|None|None|None assigned|0\n",
    "job,start,end,state,nodes,cores\na,100,200,COMPLETED,0-2,6\nb,50,,FAILED,3,\n",
)
EDIT = st.tuples(
    st.integers(0, 400),
    st.integers(0, 9),
    st.binary(max_size=3) | st.sampled_from([b",", b"|", b"\n", b'"', b"[", b"1e308", b"-", b"#"]),
)


def damaged(text: str, edits: list[tuple[int, int, bytes]]) -> bytes:
    data = text.encode()
    for place, lost, new in edits:
        at = place % (len(data) + 1)
        data = data[:at] + new + data[at + lost :]
    return data


@settings(max_examples=200)
@given(st.sampled_from(WHOLE), st.lists(EDIT, min_size=1, max_size=3), st.booleans())
def test_metrics(
    tmp_path_factory: object, text: str, edits: list[tuple[int, int, bytes]], strict: bool
) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / "metrics"  # type: ignore[attr-defined]
    path.write_bytes(damaged(text, edits))
    said = ""
    try:
        info = describe_metrics(read_metrics(path, strict=strict))
    except ForestallError as error:
        said = str(error)
    else:
        assert info.samples > 0
        assert all(label and value for label, value in info.rows())
    assert "\n" not in said


@settings(max_examples=150)
@given(st.sampled_from(JOBS), st.lists(EDIT, min_size=1, max_size=3), st.booleans())
def test_job_records(
    tmp_path_factory: object, text: str, edits: list[tuple[int, int, bytes]], strict: bool
) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / "jobs"  # type: ignore[attr-defined]
    path.write_bytes(damaged(text, edits))
    said = ""
    try:
        records = read_job_records(path, strict=strict)
    except ForestallError as error:
        said = str(error)
    else:
        assert len(records) > 0
        assert not (records.completed() & records.failed()).any()
    assert "\n" not in said
