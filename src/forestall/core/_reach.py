"""Which sources a compiled function is made of, and the folder that is kept for them.

A module reaches what it imports, at any distance; who reaches a question (`ByType`) also reaches
the kernels that give it bodies. The folder's name has a hash of the syntax of all of these, so that
comments and docstrings recompile nothing, nor does what a function cannot call. What was parsed is
kept beside the kernels, by the hash of its text.
"""

from __future__ import annotations

import ast
import hashlib
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from forestall.core._kept import PACKAGE, CheckedFiles, cache_folder, tidy

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class KernelSource(NamedTuple):
    """What matters of a module: the hash of its syntax; what it imports, and what it gives bodies
    to, by full names; and the lines on which its functions begin."""

    syntax: bytes
    imports: tuple[str, ...]
    given_to: tuple[str, ...]
    lines: tuple[int, ...]


def read_source(text: bytes) -> KernelSource:
    """Return what matters of a module with this text."""
    tree = ast.parse(text)
    imports: dict[str, set[str]] = defaultdict(set)
    for node in _run_at_import(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            within = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for one in node.names:
                imports[one.asname or one.name].add(within + one.name)
    given_to: set[str] = set()
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            lines.append(min(one.lineno for one in (node, *decorators)))
            given_to.update(*(imports.get(_asked(one), ()) for one in decorators))
        inside = getattr(node, "body", None)
        if isinstance(inside, list):
            inside[:] = [one for one in inside if not _is_docstring(one)]
    syntax = hashlib.sha256(ast.dump(tree).encode()).digest()
    every = sorted(set().union(*imports.values()))
    return KernelSource(syntax, tuple(every), tuple(sorted(given_to)), tuple(sorted(lines)))


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is imported: no functions, and nothing that only types need."""
    yield node
    only_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    for one in node.orelse if only_types else ast.iter_child_nodes(node):  # type: ignore[attr-defined]
        if not isinstance(one, _FUNCTIONS):
            yield from _run_at_import(one)


def _asked(decorator: ast.expr) -> str:
    """Return the name that ``@name.question.of(...)`` begins with; nothing for other decorators."""
    called = decorator.func if isinstance(decorator, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr == "of":
        return ast.unparse(called).partition(".")[0]
    return ""


def _is_docstring(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


class Reach:
    """What modules of this package reach, and modules that use it; `folder`: of all kernels."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._paths = folder, dict(_modules())
        self._sources: dict[str, KernelSource] = {}
        self._folders: dict[str, Path] = {}
        self._bodies: dict[str, list[str]] = defaultdict(list)
        place = hashlib.sha256(os.fsencode(PACKAGE)).hexdigest()[:16]
        own = hashlib.sha256(Path(__file__).read_bytes()).digest()
        files = CheckedFiles(str(folder), f"sources-{place}", own)
        self._parsed: dict[bytes, Any] = files._load_index()
        self._needed: dict[bytes, Any] = {}
        kernels = [one for one in self._paths if one.endswith("_kernels")]
        for one in kernels:
            for question in self._named(self._source(one).given_to):
                self._bodies[question].append(one)
        self.reached(kernels)
        if self._needed.keys() - self._parsed.keys():
            with suppress(OSError):  # of a full disk: the next process parses again
                files._save_index(self._needed)
            with suppress(OSError):  # of what another process removed meanwhile
                tidy(folder)

    def _named(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the modules of the package that these are, or are in."""
        for name in names:
            for one in (name, name.rpartition(".")[0]):
                if one in self._paths:
                    yield one
                    break

    def _source(self, module: str) -> KernelSource:
        if module not in self._sources:
            text = Path(self._paths[module]).read_bytes()
            key = hashlib.sha256(text).digest()
            self._needed[key] = self._parsed.get(key) or tuple(read_source(text))
            self._sources[module] = KernelSource(*self._needed[key])
        return self._sources[module]

    def reached(self, modules: Iterable[str]) -> set[str]:
        """Return these modules and those of the package that they reach."""
        found, left = set(), list(modules)
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += [*self._named(self._source(one).imports), *self._bodies.get(one, ())]
        return found

    def folder(self, module: str) -> Path:
        """Return where the kernels of a module are kept, as long as nothing changes of what it
        reaches."""
        if module not in self._folders:
            key = hashlib.sha256()
            for one in sorted(self.reached([module])):
                key.update(one.encode() + b"\0" + self._source(one).syntax)
            self._folders[module] = self._folder / f"{module}-{key.hexdigest()[:16]}"
        return self._folders[module]

    def place(self, function: Callable[..., Any]) -> tuple[Path, int]:
        """Return where a function is kept, and which one of its module's functions it is: its line
        changes with comments."""
        module, code = function.__module__, function.__code__
        self._paths.setdefault(module, code.co_filename)  # of who uses this package
        lines = self._source(module).lines
        return self.folder(module), bisect_left(lines, code.co_firstlineno)


def _modules() -> Iterator[tuple[str, str]]:
    """Yield the modules of the package and their paths."""
    for folder, inside, files in os.walk(PACKAGE):
        inside[:] = [one for one in inside if one != "__pycache__"]
        name = ".".join((PACKAGE.name, *Path(folder).relative_to(PACKAGE).parts))
        for one in files:
            if one.endswith(".py"):
                module = name if one == "__init__.py" else f"{name}.{one[:-3]}"
                yield module, os.path.join(folder, one)


@cache
def reach() -> Reach | None:
    """Return what this package's modules reach, or None where no kernels are kept."""
    folder = cache_folder()
    return None if folder is None else Reach(folder)
