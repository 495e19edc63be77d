"""Logs as declared columns: written, read back, and handed to whoever is driven by them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest

from forestall.core.kit.log import (
    Column,
    answers_of,
    blank,
    driven,
    log_lines,
    names_of,
    read_log,
    records,
    records_of,
    told,
    whole,
    word,
    write_lines,
)
from forestall.core.model.errors import ParameterError, TraceError


class Kind(IntEnum):
    GO = 0
    STOP = 1


@dataclass(frozen=True)
class Answer:
    time: int
    kind: Kind
    job: int
    note: str
    node: int = -1


COLUMNS = (
    Column("time"),
    Column("what", "kind", word),
    Column("job", of_jobs=True),
    Column("node", written=blank),
    Column("twice", lambda answer: 2 * answer.node),
    Column("note"),
)
EVENTS = np.array([(5, 2), (6, 0), (9, 1)], dtype=[("time", "i8"), ("decisions", "i8")])
ANSWERS = np.array(
    [(0, 1, 3), (1, 0, -1), (1, 1, 0)], dtype=[("kind", "i8"), ("job", "i8"), ("node", "i8")]
)


def answers() -> list[Answer]:
    notes = iter(["a", 'b,"c"', ""])
    return list(answers_of(Answer, EVENTS, ANSWERS, {"kind": Kind}, note=notes))


def test_answers_are_nouns_at_the_time_of_their_event() -> None:
    assert answers() == [
        Answer(5, Kind.GO, 1, "a", 3),
        Answer(5, Kind.STOP, 0, 'b,"c"', -1),
        Answer(9, Kind.STOP, 1, "", 0),
    ]


def test_a_log_is_written_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    write_lines(path, log_lines(COLUMNS, answers(), ids=[70, 80]))
    assert path.read_text().splitlines() == [
        "time,what,job,node,twice,note",
        "5,go,80,3,6,a",
        '5,stop,70,,-2,"b,""c"""',
        "9,stop,80,0,0,",
    ]
    table = read_log(path, names_of(COLUMNS))
    assert whole(table, "node", path).tolist() == [3, -1, 0]
    made = told(table, path, ("time", "what"), lambda time, what: (time, Kind[what.upper()]))
    assert list(made) == [(5, Kind.GO), (5, Kind.STOP), (9, Kind.STOP)]


def test_records_have_their_cells_by_name() -> None:
    found = list(records_of(ANSWERS, {"kind": Kind}, more=[7, 8, 9]))
    assert [(one.kind, one.job, one.more) for one in found] == [
        (Kind.GO, 1, 7),
        (Kind.STOP, 0, 8),
        (Kind.STOP, 1, 9),
    ]
    assert [one.b for one in records(a=[1, 2], b="xy")] == ["x", "y"]


def test_a_nested_field_is_a_source() -> None:
    rows = records(about=records(job=[4, 5]))
    assert list(log_lines((Column("job", "about.job"),), rows)) == ["job\n", "4\n", "5\n"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("time,what\n1,go\n2,rest\n", "log.csv:3: not an event of a run"),
     ("time,what\n1,\n", "log.csv:2: not an event of a run"),
     ("time\n1\n", "log.csv: has no column what"), ("", "log.csv: cannot be read as CSV")],
)  # fmt: skip
def test_what_is_no_log(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=said):
        list(told(read_log(path, ("time", "what")), path, ("time", "what"),
                  lambda _, what: Kind[what.upper()]))  # fmt: skip
    path.unlink()
    with pytest.raises(TraceError, match="log_events writes it"):
        read_log(path)


def test_numbers_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("time\n1\nx\n")
    with pytest.raises(TraceError, match=r"log.csv:3: time: 'x' is not a whole number"):
        whole(read_log(path), "time", path)


def test_an_engine_that_refuses_an_event(tmp_path: Path) -> None:
    def handle(event: int) -> list[int]:
        if event > 1:
            raise ParameterError("event", event, "at most 1")
        return [event, event]

    found = driven(tmp_path, [0, 1, 2], handle)
    assert [next(found) for _ in range(4)] == [0, 0, 1, 1]
    with pytest.raises(TraceError, match=":4: cannot be: event: 2 is not allowed"):
        next(found)
