"""Tasks of job arrays as Slurm names them, and the ids of jobs, tasks and components as text.

While the tasks of an array wait, one row stands for all of them: ``123_[2-901%100]`` is tasks 2 to
901, of which at most 100 run at the same time. Slurm cuts long lists (``1,3,5,...``; with
``SLURM_BITSTR_LEN=0`` it does not), as do columns that are too narrow (``1,3,5`` without the
closing bracket). Its JSON has the list as the text of the brackets or as bits (``0x3e``: 1 to 5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from forestall.core.model.arrays import Ints
from forestall.core.model.errors import ParameterError

MOST_TASK: Final = 4_000_000
"""Slurm's largest index of a task."""
TASKS: Final = 2**32
"""Numbers from here on stand for tasks (`task_id`)."""
_LARGEST_ARRAY: Final = 2**30
"""Ids of arrays are smaller: with its task's index an id fits 63 bits."""
_ITEM: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")
_ID: Final = re.compile(r"(\d{1,18})(?:_(?:(\d{1,9})|\[(.*))|\+(\d{1,6}))?", re.DOTALL)
_ALLOWED: Final = "tasks of an array such as 1-901%100, 1-99:2 or 1,3,5-7"


@dataclass(frozen=True, eq=False)
class TaskList:
    """Tasks of an array.

    Attributes
    ----------
    numbers : int64[n], ascending
    at_once : how many run at the same time at most; 0: as many as fit
    cut : whether the list was cut, so that there are more tasks
    """

    numbers: Ints
    at_once: int = 0
    cut: bool = False

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def parse(cls, text: str) -> TaskList:
        """Return the tasks of a list without its brackets, ParameterError where it is none.

        >>> tasks = TaskList.parse("1-9:4,12%2")
        >>> tasks.numbers.tolist(), tasks.at_once
        ([1, 5, 9, 12], 2)
        """
        return cls._of(text.strip(), cut=False)

    @classmethod
    def in_brackets(cls, text: str) -> TaskList:
        """Return the tasks of a list that its closing bracket should end: without it the list was
        cut, and its last item with it."""
        text = text.strip()
        return cls._of(text.removesuffix("]"), cut=not text.endswith("]"))

    @classmethod
    def _of(cls, text: str, *, cut: bool) -> TaskList:
        listed, percent, limit = text.partition("%")
        at_once = int(limit) if limit.isascii() and limit.isdecimal() and len(limit) < 10 else 0
        if percent and not at_once and not cut and limit != "0":
            raise ParameterError("array", text, _ALLOWED)
        if cut:
            at_once = 0  # its digits may be cut as well
        if listed.startswith("0x"):
            return cls(_bits(listed), at_once, cut)
        if not listed.strip() and not cut:
            raise ParameterError("array", text, _ALLOWED)
        items = listed.split(",")
        if items[-1].strip() in ("", "...") or items[-1].endswith(("...", "+")):
            cut, items = True, items[:-1]
        elif cut and not percent:
            items[-1:] = _sure(items[-1])
        if not items and not cut:
            raise ParameterError("array", text, _ALLOWED)
        return cls(_numbers(items, text), at_once, cut)


def _sure(item: str) -> list[str]:
    """Return what is certain of an item that may lack its last digits and its step."""
    first, dash, _ = item.partition("-")
    return [first] if dash else []


def _numbers(items: list[str], text: str) -> Ints:
    parts = [np.empty(0, np.int64)]
    for item in items:
        match = _ITEM.fullmatch(item.strip()) if item.isascii() else None
        first, last, step = (int(one or 0) for one in match.groups()) if match else (1, 0, 0)
        if match is not None and match[2] is None:
            last = first
        if not first <= last <= MOST_TASK or (match and match[3] and not step):
            raise ParameterError("array", text[:60], _ALLOWED)
        parts.append(np.arange(first, last + 1, step or 1, dtype=np.int64))
    return np.unique(np.concatenate(parts))


def _bits(text: str) -> Ints:
    digits = text[2:].strip()
    if not re.fullmatch(r"[0-9a-fA-F]+", digits) or 4 * len(digits) > MOST_TASK + 4:
        raise ParameterError("array", text[:60], _ALLOWED)
    raw = bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))[::-1]
    bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int64)


def tasks_told(text: str, limit: int) -> TaskList | None:
    """Return the tasks that wait by a list that may be cut, as squeue and slurmrestd tell it with
    the array's limit; None where there is no list, or it cannot be read."""
    text = text.strip()
    if not text:
        return None
    try:
        tasks = TaskList.parse(text)
    except ParameterError:
        return None
    return tasks if tasks.at_once else replace(tasks, at_once=max(limit, 0))


@dataclass(frozen=True)
class JobId:
    """An id as text told it: of a job, of a task or waiting tasks of an array, of a component of a
    heterogeneous job; None for what it is not."""

    number: int
    task: int | None = None
    tasks: TaskList | None = None
    component: int | None = None

    @classmethod
    def parse(cls, text: str) -> JobId | None:
        """Return what ``12``, ``12_3``, ``12_[4-9%2]`` or ``12+1`` names; None for other text, and
        for a list of tasks that cannot be read."""
        text = text.strip()
        match = _ID.fullmatch(text) if text.isascii() else None
        if match is None:
            return None
        number, task, listed, component = match.groups()
        if (task or listed is not None) and int(number) >= _LARGEST_ARRAY:
            return None
        try:
            tasks = None if listed is None else TaskList.in_brackets(listed)
        except ParameterError:
            return None
        return cls(
            int(number),
            None if task is None else int(task),
            tasks,
            None if component is None else int(component),
        )


def task_id(array: int, task: int) -> int:
    """Return the number that stands for a task of an array; no real job has it."""
    return (array << 32) + task + 1


def task_ids(array: int, tasks: TaskList) -> Ints:
    """Return the numbers that stand for tasks of an array, int64[n]."""
    return (array << 32) + tasks.numbers + 1


def array_of(ids: Ints) -> Ints:
    """Return the arrays of tasks by their numbers (`task_id`), -1 where there is none, int64[n]."""
    return np.where(ids > 0, ids >> 32, -1)


def lead_of(job: int) -> int:
    """Return the array of a task by its number (`task_id`), 0 for that of another job."""
    return job >> 32


def id_text(job: int) -> str:
    """Return a job's id as text, that of a task (`task_id`) as Slurm writes it.

    >>> id_text(12), id_text(task_id(12, 3))
    ('12', '12_3')
    """
    lead, task = divmod(job, 1 << 32)
    return f"{lead}_{task - 1}" if lead else str(job)
