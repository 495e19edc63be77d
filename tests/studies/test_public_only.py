"""Studies use the public API only: they import `forestall` and take from it what is public."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import forestall

ROOT = Path(__file__).resolve().parents[2] / "studies"
FILES = sorted(ROOT.rglob("*.py"))
OTHERS = {"matplotlib", "numpy", "polars", "scipy", "typer", "studies", "_typeshed"}


def imports(tree: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Modules that are imported, with the names that are taken from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((one.name, ()) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            yield node.module or "", tuple(one.name for one in node.names)


def taken(tree: ast.AST, subjects: dict[str, ModuleType]) -> Iterator[tuple[ModuleType, str]]:
    """Attributes of `forestall` and of its subjects, by whichever way they are reached."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            below = node.value
            if isinstance(below, ast.Name) and below.id in subjects:
                yield subjects[below.id], node.attr
            elif isinstance(below, ast.Attribute) and isinstance(below.value, ast.Name):
                held = subjects.get(below.value.id)
                inner = getattr(held, below.attr, None)
                if held is forestall and isinstance(inner, ModuleType):
                    yield inner, node.attr


def public(holder: ModuleType) -> set[str]:
    """Names that a module shows its users; of errors, all there are."""
    if holder is forestall.errors:
        return {name for name in vars(holder) if name.endswith("Error")}
    return set(holder.__all__)


def wrong(text: str) -> list[str]:
    """What a file takes that is not public."""
    tree, found = ast.parse(text), []
    subjects: dict[str, ModuleType] = {"fs": forestall}
    for module, names in imports(tree):
        first = module.split(".")[0]
        if first == "forestall":
            found += [f"{module}.{one}" for one in names or ("",) if module != "forestall"]
            found += [f"forestall.{one}" for one in names if one not in forestall.__all__]
            values = {one: getattr(forestall, one, None) for one in names}
            subjects |= {k: v for k, v in values.items() if isinstance(v, ModuleType)}
        elif first not in OTHERS and first not in sys.stdlib_module_names:
            found.append(module)
    for holder, name in taken(tree, subjects):
        if name not in public(holder):
            found.append(f"{holder.__name__}.{name}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_study_takes_what_is_public(path: Path) -> None:
    assert wrong(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import forestall.core.model.jobs", "forestall.core.model.jobs."),
        ("from forestall.core.model.jobs import Jobs", "forestall.core.model.jobs.Jobs"),
        ("from forestall import core", "forestall.core"),
        ("import forestall as fs\nfs.no_such_thing", "forestall.no_such_thing"),
        ("import forestall as fs\nfs.judge.no_such_thing", "forestall.public.judge.no_such_thing"),
        ("from forestall import style\nstyle.Clock", "forestall.public.style.Clock"),
        ("import pandas", "pandas"),
    ],
)
def test_what_is_not_public_is_found(text: str, said: str) -> None:
    assert said in wrong(text)


def test_what_is_public_is_not() -> None:
    text = "import forestall as fs\nfrom forestall import style\nimport json\nimport numpy as np"
    used = "fs.simulate(fs.Jobs, fs.judge.roc, fs.errors.TraceError, style.BLUE, np.zeros, json.x)"
    assert wrong(f"{text}\n{used}") == []
