"""When nodes were in service: from what a log states of some, what to believe of all."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from forestall.core.model.cleaning import Cleaning
from forestall.logs.failures.raw import Int, Service

DAY = 86_400
_MONTH = np.timedelta64(1, "M")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
BEFORE, CURRENT = "before tracking", "current"
_MONTH_YEAR = re.compile(r"([A-Za-z]{3})-(\d\d)")
_YEAR_MONTH = re.compile(r"(\d{1,2})-([A-Za-z]{3})")


def month(text: str) -> tuple[int, int] | None:
    """Return the first and the past-the-last second of a month such as ``Jan-97`` or ``5-Jun``.

    ``5-Jun`` is what a spreadsheet made of Jun-05. None where the text is no month.

    >>> [np.datetime64(second, "s").item().date().isoformat() for second in month("5-Jun")]
    ['2005-06-01', '2005-07-01']
    """
    named = _month_and_number(text)
    if named is None:
        return None
    index, number = named
    year = 1900 + number if number >= 70 else 2000 + number
    first = np.datetime64(f"{year:04d}-{index + 1:02d}", "M")
    return _second(first), _second(first + _MONTH)


def day_before(text: str, limit: int) -> tuple[int, int] | None:
    """Return the day ``5-Nov`` of the last year in which it ends before `limit`, as seconds.

    The other reading of such a text: day and month. None where there is no such day.
    """
    if _YEAR_MONTH.fullmatch(text) is None:
        return None
    index, number = _month_and_number(text) or (0, 0)
    last = int(str(np.datetime64(limit, "s"))[:4])
    for year in range(last, last - 9, -1):
        first = np.datetime64(f"{year:04d}-{index + 1:02d}", "M")
        begin = _second(first) + (number - 1) * DAY
        if number >= 1 and begin < _second(first + _MONTH) and begin + DAY <= limit:
            return begin, begin + DAY
    return None


def _month_and_number(text: str) -> tuple[int, int] | None:
    for pattern, swapped in ((_MONTH_YEAR, False), (_YEAR_MONTH, True)):
        match = pattern.fullmatch(text)
        if match is not None:
            name, number = (match[2], match[1]) if swapped else (match[1], match[2])
            if name.lower() in MONTHS:
                return MONTHS.index(name.lower()), int(number)
    return None


def _second(moment: np.datetime64) -> int:
    return int(moment.astype("datetime64[s]").astype(np.int64))


def stated_service(
    production: Sequence[str],
    retirement: Sequence[str],
    time: Int,
    node: Int,
    nodes: tuple[int, int],
    log: tuple[int, int],
) -> Service | None:
    """Return the service of all nodes from what each record of a failure states of its node.

    Parameters
    ----------
    production, retirement : texts of each record: a month, ``before tracking``, ``current``
    time, node : int64[n], when and where each failure was
    nodes : how many numbers there are, and how many nodes the machine is said to have (0: unknown)
    log : first second of the log and the one past its end

    A node enters service on the first day of the month stated, or where that is not known with the
    log. It leaves at the end of the month stated, or with the log. A month of retirement after the
    log's end cannot have been known to it: read as day and month (``5-Nov``: 5 November) it is the
    last such day before the end. Failures before or after the time stated widen it. A node that
    never failed is not described: it is taken to be like the nearest by number that did. Numbers
    beyond the count of nodes are in no service. None where nothing is stated.
    """
    if not any(production) and not any(retirement):
        return None
    numbers, firsts, inverse = np.unique(node, return_index=True, return_inverse=True)
    begin = np.full(len(numbers), np.iinfo(np.int64).max)
    end = np.full(len(numbers), np.iinfo(np.int64).min)
    np.minimum.at(begin, inverse, time)
    np.maximum.at(end, inverse, time)
    starts = [production[row] for row in firsts.tolist()]
    ends = [retirement[row] for row in firsts.tolist()]
    cleaning = _contradictions(production, retirement, node, firsts[inverse])
    start, known, cleaning = _starts(starts, numbers, begin, log[0], cleaning)
    stop, cleaning = _ends(ends, numbers, end, log[1], cleaning)
    start, stop, new = _spread(numbers, (start, stop, known), nodes[0])
    never = np.setdiff1d(np.arange(nodes[0]), numbers)
    nowhere = _nowhere(numbers, never, nodes[1])
    stop[nowhere] = start[nowhere]
    new[nowhere] = False
    text = "node numbers beyond the count of nodes, of which none failed (never in service)"
    cleaning = cleaning.plus("service_of_no_node", text, "left out", _named(nowhere))
    text = "nodes that never failed (taken to be in service like the nearest that did)"
    like = np.setdiff1d(never, nowhere)
    return Service(
        start, stop, new, cleaning.plus("service_inferred", text, "changed", _named(like))
    )


def _named(numbers: Int) -> list[str]:
    return [f"node {number}" for number in np.sort(numbers).tolist()]


def _contradictions(
    production: Sequence[str], retirement: Sequence[str], node: Int, first: Int
) -> Cleaning:
    """Return a remark on nodes of which the records state several things (the first counts)."""
    pairs = zip(node.tolist(), first.tolist(), strict=True)
    unlike = {
        number
        for row, (number, one) in enumerate(pairs)
        if (production[row], retirement[row]) != (production[one], retirement[one])
    }
    text = "nodes whose records state several times in service (the first counts)"
    names = (f"node {number}" for number in sorted(unlike))
    return Cleaning().plus("service_contradicts", text, "changed", names)


def _starts(
    texts: Sequence[str], numbers: Int, first: Int, log_start: int, cleaning: Cleaning
) -> tuple[Int, np.ndarray, Cleaning]:
    """Return starts, whether each is that of a new node, and remarks; `first` are the first
    failures."""
    spans = {text: month(text) for text in texts}
    stated = np.array([spans[text] is not None for text in texts], dtype=np.bool_)
    start = np.array([(spans[text] or (log_start,))[0] for text in texts], dtype=np.int64)
    early = first < start
    unknown = numbers[~stated]
    text = "nodes whose start of service is not recorded (in service from the log's first record)"
    cleaning = cleaning.plus("service_start_unknown", text, "changed", _named(unknown))
    text = "nodes that failed before their production date (in service from that failure)"
    cleaning = cleaning.plus("failed_before_service", text, "changed", _named(numbers[early]))
    return np.minimum(start, first), stated & ~early, cleaning


def _ends(
    texts: Sequence[str], numbers: Int, last: Int, log_end: int, cleaning: Cleaning
) -> tuple[Int, Cleaning]:
    """Return ends and remarks; `last` are the last failures."""
    spans = {text: month(text) for text in texts}
    days = {
        text: day_before(text, log_end) for text, span in spans.items() if _after(span, log_end)
    }
    read = {text: days.get(text) or span or (0, log_end) for text, span in spans.items()}
    end = np.minimum(np.array([read[text][1] for text in texts], dtype=np.int64), log_end)
    future = np.array([days.get(text) is not None for text in texts], dtype=np.bool_)
    blank = np.array([spans[text] is None and text != CURRENT for text in texts], dtype=np.bool_)
    late = last >= end
    text = "nodes retired after the log's end (read as day and month, the last before it)"
    cleaning = cleaning.plus("retired_after_log", text, "changed", _named(numbers[future]))
    text = "nodes whose end of service is not recorded (in service to the log's end)"
    cleaning = cleaning.plus("service_end_unknown", text, "changed", _named(numbers[blank]))
    text = "nodes that failed after their retirement (in service until that failure)"
    cleaning = cleaning.plus("failed_after_service", text, "changed", _named(numbers[late]))
    return np.maximum(end, last + 1), cleaning


def _after(span: tuple[int, int] | None, log_end: int) -> bool:
    return span is not None and span[0] >= log_end


def _spread(
    numbers: Int, told: tuple[Int, Int, np.ndarray], count: int
) -> tuple[Int, Int, np.ndarray]:
    """Return starts, ends and newness of all numbers, each as those of the nearest told of (of two
    as near: the lower)."""
    everyone = np.arange(count)
    above = np.clip(np.searchsorted(numbers, everyone), 0, len(numbers) - 1)
    below = np.maximum(above - 1, 0)
    to_above = np.abs(numbers[above] - everyone)
    nearest = np.where(np.abs(numbers[below] - everyone) <= to_above, below, above)
    nearest = np.where(to_above == 0, above, nearest)
    start, end, new = (column[nearest].copy() for column in told)
    return start, end, new


def _nowhere(numbers: Int, never: Int, machine: int) -> Int:
    """Return which numbers without a failure belong to no node, where there are more numbers than
    nodes.

    Those stay that lie in the narrowest gaps between numbers that failed, then those nearest to
    one.
    """
    spare = len(numbers) + len(never) - machine
    if machine == 0 or spare <= 0 or len(never) == 0:
        return never[:0]
    place = np.searchsorted(numbers, never)
    inner = (place > 0) & (place < len(numbers))
    below = numbers[np.maximum(place - 1, 0)]
    above = numbers[np.minimum(place, len(numbers) - 1)]
    width = np.where(inner, above - below, np.iinfo(np.int64).max)
    distance = np.minimum(np.abs(never - below), np.abs(above - never))
    return never[np.lexsort((never, distance, width))][max(0, len(never) - spare) :]
