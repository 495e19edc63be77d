"""Every error that forestall raises on purpose, as one tree.

    ForestallError
    ├── InputError            something that was given to us cannot be used (exit code 2)
    │   ├── TraceError        a file: names the file and, where there is one, the line and the field
    │   │   ├── EmptyTraceError   a log with nothing in it
    │   │   ├── UnwritableError   a file that cannot be written, such as on a full disk; an OSError
    │   │   └── LedgerError       a ledger that cannot be read or added to
    │   ├── MemoryLimitError  it would take more memory than may be used: says what would fit
    │   └── ParameterError    a parameter: names it, the value and what was allowed
    │       └── TransitionError   an event that the state of its job or node rules out
    ├── MissingExtraError     an optional dependency is not installed
    └── UnreachableError      a server that was asked does not answer (exit code 3)

Whatever else escapes is a defect of ours, not of the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from forestall.core.model.spelling import named

LONGEST: Final = 2_000
"""Characters of an error's text: what it quotes of a file may be of any length."""


def bounded(text: str) -> str:
    """Return the text of an error, without its middle where it is too long for people to read."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}...{text[-half:]}"


class ForestallError(Exception):
    """Root of the tree. Its text is one line that a user can act on.

    Parameters
    ----------
    message : what is wrong; the parameters that it names stand in braces
        (`forestall.core.model.spelling`)
    before : where or of what; it stands before the message as it is

    `exit_code` is that of a command which it ends.
    """

    exit_code = 2

    def __init__(self, message: str, *, before: str = "") -> None:
        self.message = message
        self.before = before
        super().__init__(bounded(before + named(message)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it come whole out of a worker process: kinds take arguments of their own."""
        return _again, (type(self), self.args), self.__dict__


def _again(kind: type[ForestallError], texts: tuple[Any, ...]) -> ForestallError:
    """Return an error with the text that it had."""
    made = kind.__new__(kind, *texts)
    made.args = texts  # an OSError takes none here
    return made


class InputError(ForestallError):
    """Something given from outside cannot be used."""


class TraceError(InputError):
    """A file that cannot be read as what it was said to be.

    Parameters
    ----------
    source : path of the file
    message : what was wrong and what was expected
    line : 1-based line number, where one is known
    field : name of the column or field, where one is known
    """

    def __init__(
        self,
        source: str | Path,
        message: str,
        *,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        self.source = str(source)
        self.line = line
        self.field = field
        where = self.source if line is None else f"{self.source}:{line}"
        what = message if field is None else f"{field}: {message}"
        super().__init__(what, before=f"{where}: ")


class EmptyTraceError(TraceError):
    """A log that is what it was said to be, and has nothing in it."""


@contextmanager
def of_system(source: str | Path, message: str) -> Iterator[None]:
    """Turn an OSError into a TraceError with this message and what the system said.

    >>> with of_system("jobs.csv", "cannot be read"):  # doctest: +SKIP
    ...     Path("jobs.csv").read_bytes()
    """
    try:
        yield
    except OSError as error:
        raise TraceError(source, f"{message}: {error.strerror or error}") from None


class UnwritableError(TraceError, OSError):
    """A file that cannot be written; `errno` and `strerror` are those of the system's error.

    Parameters
    ----------
    source : path of the file, as it was asked for
    error : what the system said
    """

    def __init__(self, source: str | Path, error: OSError) -> None:
        said = error.strerror or str(error).partition(" (os error")[0]  # as Polars has it
        super().__init__(source, f"cannot be written: {said}")
        self.errno, self.strerror, self.filename = error.errno, said, self.source

    def __str__(self) -> str:
        return str(self.args[0])


class LedgerError(TraceError):
    """A ledger that cannot be read or added to: its disk is full, its server is gone, another
    process writes it, or what should be added contradicts what stands in it."""


class MemoryLimitError(InputError):
    """Something that would take more memory than may be used; it was not begun.

    Parameters
    ----------
    message : what would take how much, and what would fit
    needed, allowed : bytes that it would take, and that may be taken
    before : the file that asks for it, as it is
    """

    def __init__(self, message: str, needed: float, allowed: float, before: str = "") -> None:
        self.needed, self.allowed = int(needed), int(allowed)
        super().__init__(message, before=before)


def brief(value: Any, most: int = 200) -> str:
    """Return a value as an error names it: on one line, and no longer than people read.

    >>> brief("x" * 300, 12)
    "'xxxxxxxx..."
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # thousands of digits, or nested too deep
        return f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[: most - 3]}..."


class ParameterError(InputError):
    """A parameter outside what is allowed.

    Parameters
    ----------
    name : the parameter
    value : what was given, None where nothing was
    allowed : what would have been accepted; it may name other parameters in braces
    """

    def __init__(self, name: str, value: Any, allowed: str) -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        said = "is missing" if value is None else f"{brief(value)} is not allowed"
        super().__init__(allowed, before=f"{name}: {said}; expected ")


class TransitionError(ParameterError):
    """An event that the present state of its job or node rules out.

    Parameters
    ----------
    event : the event
    allowed : what would have been accepted
    thing : the job or node, such as ``job 3``
    story : what happened to it so far, in order, in lines such as ``RUNNING at 7 s (STARTED)``
    """

    def __init__(self, event: Any, allowed: str, thing: str, story: tuple[str, ...]) -> None:
        self.thing = thing
        self.story = story
        told = ", then ".join(story) if story else "never heard of"
        self.name, self.value = "event", event
        self.allowed = f"{allowed}; {thing} was {told}"
        said = f"event: {event.kind.name} at {event.time} s is not allowed; expected "
        InputError.__init__(self, self.allowed, before=said)


class MissingExtraError(ForestallError):
    """An optional dependency is missing; the text says how to install it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'forestall[{extra}]'")


class UnreachableError(ForestallError):
    """A server that was asked does not answer, or is none of ours.

    Parameters
    ----------
    said : which one, and what was wrong, as it is
    hint : what can be done; the parameters that it names stand in braces
    """

    def __init__(self, said: str, hint: str = "") -> None:
        super().__init__(f"; {hint}" if hint else "", before=said)
