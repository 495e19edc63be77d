"""Policies of the user's own: as objects, or by the spelling of their class, `module:Class`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import getsourcefile
from pathlib import Path
from typing import Any

from forestall.engine.promise.own import Policy
from forestall.engine.promise.policies import is_own
from forestall.model.errors import ParameterError

_SPELLING = "module:Class, a subclass of fs.Policy that can be made without arguments"


def own_policy(given: Any) -> Policy | None:
    """Return the policy of the user's own that was given, or None where it is the name of another.

    A spelling imports the user's module, which runs it: only what a person asks for by an option or
    an argument comes here, never what a file says. The present folder is looked in last, so that
    nothing in it stands in for an installed module.

    Raises ParameterError where there is no such class, or it is no policy.
    """
    if isinstance(given, Policy):
        return given
    if isinstance(given, type) and issubclass(given, Policy):
        return _made(given, given.__name__)
    if isinstance(given, str) and is_own(given):
        return _made(_found(given), given)
    return None


def own_sources(names: Iterable[str]) -> list[Path]:
    """Return the files of the policies in Python among these names, each once, in order."""
    policies = (own_policy(name) for name in dict.fromkeys(names))
    files = (getsourcefile(type(one)) for one in policies if one is not None)
    return [Path(file) for file in dict.fromkeys(files) if file is not None]


def _found(spelling: str) -> Any:
    module, _, name = spelling.partition(":")
    with _present_folder():
        try:
            found: Any = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            allowed = f"{_SPELLING}; there is no module {error.name!r} here or installed"
            raise ParameterError("policy", spelling, allowed) from None
    for part in name.split("."):
        if not hasattr(found, part):
            allowed = f"{_SPELLING}; {module} has no {name!r}"
            raise ParameterError("policy", spelling, allowed)
        found = getattr(found, part)
    return found


def _made(kind: Any, spelling: str) -> Policy:
    if not isinstance(kind, type) or not issubclass(kind, Policy):
        raise ParameterError("policy", spelling, _SPELLING)
    try:
        return kind()
    except TypeError as error:
        raise ParameterError("policy", spelling, f"{_SPELLING} ({error})") from None


@contextmanager
def _present_folder() -> Iterator[None]:
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
