"""The Failure Trace Archive's event traces (``event_trace.tab``).

Kondo, Javadi, Iosup and Epema, "The Failure Trace Archive: enabling comparative analysis of
failures in diverse distributed systems", CCGRID 2010. Each event is a span in which a node was up
(type 1) or down (type 0). A failure is the start of a down event, its downtime the event's length,
its kind the code of the up event that it ended, where there is one. Nodes are the node ids in
ascending order (names are not unique: some lost their trailing zeros). `system` takes the nodes
whose names start with it and a dot or slash (``19`` of ``19.0007``). A node is in service from its
first event to the end of its last; that it was new then is not told.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.findings import Findings, LineFinding, listed
from forestall.core.files.packed import read_bytes
from forestall.core.files.tokens import filled_lines, single_spaced
from forestall.core.model.errors import EmptyTraceError, ParameterError
from forestall.core.model.units import MAX_SECONDS
from forestall.logs.failures.raw import FailureFormat, Head, Int, Options, RawFailures, Service

with lazily():
    import polars as pl
from forestall.core.files.delimited import csv_frame

COLUMNS = (
    *("event_id", "component_id", "node_id", "platform_id", "node_name"),
    *("event_type", "event_start_time", "event_stop_time", "event_end_reason"),
)
DOWN, UP = 0, 1
_WHOLE = ("node_id", "event_type", "event_start_time", "event_stop_time")


def looks_like(head: Head) -> bool:
    """Return whether the first line names the archive's columns."""
    return bool(head.lines) and tuple(head.lines[0].lstrip("# ").split()) == COLUMNS


def read(path: Path, options: Options) -> RawFailures:
    """Read the down events of one trace."""
    findings = Findings(path, options.strict)
    frame, lines = _events(path, findings)
    if options.system is not None:
        mine = _of_system(frame["node_name"], options.system)
        frame, lines = frame.filter(mine), lines[mine.to_numpy()]
    kind, start, stop = (frame[name].to_numpy() for name in _WHOLE[1:])
    ids, node = np.unique(frame["node_id"].to_numpy(), return_inverse=True)
    backwards = stop < start
    findings.add(
        "ends_before_start",
        "events that end before they start",
        "left out",
        (
            LineFinding(int(line), f"{b} is before the start {a}", "event_stop_time")
            for line, a, b in zip(lines[backwards], start[backwards], stop[backwards], strict=True)
        ),
    )
    down = (kind == DOWN) & ~backwards
    text = "down events of no length"
    findings.note("no_length", text, lines[down & (start == stop)])
    cleaning = findings.cleaning(int(np.count_nonzero(down)), "failures")
    _, firsts = np.unique(node, return_index=True)
    names = frame["node_name"][firsts].to_list()
    return RawFailures(
        start[down],
        node[down].astype(np.int64),
        len(ids),
        downtime=(stop - start)[down],
        kind=_reasons(frame, down),
        names=tuple(names),
        cleaning=cleaning,
        service=_service(node[~backwards], start[~backwards], stop[~backwards], len(ids)),
    )


def _service(node: Int, start: Int, stop: Int, nodes: int) -> Service:
    """Return from when to when the archive tells of each node, whether up or down (an event of no
    length counts as a second)."""
    return Service.seen(node, start, np.maximum(stop, start + 1), nodes)


def _of_system(names: pl.Series, system: str) -> pl.Series:
    mine = names.str.starts_with(f"{system}.") | names.str.starts_with(f"{system}/")
    if not mine.any():
        systems = sorted(set(names.str.extract(r"^(.*?)[./]").drop_nulls().to_list()))
        raise ParameterError("system", system, f"one of {listed(systems) or 'none'}")
    return mine


def _reasons(frame: pl.DataFrame, down: np.ndarray) -> list[str] | None:
    """Return for each down event the code of the up event that it ended; None where none has."""
    reasons = frame.filter(
        (pl.col("event_type") == UP) & ~pl.col("event_end_reason").is_in(["NULL", ""])
    ).select("node_id", pl.col("event_stop_time").alias("at"), "event_end_reason")
    if len(reasons) == 0:
        return None
    starts = frame.filter(pl.Series(down)).select("node_id", pl.col("event_start_time").alias("at"))
    keys = ["node_id", "at"]
    joined = starts.join(
        reasons.unique(keys, keep="first", maintain_order=True),
        on=keys,
        how="left",
        maintain_order="left",
    )
    return joined["event_end_reason"].fill_null("").to_list()


def _events(path: Path, findings: Findings) -> tuple[pl.DataFrame, Int]:
    """Return the well-formed events and their 1-based lines."""
    text = read_bytes(path, findings.spoilt)
    lines = np.asarray(filled_lines(text), dtype=np.int64) + 1
    spaced = single_spaced(text)
    _, _, body = spaced.partition(b"\n")
    if not body:
        raise EmptyTraceError(path, "has no failures: the log is empty")
    frame = csv_frame(
        " ".join((*COLUMNS, "more")).encode() + b"\n" + body,
        separator=" ",
        schema={n: pl.Int64 if n in _WHOLE else pl.String for n in (*COLUMNS, "more")},
        ignore_errors=True,
        quote_char=None,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )
    missing = [pl.col(name).is_null() for name in (*_WHOLE, "event_end_reason")]
    strange = ~pl.col("event_type").is_in([DOWN, UP]) | pl.col("more").is_not_null()
    for name in ("event_start_time", "event_stop_time"):
        strange |= ~pl.col(name).is_between(-MAX_SECONDS, MAX_SECONDS)
    bad = frame.select(pl.any_horizontal(*missing, strange).fill_null(True)).to_series()
    numbers = lines[1:]
    message = f"not an event; expected {len(COLUMNS)} fields: {' '.join(COLUMNS)}"
    found = (LineFinding(int(line), message) for line in numbers[bad.to_numpy()])
    findings.add("malformed", "malformed events", "left out", found)
    return frame.filter(~bad), numbers[~bad.to_numpy()]


FORMAT = FailureFormat("fta", "Failure Trace Archive: event_trace.tab", looks_like, read)
