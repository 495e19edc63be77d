"""Records of a log as they are gathered chunk by chunk: small whole numbers, and names once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.packed import DAMAGES, Damage
from forestall.core.model.cleaning import Cleaning
from forestall.logs.failures.lines import UNKNOWN_PLACE
from forestall.logs.ras.kinds import Templates, masked
from forestall.logs.ras.layouts import WORDS

with lazily():
    import polars as pl


Int = npt.NDArray[np.int64]
NO_PLACE = ("", "NULL", "null", "UNKNOWN_LOCATION", "-")

MOST_NAMED = 100_000
"""So many lines of one kind of dirt are named; the rest of them are only counted, since a log of
millions of lines can be all dirt."""


@dataclass
class NumberedNames:
    """Numbers for names, in the order in which they come."""

    numbers: dict[str, int] = field(default_factory=dict)

    def read(self, names: Iterable[str]) -> list[int]:
        """Return the number of each name; new ones get the next."""
        book = self.numbers
        return [book.setdefault(name, len(book)) for name in names]

    def names(self) -> tuple[str, ...]:
        """Return the names by number."""
        return tuple(self.numbers)


@dataclass
class RasColumns:
    """What was read so far.

    Attributes
    ----------
    findings : what was found wrong, by line
    templates : how kinds are made of messages
    least : records below this severity are not kept, though their places are
    dated : whether times are Unix seconds
    labels : whether the log labels alerts
    change_times : what makes the times of the log of those that were added, all at once
    """

    findings: Findings
    templates: Templates
    least: int | None = None
    dated: bool = True
    labels: bool = False
    change_times: Callable[[Int], Int] | None = None
    places: NumberedNames = field(default_factory=NumberedNames)
    kinds: NumberedNames = field(default_factory=NumberedNames)
    count: int = 0
    disorder: int = 0
    _last: int | None = None
    _named: dict[str, int] = field(default_factory=dict)
    _columns: list[tuple[npt.NDArray[np.generic], ...]] = field(default_factory=list)

    def add(self, frame: pl.DataFrame, *, masks: bool) -> None:
        """Add good records.

        `frame` has line, time (int64), place, severity (int8), head and message (text, of which the
        kind is made: `head` always, `message` with what varies blanked where it `masks`), and where
        the log has labels alert.
        """
        if len(frame) == 0:  # Polars makes text of columns without rows
            return
        self.count += len(frame)
        frame = frame.with_columns(place=self._known_places(frame))
        time = frame["time"].to_numpy()
        self._follow(frame["line"].to_numpy(), time)
        place = coded(frame["place"], self.places)
        severity = frame["severity"].to_numpy()
        keep = np.ones(len(frame), dtype=np.bool_)
        if self.least is not None:
            keep = severity >= self.least
            frame = frame.filter(pl.Series(keep))
        kind = self._kinds_of(frame, masks)
        alert = np.zeros(0, dtype=np.bool_)
        if self.labels:
            alert = frame["alert"].to_numpy()
        self._columns.append((time[keep], place[keep], severity[keep], kind, alert))

    def columns(self) -> list[npt.NDArray[np.generic]]:
        """Return time, place, severity, kind, alert of all records, in the order of the log."""
        if not self._columns:
            types = (np.int64, np.int32, np.int8, np.int32, np.bool_)
            return [np.empty(0, dtype=one) for one in types]
        whole = [np.concatenate(parts) for parts in zip(*self._columns, strict=True)]
        self._columns.clear()
        if self.change_times is not None:
            whole[0] = self.change_times(whole[0])
        return whole

    def severities(self, words: pl.Series, lines: pl.Series) -> pl.Series:
        """Return the severity of each word, int8; unknown words are noted."""
        text = words.fill_null("").str.strip_chars().str.to_uppercase()
        known = text.unique(maintain_order=True)
        strange = [word for word in known.to_list() if word not in WORDS]
        if strange:
            where = lines.filter(text.is_in(strange)).to_list()
            said = "records of an unknown severity (UNKNOWN)"
            self._note("no_severity", said, where)
        codes = pl.Series([int(WORDS.get(word, 0)) for word in known], dtype=pl.Int8)
        return text.replace_strict(known, codes, return_dtype=pl.Int8)

    def refuse(
        self, kind: str, text: str, lines: pl.Series, said: pl.Series, field: str | None, what: str
    ) -> None:
        """Note lines that are left out: what each said, and what was expected."""
        some = self._first(kind, len(lines))
        found = (
            LineFinding(line, f"{shown(value)} {what}", field)
            for line, value in zip(lines.head(some).to_list(), said.head(some), strict=True)
        )
        self.findings.add(kind, text, "left out", found)

    def spoilt(self, damage: Damage, lines: Iterable[int]) -> None:
        """Note lines that are no plain text, and were changed."""
        places = list(lines)
        if damage == "encoding":  # messages are free text
            self._note(damage, DAMAGES[damage][0], places)
        else:
            self.findings.spoilt(damage, places[: self._first(damage, len(places))])

    def cleaning(self) -> Cleaning:
        """Return what was found; raises TraceError as `Findings.cleaning` does."""
        told = self.findings.cleaning(self.count, "records")
        for kind, count in self._named.items():
            if count > MOST_NAMED:
                more = f"{count - MOST_NAMED:,} more lines that are not named"
                told = told.plus(f"more_{kind}", f"notes on {kind}: {more}", "kept", [more])
        return told

    def _first(self, kind: str, count: int) -> int:
        """Count lines of a kind, and return how many of them are to be named."""
        before = self._named.get(kind, 0)
        self._named[kind] = before + count
        return max(0, min(count, MOST_NAMED - before))

    def _note(self, kind: str, text: str, lines: Sequence[int]) -> None:
        if lines:
            self.findings.note(kind, text, lines[: self._first(kind, len(lines))])

    def _known_places(self, frame: pl.DataFrame) -> pl.Series:
        place = frame["place"].fill_null("")
        missing = place.is_in(list(NO_PLACE))
        if missing.any():
            where = frame["line"].filter(missing).to_list()
            text = f"records without a place ({UNKNOWN_PLACE!r})"
            self._note("no_place", text, where)
            place = place.set(missing, UNKNOWN_PLACE)
        assert place.dtype == pl.String
        return place

    def _kinds_of(self, frame: pl.DataFrame, masks: bool) -> npt.NDArray[np.int32]:
        head = frame["head"].fill_null("")
        if self.templates == "none" or "message" not in frame.columns:
            return coded(head, self.kinds)
        both = frame.select(
            pl.concat_str("head", "message", separator=" ", ignore_nulls=True)
        ).to_series()
        if not masks:
            return coded(both, self.kinds)
        texts = both.unique(maintain_order=True)
        codes = coded(masked(texts), self.kinds)
        found = both.replace_strict(texts, pl.Series(codes), return_dtype=pl.Int32)
        return found.to_numpy().astype(np.int32)

    def _follow(self, lines: Int, time: Int) -> None:
        """Count and note records that are earlier than the one above them."""
        if len(time) == 0:
            return
        before = time[0] if self._last is None else self._last
        late = np.flatnonzero(np.diff(time, prepend=before) < 0)
        self._last = int(time[-1])
        self.disorder += len(late)
        text = "records earlier than the one above them (sorted)"
        self._note("unsorted", text, lines[late].tolist())


def coded(texts: pl.Series, book: NumberedNames) -> npt.NDArray[np.int32]:
    """Return the number of each text in a book, int32[n]."""
    names = texts.unique(maintain_order=True)
    numbers = pl.Series(book.read(names.to_list()), dtype=pl.Int32)
    codes = texts.replace_strict(names, numbers, return_dtype=pl.Int32)
    return codes.to_numpy().astype(np.int32)
