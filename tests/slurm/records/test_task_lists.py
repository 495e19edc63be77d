"""Lists of tasks, expanded and counted as a plain reading of Slurm's manual does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.slurm.records.task_lists import (
    JobId,
    TaskList,
    array_of,
    id_text,
    task_id,
    task_ids,
    tasks_told,
)

ITEMS = st.lists(
    st.tuples(st.integers(0, 3000), st.integers(0, 900), st.integers(1, 130)),
    min_size=1,
    max_size=9,
)


def plain(items: list[tuple[int, int, int]]) -> set[int]:
    """Return the tasks of (first, length, step), one at a time."""
    found = set()
    for first, length, step in items:
        task = first
        while task <= first + length:
            found.add(task)
            task += step
    return found


def written(item: tuple[int, int, int]) -> str:
    first, length, step = item
    if not length:
        return str(first)
    return f"{first}-{first + length}" + (f":{step}" if step > 1 else "")


@given(ITEMS, st.integers(0, 4000))
def test_any_list_has_the_tasks_that_it_names(
    items: list[tuple[int, int, int]], at_once: int
) -> None:
    text = ",".join(map(written, items)) + (f"%{at_once}" if at_once else "")
    tasks = TaskList.parse(text)
    assert tasks.numbers.tolist() == sorted(plain(items))
    assert (len(tasks), tasks.at_once, tasks.cut) == (len(plain(items)), at_once, False)
    bits = f"0x{sum(1 << task for task in plain(items)):X}"
    assert TaskList.parse(bits).numbers.tolist() == tasks.numbers.tolist()
    named = JobId.parse(f"12_[{text}]")
    assert named is not None
    assert named.tasks is not None
    assert named.tasks.numbers.tolist() == tasks.numbers.tolist()


@given(ITEMS, st.integers(0, 4000), st.data())
def test_of_a_list_that_was_cut_no_task_is_made_up(
    items: list[tuple[int, int, int]], at_once: int, data: st.DataObject
) -> None:
    """Cut anywhere, or after an item with dots: what is read is part of what there was."""
    text = ",".join(map(written, items)) + (f"%{at_once}" if at_once else "")
    place = data.draw(st.integers(1, len(text)))
    named = JobId.parse(f"12_[{text[:place]}")
    assert named is not None
    assert named.tasks is not None
    assert named.tasks.cut
    assert set(named.tasks.numbers.tolist()) <= plain(items)
    kept = data.draw(st.integers(0, len(items) - 1))
    dotted = ",".join([*map(written, items[:kept]), "..."]) + (f"%{at_once}" if at_once else "")
    tasks = TaskList.parse(dotted)
    assert (set(tasks.numbers.tolist()), tasks.cut) == (plain(items[:kept]), True)
    assert tasks.at_once == at_once


@pytest.mark.parametrize(
    "text",
    ["", "x", "5-1", "1-", "1-9:0", "1,,2", "-3", "1%", "1%x", "4000001", "1-99999999", "0x", "0xg",
     "1-9:", "1;2", "²"],
)  # fmt: skip
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="expected tasks of an array"):
        TaskList.parse(text)
    assert tasks_told(text, 3) is None


def test_limits_stand_in_the_list_or_beside_it() -> None:
    for text, limit, at_once in (("1-9%2", 0, 2), ("1-9%2", 5, 2), ("1-9", 5, 5), ("1-9", 0, 0)):
        tasks = tasks_told(text, limit)
        assert tasks is not None
        assert (len(tasks), tasks.at_once) == (9, at_once)


def test_ids() -> None:
    assert JobId.parse(" 12 ") == JobId(12)
    assert JobId.parse("12_3") == JobId(12, task=3)
    assert JobId.parse("12+1") == JobId(12, component=1)
    for text in ("", "x", "12_", "12_x", "12_[x]", "12+", "1.batch", "-1", "9" * 20):
        assert JobId.parse(text) is None, text
    numbers = task_ids(12, TaskList.parse("0,3"))
    assert numbers.tolist() == [task_id(12, 0), task_id(12, 3)]
    assert array_of(np.append(numbers, [-1, 7])).tolist() == [12, 12, -1, 0]
    assert [id_text(one) for one in (*numbers.tolist(), 12)] == ["12_0", "12_3", "12"]
