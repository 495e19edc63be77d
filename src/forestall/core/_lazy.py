"""Modules that load when something of them is first asked for: the one place that defers imports.

    with lazily():
        import polars as pl

        from forestall.site import report

Help loads nothing by this, and a command that needs no kernel loads no Numba. Type checkers and
import-linter read the block like any other imports. It names modules, not what is in them:
``from module import function`` asks for an attribute, which loads the module at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

HEAVY: Final = frozenset(
    {
        "blosc2", "polars", "rich.console", "rich.progress", "rich.table", "rich.text", "scipy.fft",
        "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.special", "scipy.stats",
    }
)  # fmt: skip
"""Modules of others that may be deferred. Of our own all may."""


UNASKED: Final = frozenset({"__cached__", "__file__", "__path__", "__wrapped__"})
"""What the import system, and tools that walk through names, ask of every module."""


class Deferred(ModuleType):
    """Stands for a module in the names of those who import it.

    While the block is open it stands in `sys.modules` too, and a package then has its place, so
    that modules in it are found and deferred without running it.
    """

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__.get("_itself")  # the usual case: this is asked at each call
        if name in UNASKED or (known is None and _is_open(self) and _holds(self, name)):
            raise AttributeError(name)
        return getattr(known or _loaded(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system writes into it what it knows of a module, and what is in a package.
        if name.startswith("__") or isinstance(value, Deferred):
            super().__setattr__(name, value)
        else:
            setattr(_loaded(self), name, value)

    def __delattr__(self, name: str) -> None:
        if name in vars(self):
            super().__delattr__(name)
        else:
            delattr(_loaded(self), name)

    def __dir__(self) -> list[str]:
        return dir(_loaded(self))


def _is_open(deferred: Deferred) -> bool:
    """Return whether the block that defers a module is still open."""
    return sys.modules.get(deferred.__name__) is deferred


def _holds(deferred: Deferred, name: str) -> bool:
    """Return whether a package has a module of this name."""
    place: list[str] | None = vars(deferred).get("__path__")
    found = place and PathFinder.find_spec(f"{deferred.__name__}.{name}", place)
    return bool(found)


def _loaded(deferred: Deferred) -> ModuleType:
    """Return the module itself, imported when it is first asked for."""
    known: ModuleType | None = vars(deferred).get("_itself")
    if known is None:
        with _closed():
            known = import_module(deferred.__name__)
        vars(deferred)["_itself"] = known
    return known


class _Finder(Loader, MetaPathFinder):
    """Finds modules on the path like the usual one, and has something stand for each."""

    def __init__(self) -> None:
        self.given: list[Deferred] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to defer a module, None for those that are not deferred or not there."""
        ours = fullname.startswith("forestall.")
        if not ours and fullname not in HEAVY:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None:
            return None
        deferred = ModuleSpec(fullname, self, origin=spec.origin)
        if ours:
            deferred.submodule_search_locations = spec.submodule_search_locations
        return deferred

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return what stands for a module."""
        self.given.append(Deferred(spec.name))
        return self.given[-1]

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing."""

    def forget(self) -> None:
        """Take what stands for modules out of the import system."""
        while self.given:
            deferred = self.given.pop()
            name = deferred.__name__
            if _is_open(deferred):
                del sys.modules[name]
            parent, _, leaf = name.rpartition(".")
            holder = sys.modules.get(parent)
            if holder is None or vars(holder).get(leaf) is not deferred:
                continue
            if not getattr(holder.__spec__, "_initializing", False):  # else it asked for it itself
                delattr(holder, leaf)


@contextmanager
def _closed() -> Iterator[None]:
    """Import for real in this block, also where one that defers is still open."""
    finders = [finder for finder in sys.meta_path if isinstance(finder, _Finder)]
    for finder in finders:
        sys.meta_path.remove(finder)
        finder.forget()
    try:
        yield
    finally:
        sys.meta_path[:0] = finders


@contextmanager
def lazily() -> Iterator[None]:
    """Defer the modules that are imported in this block until something of them is asked for."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        finder.forget()
