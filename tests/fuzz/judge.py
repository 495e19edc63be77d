"""What counts as found: everything that a command must not do, whatever a file holds."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

SECONDS: Final = 20
LONG: Final = 2_500
"""Characters of a refusal that nobody reads."""
MEMORY: Final = 1 << 30
USABLE, REFUSED, INTERRUPTED = 0, 2, 130

ASKED: Final = (
    "forestall: --system: is missing; ",
    "forestall: --warm-up: '1 d' is not allowed; expected less than the ",
)
"""Refusals that ask for an option, or for another, which a damaged file may need where the good one
did not."""
CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
DIRECTIONS: Final = re.compile(r"[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
WARNED: Final = re.compile(r"Warning: |Exception ignored|Fatal Python error|panicked at")
OUTSIDE: Final = re.compile("IndexError: index is out of bounds")
"""What Numba raises where it checks bounds; a reader's guard would make a refusal of it."""
FRAME: Final = re.compile(r'File "[^"]*?src/(forestall/[^"]+)", line (\d+), in (\S+)')
RAISED: Final = re.compile(r"^(\w[\w.]*)(?::|$)", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What a command did.

    Attributes
    ----------
    code : its exit code; minus the signal that ended it
    late : whether it was ended because it took too long by the clock
    cpu, wall : seconds
    memory : most bytes that it had at once
    out, err : what it printed
    """

    code: int
    late: bool
    cpu: float
    wall: float
    memory: int
    out: bytes
    err: bytes


class Found(NamedTuple):
    """A find: what was wrong, and where or with what."""

    what: str
    where: str


def judged(
    outcome: Outcome,
    *,
    names: tuple[str, ...],
    codes: tuple[int, ...] = (USABLE, REFUSED),
    json_asked: bool = False,
    seconds: int = SECONDS,
    memory: int = MEMORY,
    left: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] = ((), (), ()),
) -> Found | None:
    """Return what a command did wrong, None where nothing.

    Parameters
    ----------
    names : of which one stands in a refusal: of files, or of the option that told of one
    codes : exit codes that it may have
    json_asked : whether it was asked for JSON
    seconds, memory : of which it may take less
    left : files that are new, changed and gone
    """
    err = outcome.err.decode("utf-8", "replace")
    if OUTSIDE.search(err):
        return Found("index out of bounds in a kernel", _line(err, OUTSIDE))
    if "Traceback" in err:
        return Found("traceback", _place(err))
    if outcome.late or outcome.code == -signal.SIGXCPU or outcome.cpu >= seconds > 0:
        return Found("slow", f"{outcome.cpu:.0f} s of processor, {outcome.wall:.0f} s")
    if outcome.code < 0:
        return Found("killed", f"signal {-outcome.code}; {_place(err)}")
    if outcome.code not in codes:
        return Found("exit code", str(outcome.code))
    if outcome.memory > memory:
        return Found("memory", f"{outcome.memory / 2**30:.1f} GB")
    if WARNED.search(err):
        return Found("warning", _line(err, WARNED))
    return _printed(outcome, err, json_asked) or _left(outcome, err, names, left)


def _printed(outcome: Outcome, err: str, json_asked: bool) -> Found | None:
    try:
        out = outcome.out.decode()
    except UnicodeDecodeError as error:
        return Found("not UTF-8", repr(outcome.out[max(0, error.start - 30) : error.end]))
    for what, pattern in (("control character", CONTROLS), ("direction override", DIRECTIONS)):
        for text in (out, err):
            match = pattern.search(text)
            if match:
                near = text[max(0, match.start() - 40) : match.end() + 20]
                return Found(what, repr(near))
    if json_asked and outcome.code == USABLE:
        try:
            json.loads(out)
        except ValueError as error:
            return Found("JSON", str(error))
    return None


def _left(
    outcome: Outcome,
    err: str,
    names: tuple[str, ...],
    left: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
) -> Found | None:
    new, changed, gone = left
    if changed or gone:
        return Found("changed", ", ".join((*changed, *gone)))
    litter = [name for name in new if outcome.code != USABLE or Path(name).name.startswith(".")]
    if litter and outcome.code in (REFUSED, USABLE):
        return Found("left behind", ", ".join(sorted(litter)[:4]))
    if outcome.code == REFUSED and not err.startswith(ASKED):
        if not err.startswith("forestall: ") or err.count("\n") != 1 or outcome.out:
            return Found("refusal", repr((err + outcome.out.decode("utf-8", "replace"))[:200]))
        if not any(name in err for name in names):
            return Found("nameless refusal", err.strip()[:200])
        if len(err) > LONG:
            return Found("long refusal", err[:200])
    return None


def _place(err: str) -> str:
    """Return the innermost line of ours in a traceback, and what was raised."""
    frames = FRAME.findall(err)
    raised = [line for line in err.splitlines() if RAISED.match(line) and "Traceback" not in line]
    said = raised[-1][:160] if raised else ""
    file, line, function = frames[-1] if frames else ("", "", "")
    return f"{file}:{line} {function}: {said}"


def _line(text: str, pattern: re.Pattern[str]) -> str:
    return next((line.strip()[:200] for line in text.splitlines() if pattern.search(line)), "")
