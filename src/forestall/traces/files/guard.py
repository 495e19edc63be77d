"""Whatever goes wrong while something is made of a file becomes the one line that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forestall.model.errors import ForestallError, ParameterError, TraceError

_PANIC = "PanicException"
"""What a panic of Polars or another library in Rust is called; it is no Exception."""


@contextmanager
def making(path: str | Path, what: str) -> Iterator[None]:
    """Turn what is raised while a file is read, and made into something of ours, into a TraceError:
    that the file is a damaged `what`, where, and why.

    A ParameterError tells the field. TraceError, other errors of ours than ParameterError, and
    MemoryError go through: they say themselves what was wrong.
    """
    try:
        yield
    except ParameterError as error:
        said = f"is a damaged {what}: {error.value!r} is not allowed; expected {error.allowed}"
        raise TraceError(path, said.replace("{", "(").replace("}", ")"), field=error.name) from None
    except (ForestallError, MemoryError):
        raise
    except OSError as error:
        raise TraceError(path, f"cannot be read: {first_line(error)}") from None
    except Exception as error:
        raise TraceError(path, f"is a damaged {what} ({first_line(error)})") from None
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise TraceError(path, f"is a damaged {what} ({first_line(error)})") from None


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line that is not too long, without braces."""
    said = getattr(error, "strerror", None) or str(error)
    text = (str(said).strip().splitlines() or [""])[0][:200] or type(error).__name__
    text = f"{text} is missing" if isinstance(error, KeyError) else text
    return text.replace("{", "(").replace("}", ")")
