"""Rows of sacct as small arrays, a piece at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.coded import Coded
from forestall.core.model.errors import ParameterError
from forestall.core.model.hostlist import expand
from forestall.core.model.job_records import NEVER, base_state
from forestall.core.model.units import MAX_SECONDS
from forestall.slurm.notes import OddNotes
from forestall.slurm.records.accounting import UNKNOWN
from forestall.slurm.sacct_text import Piece
from forestall.slurm.task_rows import Columns, Unfolding, groups_of, id_of
from forestall.slurm.times import TimeColumn, elapsed_of, limit_of, moments_of, settle
from forestall.slurm.words import MOST_NAMES, Growing, Words, by_word, coded, mebibytes

with lazily():
    import polars as pl


Long = npt.NDArray[np.int64]
Short = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]

LONGS: Final = ("job", "submit", "eligible", "start", "end", "suspended", "limit", "task", "het")
SHORTS: Final = ("nodes", "asked", "cpus", "gpus", "exit_code", "signal", "at_once", "memory")
LOCAL: Final = 1
"""Flag of rows whose dates have no zone."""
TOO_LONG: Final = 2
"""Flag of rows whose elapsed time does not fit between Start and End."""
_CLOSE: Final = 60
"""Seconds by which the elapsed time may differ from End minus Start."""
NO_NODES: Final = ("None assigned", "(null)", "None", "Unknown", "N/A")
TEXTS: Final = {
    "state": "State", "reason": "Reason", "user": "User", "account": "Account",
    "partition": "Partition", "qos": "QOS", "name": "JobName", "nodelist": "NodeList",
    "failed_node": "FailedNode", "excluded": "SubmitLine",
}  # fmt: skip
_BLANK: Final = {
    "reason": ("None",), "qos": ("Unknown",), "nodelist": NO_NODES, "failed_node": NO_NODES,
}  # fmt: skip

_SCALES = {"": 1, "K": 1000, "M": 1_000_000, "G": 1_000_000_000}
_COUNT = re.compile(r"(\d+(?:\.\d*)?)([KMG]?)")
_MOST = int(np.iinfo(np.int32).max)
_CLUSTER: Final = r"^[A-Za-z0-9_.-]*$"

_FLAGS: Final = frozenset({
    "--contiguous", "--disable-status", "--exact", "--exclusive", "--get-user-env", "--hold",
    "--ignore-pbs", "--immediate", "--interactive", "--kill-on-invalid-dep", "--label",
    "--multi-prog", "--no-bell", "--no-kill", "--no-requeue", "--no-shell", "--nohold",
    "--overcommit", "--overlap", "--oversubscribe", "--parsable", "--preserve-env", "--propagate",
    "--pty", "--quiet", "--quit-on-interrupt", "--reboot", "--requeue", "--resv-ports", "--share",
    "--spread-job", "--test-only", "--unbuffered", "--use-min-nodes", "--verbose", "--version",
    "--wait", "--wait-all-nodes", "--whole", "--x11", "-H", "-I", "-K", "-O", "-Q", "-V", "-X",
    "-Z", "-h", "-k", "-l", "-s", "-u", "-v",
})  # fmt: skip
"""Options of sbatch, srun and salloc that take no word after them; all others may."""


class Sparse(NamedTuple):
    """Values of few rows: their places among all rows, and the values."""

    places: Long
    values: Long


class RowCollector:
    """Collects the rows of all pieces as columns; each task of an array that waits gets its row.

    Parameters
    ----------
    notes : takes what is odd
    zone : of dates without one; None: UTC
    cluster : whose rows are taken; None: of all
    """

    def __init__(self, notes: OddNotes, zone: str | None, cluster: str | None = None) -> None:
        self._notes = notes
        self._zone = zone
        self._cluster = cluster
        self._numbers = {name: Growing(np.int64) for name in LONGS}
        self._numbers |= {name: Growing(np.int32) for name in (*SHORTS, "restarts")}
        self._numbers["flags"] = Growing(np.int8)
        self._words = {
            name: Words(_BLANK.get(name, ()), MOST_NAMES if name == "name" else None)
            for name in TEXTS
        }
        self._sparse: dict[str, list[Sparse]] = {"shift": [], "planned": [], "seen": []}
        self._unfolding = Unfolding(notes)
        self.clusters: Counter[str] = Counter()
        """Rows by the cluster that they name, "" for none."""
        self.local: dict[str, None] = {}
        """Sources with dates that have no zone."""
        self.in_families = False
        """Whether the names of jobs became families."""

    def __len__(self) -> int:
        return len(self._numbers["job"])

    def take(self, piece: Piece) -> None:
        """Take in the rows of a piece; what cannot be used is noted and left out."""
        piece = self._of_cluster(piece)
        frame = piece.frame
        states = coded(frame["State"])
        found: Columns = {}
        found["job"] = self._ids(frame)
        found["exit_code"], found["signal"] = _exits(frame)
        elapsed = _elapsed(frame)
        found["suspended"] = _by(frame, "Suspended", elapsed_of, 0)
        bad = self._times(piece, found, states, elapsed)
        found["limit"] = _limits(frame)
        found["restarts"] = _whole(frame, "Restarts").astype(np.int32)
        never = found["start"] == NEVER
        _sizes(frame, never, found)
        keep = ~self._refused(piece, found, bad)
        found["task"], found["het"] = groups_of(frame)
        found["at_once"] = np.full(len(frame), UNKNOWN, dtype=np.int32)
        if not bool(keep.all()):
            piece = Piece(frame.filter(keep), piece.lines[keep], piece.source)
            found = {name: column[keep] for name, column in found.items()}
        frame = self._unfolding(piece, found)
        for name, unusual in (("shift", 0), ("planned", NEVER), ("seen", 0)):
            values = found.pop(name)
            places = np.flatnonzero(values != unusual)
            if len(places):
                self._sparse[name].append(Sparse(places + len(self), values[places]))
        for name, values in found.items():
            self._numbers[name].add(values)
        for name, theirs in TEXTS.items():
            column = _excluded(frame) if name == "excluded" else _column(frame, theirs)
            if column is None:
                self._words[name].none(len(frame))
            else:
                self._words[name].add(column)

    def sparse(self, name: str) -> Sparse:
        """Return what few rows have: ``shift``, by how many seconds an ambiguous Submit may be
        later; ``planned``, the Start of a job that waits; ``seen``, when a run was under way."""
        none = np.empty(0, np.int64)
        parts = [Sparse(none, none), *self._sparse[name]]
        return Sparse(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _of_cluster(self, piece: Piece) -> Piece:
        """Return the rows of the cluster that is asked for, and count whose rows there are."""
        if "Cluster" not in piece.frame.columns:
            self.clusters[""] += len(piece.frame)
            return piece
        names = piece.frame["Cluster"].fill_null("").str.strip_chars()
        damaged = ~names.str.contains(_CLUSTER)
        if damaged.any():
            self._notes.lines("bad_cluster", "rows with an unusable cluster", "left out",
                              piece.source, piece.lines[damaged.to_numpy()],
                              "Cluster: expected a name")  # fmt: skip
            piece = Piece(piece.frame.filter(~damaged), piece.lines[~damaged.to_numpy()],
                          piece.source)  # fmt: skip
            names = names.filter(~damaged)
        for name, count in names.value_counts().iter_rows():
            self.clusters[name] += count
        if self._cluster is None:
            return piece
        mine = names == self._cluster
        return Piece(piece.frame.filter(mine), piece.lines[mine.to_numpy()], piece.source)

    def long(self, name: str) -> npt.NDArray[Any]:
        """Return a column of numbers, and forget it."""
        return self._numbers.pop(name).values

    def words(self, name: str) -> Coded:
        """Return a column of text as `Coded`, and forget it."""
        column = self._words.pop(name)
        self.in_families |= column.in_families
        return column.column()

    def _ids(self, frame: pl.DataFrame) -> Long:
        column = frame["JobIDRaw" if "JobIDRaw" in frame.columns else "JobID"]
        number = column.cast(pl.Int64, strict=False)
        ids = number.fill_null(UNKNOWN).to_numpy().copy()
        rest = np.flatnonzero(number.is_null().to_numpy())
        if len(rest):
            ids[rest] = [id_of(text) for text in column.gather(rest).to_list()]
        return ids

    def _times(
        self,
        piece: Piece,
        found: Columns,
        states: tuple[list[str], Short],
        elapsed: Long,
    ) -> Bool:
        """Fill in the four times of each row; return which rows have one that cannot be read."""
        frame, lines = piece.frame, piece.lines
        times = {
            name: moments_of(frame[name], self._zone)
            if name in frame.columns
            else TimeColumn.none(len(frame))
            for name in ("Submit", "Eligible", "Start", "End")
        }
        length = np.where(elapsed >= 0, elapsed + np.maximum(found["suspended"], 0), UNKNOWN)
        whole = settle(times["Start"], times["End"], length)
        start, end = whole.start.copy(), whole.end.copy()
        if any(bool(one.local.any()) for one in times.values()):
            self.local[piece.source] = None
        waiting = _among(states, ("PENDING",))
        going = _among(states, ("RUNNING", "SUSPENDED", "STOPPED"))
        end[waiting | going] = NEVER
        start[waiting] = NEVER
        nowhere = np.zeros(len(start), dtype=np.bool_)
        if "NodeList" in frame.columns:
            nowhere = frame["NodeList"].is_in(NO_NODES).to_numpy()
        start[nowhere & (start == end)] = NEVER
        submit, eligible = (_before(times[name], start) for name in ("Submit", "Eligible"))
        submit = np.where(submit < NEVER, submit, np.where(eligible < NEVER, eligible, start))
        found["submit"] = np.where(submit < NEVER, submit, end)
        found["eligible"] = np.where(eligible < NEVER, eligible, UNKNOWN)
        found["start"], found["end"] = start, end
        under_way = going & (start < NEVER) & (length >= 0)
        found["seen"] = np.where(under_way, start + length, 0)
        found["planned"] = np.where(waiting, whole.start, NEVER)
        ran = (start < NEVER) & (end < NEVER) & (end >= start)
        local = np.logical_or.reduce([one.local for one in times.values()])
        found["flags"] = (
            LOCAL * local + TOO_LONG * (whole.unlike & ran & (end - start < length - _CLOSE))
        ).astype(np.int8)
        self._note_times(piece, whole, ran)
        other = times["Submit"].doubtful | times["Eligible"].doubtful
        submitted = times["Submit"]
        later = (submit == submitted.first) & (submitted.second <= start) & submitted.doubtful
        found["shift"] = np.where(later, np.maximum(submitted.second - submitted.first, 0), 0)
        text = (
            "rows whose Submit or Eligible is ambiguous (clock change), resolved by the start "
            "and the order of ids, else taken as the earlier"
        )
        self._notes.lines("twice_waiting", text, "kept", piece.source, lines[other])
        bad = np.zeros(len(frame), dtype=np.bool_)
        for name, one in times.items():
            self._notes.lines("bad_time", "rows with a time that cannot be read", "left out",
                              piece.source, lines[one.bad & ~bad],
                              f"{name}: expected a time such as 2024-01-31T12:00:00")  # fmt: skip
            bad |= one.bad
        return bad

    def _note_times(self, piece: Piece, whole: Any, ran: Bool) -> None:
        for kind, text, action, rows in (
            ("twice", "rows with an ambiguous or skipped time (clock change), resolved by "
             "the elapsed time", "kept", whole.settled),
            ("twice_guessed", "rows with an ambiguous or skipped time (clock change), not "
             "resolved", "kept", whole.guessed),
            ("zones_mixed", "rows whose end was moved by whole hours to fit the elapsed time",
             "changed", whole.moved),
            ("elapsed_differs", "rows whose elapsed time is not End minus Start", "kept",
             whole.unlike),
        ):  # fmt: skip
            self._notes.lines(kind, text, action, piece.source, piece.lines[rows & ran])  # type: ignore[arg-type]

    def _refused(self, piece: Piece, found: Columns, bad: Bool) -> Bool:
        lines, source = piece.lines, piece.source
        nameless = (found["job"] < 0) & ~bad
        self._notes.lines("no_id", "rows without a job id", "left out", source, lines[nameless],
                          "JobID: expected a job id")  # fmt: skip
        bad = bad | nameless
        ran = (found["start"] < NEVER) & (found["end"] < NEVER)
        backwards = ran & (found["end"] < found["start"]) & ~bad
        self._notes.lines("backwards", "runs that end before they start", "left out", source,
                          lines[backwards], "End: expected a time not before Start")  # fmt: skip
        bad |= backwards
        return np.asarray(bad)


def _among(states: tuple[list[str], Short], wanted: tuple[str, ...]) -> Bool:
    words, code = states
    return np.array([base_state(word) in wanted for word in words], dtype=np.bool_)[code]


def _column(frame: pl.DataFrame, name: str) -> pl.Series | None:
    if name == "User" and "UID" in frame.columns:
        if "User" not in frame.columns:
            return frame["UID"]
        blank = frame["User"].fill_null("") == ""
        if blank.any():
            return frame["User"].zip_with(~blank, frame["UID"])
    return frame[name] if name in frame.columns else None


def _by(frame: pl.DataFrame, name: str, meaning: Any, default: int) -> Long:
    """Return what each row's text means, `default` where there is none or it cannot be read."""
    if name not in frame.columns:
        return np.full(len(frame), default, dtype=np.int64)

    def told(word: str) -> int:
        value = meaning(word)
        return default if value is None or value < 0 else value

    return np.asarray(by_word(frame[name], told, np.int64))


def _elapsed(frame: pl.DataFrame) -> Long:
    if "ElapsedRaw" in frame.columns:
        raw = frame["ElapsedRaw"].cast(pl.Int64, strict=False).fill_null(UNKNOWN).to_numpy()
        return np.where(raw < MAX_SECONDS, raw, UNKNOWN)
    return _by(frame, "Elapsed", elapsed_of, UNKNOWN)


def _limits(frame: pl.DataFrame) -> Long:
    if "TimelimitRaw" in frame.columns:
        return _by(frame, "TimelimitRaw", lambda word: limit_of(word, raw=True), UNKNOWN)
    return _by(frame, "Timelimit", limit_of, UNKNOWN)


def _exits(frame: pl.DataFrame) -> tuple[Short, Short]:
    """Return exit codes and signals of ``0:9``, UNKNOWN where they are not told."""
    if "ExitCode" not in frame.columns:
        unknown = np.full(len(frame), UNKNOWN, dtype=np.int32)
        return unknown, unknown

    def told(word: str) -> tuple[int, int]:
        code, _, signal = word.partition(":")
        if not (code.isdecimal() and signal.isdecimal()):
            return UNKNOWN, UNKNOWN
        return min(int(code), _MOST), min(int(signal), _MOST)

    words, code = coded(frame["ExitCode"])
    table = np.array([told(word) for word in words], dtype=np.int32).reshape(-1, 2)
    return table[code, 0], table[code, 1]


def _count(text: str) -> int:
    """Return a whole number that may end in K, M or G; UNKNOWN where it is none."""
    match = _COUNT.fullmatch(text)
    if match is None:
        return UNKNOWN
    return min(round(float(match[1]) * _SCALES[match[2]]), _MOST)


class _Tres:
    """What the columns AllocTRES and ReqTRES tell, each text read once."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self._read: dict[str, dict[str, Long]] = {}

    def __call__(self, column: str, name: str) -> Long:
        """Return the counts of one resource, UNKNOWN where it is not named."""
        if column not in self._frame.columns:
            return np.full(len(self._frame), UNKNOWN, dtype=np.int64)
        if column not in self._read:
            words, code = coded(self._frame[column])
            rows = [tres_of(word) for word in words]
            self._read[column] = {
                kind: np.array([row[k] for row in rows], dtype=np.int64)[code]
                for k, kind in enumerate(("cpu", "node", "gpu", "mem"))
            }
        return self._read[column][name]


@lru_cache(maxsize=1 << 18)
def tres_of(text: str) -> tuple[int, int, int, int]:
    """Return processors, nodes, GPUs and memory (MiB) of a list of trackable resources, UNKNOWN
    where the list is empty; GPUs are those named without a type, else the sum over the types.

    >>> tres_of("billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=1")
    (8, 1, 2, 16384)
    """
    if not text:
        return UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
    found = {"cpu": UNKNOWN, "node": UNKNOWN, "gres/gpu": UNKNOWN}
    typed, memory = 0, UNKNOWN
    for item in text.split(","):
        name, _, number = item.partition("=")
        if name in found:
            found[name] = _count(number)
        elif name.startswith("gres/gpu:"):
            typed += max(_count(number), 0)
        elif name == "mem":
            memory = mebibytes(number)
    gpus = found["gres/gpu"]
    return found["cpu"], found["node"], typed if gpus < 0 else gpus, memory


def _sizes(frame: pl.DataFrame, never: Bool, found: Columns) -> None:
    """Fill in nodes, processors and GPUs: what the run had, and the nodes that were asked for."""
    tres = _Tres(frame)

    def counted(name: str) -> Callable[[], Long]:
        return lambda: _whole(frame, name)

    nodes = _first(
        never, counted("AllocNodes"), lambda: tres("AllocTRES", "node"), counted("NNodes")
    )
    listed = ~never & (nodes <= 0)
    if "NodeList" in frame.columns and bool(listed.any()):
        nodes[listed] = by_word(frame["NodeList"].filter(listed), _hosts, np.int64)
    asked = _first(None, counted("ReqNodes"), lambda: tres("ReqTRES", "node"))
    asked[asked == 0] = UNKNOWN
    waiting = never & (asked < 0)
    if bool(waiting.any()):  # before a job starts, NNodes is what it asked for
        total = _whole(frame, "NNodes")
        asked[waiting] = np.where(total[waiting] > 0, total[waiting], UNKNOWN)
    cpus = _first(never, counted("AllocCPUS"), counted("NCPUS"), lambda: tres("AllocTRES", "cpu"))
    gpus = _first(never, lambda: tres("AllocTRES", "gpu"))
    memory = _first(None, lambda: tres("AllocTRES", "mem"), lambda: tres("ReqTRES", "mem"))
    for column in (nodes, cpus, gpus):
        column[never] = 0
    found.update(nodes=nodes, asked=asked, cpus=cpus, gpus=gpus, memory=memory)


def _first(done: Bool | None, *columns: Callable[[], Long]) -> Long:
    """Return the first of the columns that tells something, row by row; they are only asked for
    where a row that is not `done` needs them."""
    whole = columns[0]().copy()
    for column in columns[1:]:
        unknown = whole < 0
        if not bool((unknown if done is None else unknown & ~done).any()):
            break
        whole = np.where(unknown, column(), whole)
    return np.asarray(whole)


def _whole(frame: pl.DataFrame, name: str) -> Long:
    """Return a column of whole numbers, UNKNOWN where it tells none."""
    if name not in frame.columns:
        return np.full(len(frame), UNKNOWN, dtype=np.int64)
    column = frame[name]
    number = column.cast(pl.Int64, strict=False)
    whole = np.clip(number.fill_null(UNKNOWN).to_numpy(), UNKNOWN, _MOST)
    rest = np.flatnonzero(number.is_null().to_numpy())
    if len(rest):
        whole[rest] = by_word(column.gather(rest), _count, np.int64)
    return np.asarray(whole)


def _hosts(text: str) -> int:
    if text in NO_NODES or not text:
        return UNKNOWN
    try:
        return len(expand(text))
    except ParameterError:
        return UNKNOWN


def _before(times: TimeColumn, start: Long) -> Long:
    """Return one reading of times that are not after the start, the first where both will do."""
    other = (times.first > start) & (times.second <= start)
    return np.where(other, times.second, times.first)


def _excluded(frame: pl.DataFrame) -> pl.Series | None:
    """Return the hosts that users excluded by an option of sbatch, srun or salloc."""
    if "SubmitLine" not in frame.columns:
        return None
    lines = frame["SubmitLine"].fill_null("")
    may = lines.str.contains("--exclude", literal=True) | lines.str.contains(" -x", literal=True)
    if not may.any():
        return pl.Series([""]).new_from_index(0, len(frame))
    words, code = coded(lines.zip_with(may, pl.Series([""])))
    return pl.Series([excluded_by(word) for word in words]).gather(code)


_TEXTS: Final = frozenset({"-J", "--job-name", "--comment", "--wrap", "--admin-comment"})


@lru_cache(maxsize=1 << 16)
def excluded_by(line: str) -> str:
    """Return the hosts that a command line excludes, as a hostlist; "" where it excludes none.

    >>> excluded_by("sbatch -N 2 -x n[1-3] job.sh -x n9")
    'n[1-3]'
    """
    words = line.split()[1:]
    found: list[str] = []
    k = 0
    while k < len(words) and words[k].startswith("-") and words[k] not in ("-", "--"):
        name, equal, value = words[k].partition("=")
        k += 1
        if not words[k - 1].startswith("--") and len(name) > 2:  # -N2, -xn3
            name, equal, value = name[:2], "=", words[k - 1][2:].removeprefix("=")
        elif not equal and name not in _FLAGS and k < len(words) and words[k][:1] != "-":
            value = words[k]
            k += 1
        if name in ("--exclude", "-x") and "/" not in value:  # else a file with the list
            found.append(value)
        # Slurm keeps no quotation marks: the words of a text follow as they are.
        while name in _TEXTS and k < len(words) and not set("-/.") & set(words[k]):
            k += 1
    hosts = ",".join(found)
    return hosts if _hosts(hosts) > 0 else ""
