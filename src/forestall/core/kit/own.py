"""Policies, strategies and schedulers of the user's own: as objects, as classes, or by the spelling
of a class, `module:Class`."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import getsourcefile
from pathlib import Path
from typing import Any, Final, TypeVar

from forestall.core.model.errors import ParameterError
from forestall.core.model.own import Own, is_own

Decider = TypeVar("Decider", bound=Own)
_ANEW: Final = (
    "one that other processes can rebuild: its class is at the top level of a module in a file, "
    "and all it holds can be pickled"
)


def own_of(what: str, kind: type[Decider], given: Any) -> Decider | None:
    """Return what was given of the user's own for the parameter `what`: a `kind`, a class below it,
    or the spelling of one; None where it is the name of another.

    A spelling imports the user's module, which runs it: only what a person asks for by an option or
    an argument comes here, never what a file says. The present folder is looked in last, so that
    nothing in it stands in for an installed module.

    Raises ParameterError where there is no such class, or it is of another kind.
    """
    if isinstance(given, kind):
        return given
    if isinstance(given, type):
        spelling = given.__name__
    elif isinstance(given, str) and is_own(given):
        spelling = given
    else:
        return None
    allowed = f"module:Class, a subclass of fs.{kind.__name__} that can be made without arguments"
    found = _found(what, given, allowed) if isinstance(given, str) else given
    if not isinstance(found, type) or not issubclass(found, kind):
        raise ParameterError(what, spelling, allowed)
    try:
        return found()
    except TypeError as error:
        raise ParameterError(what, spelling, f"{allowed} ({error})") from None


def _found(what: str, spelling: str, allowed: str) -> Any:
    module, _, name = spelling.partition(":")
    with present_folder():
        try:
            found: Any = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            told = f"{allowed}; there is no module {error.name!r} here or installed"
            raise ParameterError(what, spelling, told) from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise ParameterError(what, spelling, f"{allowed}; {module} has no {name!r}")
        found = getattr(found, part)
    return found


def frozen(what: str, one: Own) -> bytes:
    """Return what was given for a parameter as other processes can make it anew (`thawed`);
    ParameterError where they cannot."""
    name = one.name  # kept in it from now on: the same bytes whenever it is asked
    try:
        source_of(one)
        return pickle.dumps(one)
    except (pickle.PicklingError, AttributeError, OSError, TypeError) as error:
        raise ParameterError(what, name, f"{_ANEW} ({error})") from None


def thawed(what: str, data: bytes) -> Own:
    """Return what `frozen` was given, made anew."""
    with present_folder():
        try:
            one: Own = pickle.loads(data)
        except (AttributeError, ImportError) as error:
            raise ParameterError(what, "a class in Python", f"{_ANEW} ({error})") from None
    return one


def source_of(one: Own) -> Path | None:
    """Return the file of its class, None where that is not there; OSError or TypeError where it was
    typed in."""
    file = getsourcefile(type(one))
    return None if file is None else Path(file)


@contextmanager
def present_folder() -> Iterator[None]:
    """Look for modules in the present folder too, after all other places."""
    folder = str(Path.cwd())
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
