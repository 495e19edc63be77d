"""Slurm's lines as nouns; what users write cannot break a line or make another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.faults import LookError, LookFault
from forestall.slurm.control.lines import (
    JOB_FIELDS,
    RUN_FIELDS,
    jobs_of_rows,
    nodes_of_lines,
    reservations_of_lines,
    runs_of_rows,
)

FENCE = "f0123456789abcdef"
TEXT = st.text(max_size=60).filter(lambda text: FENCE not in text)


def job_row(name: str, comment: str, number: int = 7) -> str:
    told = dict.fromkeys(JOB_FIELDS, "0") | {
        "JobID": str(number), "State": "RUNNING", "Name": name, "Comment": comment,
        "ArrayTaskID": "N/A", "ArrayJobID": str(number), "admin_comment": "(null)",
        "RestartCnt": "2", "PriorityLong": "41", "NumNodes": "3",
    }  # fmt: skip
    return "".join(f"{told[name]:<20}{FENCE}" for name in JOB_FIELDS) + "\n"


def run_row(comment: str, number: int = 7) -> str:
    told = dict.fromkeys(RUN_FIELDS, "") | {
        "JobIDRaw": str(number), "State": "CANCELLED by 0", "Submit": "1800000000",
        "Start": "Unknown", "End": "None", "NodeList": "n[1-2]", "Comment": comment,
        "ElapsedRaw": "0",
    }  # fmt: skip
    return FENCE.join(told[name] for name in RUN_FIELDS) + "\n"


@given(st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_jobs_with_any_text(texts: list[tuple[str, str]]) -> None:
    rows = "".join(job_row(name, comment, k + 1) for k, (name, comment) in enumerate(texts))
    jobs = jobs_of_rows(rows, FENCE)
    assert [job.id for job in jobs] == list(range(1, len(texts) + 1))
    for job, (name, _) in zip(jobs, texts, strict=True):
        assert job.name == name.strip()
        assert (job.array, job.restarts, job.priority, job.note) == (0, 2, 41, "")


@given(st.lists(TEXT, max_size=4))
def test_runs_with_any_text(comments: list[str]) -> None:
    rows = "".join(run_row(comment, k + 1) for k, comment in enumerate(comments))
    runs = runs_of_rows(rows, FENCE)
    assert [run.job for run in runs] == list(range(1, len(comments) + 1))
    assert [run.comment for run in runs] == [comment.strip() for comment in comments]
    for run in runs:
        assert (run.submit, run.start, run.end, run.nodes) == (
            1_800_000_000,
            None,
            None,
            ("n1", "n2"),
        )


def test_a_comment_cannot_add_a_run() -> None:
    forged = "x\n8|root|COMPLETED|1|1|1|n1|forestall:p1|0\n9" + run_row("y", 9).replace(FENCE, "|")
    assert [run.job for run in runs_of_rows(run_row(forged), FENCE)] == [7]


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_rows_that_are_cut_short(cut: int) -> None:
    for rows, read in ((job_row("a", "b"), jobs_of_rows), (run_row("a"), runs_of_rows)):
        with pytest.raises(LookError) as raised:
            read((rows + rows)[:-cut], FENCE) if read is runs_of_rows else read(
                rows[: -cut - 1], FENCE
            )
        assert raised.value.fault is LookFault.CUT


def test_no_rows() -> None:
    assert jobs_of_rows("", FENCE) == []
    assert runs_of_rows("", FENCE) == []


def test_no_reservations_must_be_said() -> None:
    assert reservations_of_lines("No reservations in the system\n") == []
    for text in ("", "\n", "  "):
        with pytest.raises(LookError) as raised:
            reservations_of_lines(text)
        assert raised.value.fault is LookFault.CUT


@pytest.mark.parametrize("line", ["NodeName=n1 Arch=x86_64", "slurm_load_node error", "NodeName="])
def test_lines_that_are_no_nodes(line: str) -> None:
    with pytest.raises(LookError, match="no name or no state"):
        nodes_of_lines(line + "\n")


def test_reasons_with_blanks_signs_and_who_said_so() -> None:
    reason = "Reason=forestall: risk = 31 % [d1] : reboot issued [root@1800000100]"
    line = f"NodeName=n3 CPUTot=8 State=IDLE+DRAIN BootTime=1800000000 {reason} Comment=x y"
    (node,) = nodes_of_lines(line + "\n")
    assert node.reason == "forestall: risk = 31 % [d1] : reboot issued"
    assert (node.ours, node.set_by, node.set_at) == ("d1", "root", 1_800_000_100)
