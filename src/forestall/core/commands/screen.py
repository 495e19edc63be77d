"""What is printed: tables, paragraphs and a progress bar, at most 100 columns wide."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from forestall.core._lazy import lazily
from forestall.core.commands.output import GuardedStream, own_codes
from forestall.core.commands.spellings import spelled
from forestall.core.model.spelling import all_named
from forestall.core.model.units import told_bytes
from forestall.core.show.clean import ascii_json, one_line
from forestall.core.show.text import GAP, brief_of, grid

with lazily():
    from rich import console as rich_console
    from rich import progress as rich_progress

if TYPE_CHECKING:
    from rich.progress import Progress

    from forestall.core.show.report import Report

WIDTH = 100
LONGEST = 10_000
"""Longer cells of tables are cut."""
PATIENCE = 1.0
"""Seconds before a bar appears: short work needs none."""
EVERY = 0.2
"""Seconds between two changes of a line that tells how far work is."""


def say(text: str = "", *, indent: int = 0, error: bool = False) -> None:
    """Print a paragraph: wrapped between words on a terminal, one line elsewhere."""
    stream = sys.stderr if error else sys.stdout
    lead, text = " " * indent, one_line(text)
    if text and stream.isatty():
        width = min(WIDTH, shutil.get_terminal_size().columns)
        text = textwrap.fill(
            text,
            width,
            initial_indent=lead,
            subsequent_indent=lead + "  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    else:
        text = (lead + text).rstrip()
    print(text, file=stream)


def say_json(value: Any) -> None:
    """Print valid JSON: no NaN, and nothing but plain characters."""
    say_json_text(json.dumps(value, indent=2, allow_nan=False))


def say_json_text(text: str) -> None:
    """Print JSON that somebody else wrote, in plain characters."""
    print(ascii_json(text))


def say_utf8(text: str) -> None:
    """Print text in a format that is always UTF-8, such as OpenMetrics."""
    if isinstance(sys.stdout, GuardedStream):
        sys.stdout.write_utf8(text)
    else:
        print(text, end="")


def say_report(report: Report) -> None:
    """Print a report in brief, parameters as they are typed."""
    wrap = sys.stdout.isatty()
    width = min(WIDTH, shutil.get_terminal_size().columns) if wrap else WIDTH
    print(brief_of(all_named(report, spelled), width=width, wrap=wrap), end="")


def show(
    rows: Iterable[Sequence[str]],
    heads: Sequence[str] = (),
    *,
    right: Sequence[int] = (),
    wrap: Sequence[int] = (-1,),
) -> None:
    """Print a table without lines; columns in `right` are aligned to the right.

    Those in `wrap` (the last one) have several lines where they must.
    """
    listed = [tuple(row) for row in rows]
    count = max((len(row) for row in listed), default=len(heads))
    if not count:
        print()
        return
    listed = [(*row, *[""] * (count - len(row))) for row in listed]
    named = [*heads, *[""] * (count - len(heads))] if heads else ()
    on_terminal = sys.stdout.isatty()
    width = min(WIDTH, shutil.get_terminal_size().columns) if on_terminal else WIDTH
    if not listed:
        listed, named = [tuple(named)], ()
    soft = [k % count for k in wrap]
    lines = grid(listed, named, width - GAP, right=right, wrap=soft, most=LONGEST)
    if heads and on_terminal:
        lines[0] = f"\x1b[1m{lines[0]}\x1b[0m"
    with own_codes():
        print("\n".join(lines))


class ProgressBar:
    """A progress bar with the time left, on standard error: only on a terminal, and not at once."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._on = not quiet and sys.stderr.isatty()
        self._began = time.monotonic()
        self._bar: Progress | None = None
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        if not self._on or (self._bar is None and time.monotonic() - self._began < PATIENCE):
            return
        if self._bar is None:
            self._bar = _new_bar()
            self._bar.start()
            self._task = self._bar.add_task(self._what, total=total)
        self._bar.update(self._task, completed=done, total=total)

    def tell(self, text: str) -> None:
        """Say what is being done, on a terminal."""
        if self._on:
            print(text, file=sys.stderr, flush=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


class RateLine:
    """How far work is of which nobody knows the end: a line on standard error with bytes and their
    rate, only on a terminal, and not at once."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._on = not quiet and sys.stderr.isatty()
        self._began = self._last = time.monotonic()

    def __enter__(self) -> RateLine:
        return self

    def __call__(self, done: int, text: str) -> None:
        """Show that so many bytes are done, and a text."""
        now = time.monotonic()
        if not self._on or now - self._began < PATIENCE or now - self._last < EVERY:
            return
        self._last = now
        rate = f" {told_bytes(done)}, {told_bytes(int(done / (now - self._began)))}/s," * (done > 0)
        line = one_line(f"{self._what}{rate} {text}")[: WIDTH - 1]
        with own_codes():
            print(f"\r{line:<{WIDTH - 1}}", end="", file=sys.stderr, flush=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._on and self._last > self._began:
            with own_codes():
                print(f"\r{'':<{WIDTH - 1}}\r", end="", file=sys.stderr, flush=True)


def _new_bar() -> rich_progress.Progress:
    return rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("time left"),
        rich_progress.TimeRemainingColumn(),
        console=rich_console.Console(file=getattr(sys.stderr, "under", sys.stderr)),
        transient=True,
    )
