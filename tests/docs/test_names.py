"""Functions, classes and options that pages name are there."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

import forestall as fs
from docs.test_docs import COMMANDS, RESEARCH

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"))
FILES = frozenset({"service", "conf", "toml"})
"""What follows `forestall.` in names of files."""
FOREIGN = frozenset({"increase", "rate", "super", "do", "ModelCluster", "SlurmWorld", "Finding"})
"""Functions of PromQL and Python, a parameter, and what the tests' and studies' own pages name."""
OPTIONS_OF_OTHERS = {
    "sbatch": ("--arr", "--array", "--begin", "--dependency", "--export-file", "--gpus",
               "--gpus-per-node", "--gpus-per-task", "--gres", "--licenses", "--no-requeue",
               "--oversubscribe", "--time-min"),
    "sacct": ("--delimiter", "--duplicates", "--noheader"),
    "scontrol": ("--oneliner", "--option"),
    "node_exporter": ("--collector",),
    "configure": ("--with-ft",),
    "podman": ("--userns",),
    "slurm.conf": ("--exclude",),
    "old names": ("--checkpoint-cost", "--config", "--cost", "--mttf"),
    "all commands": ("--help", "--install-completion", "--max-memory", "--show-completion",
                     "--verbose", "--version"),
    "studies": ("--contention", "--core", "--network", "--usage"),
}  # fmt: skip
"""Options that are not those of a command of `forestall`: whose they are."""


@cache
def of_classes() -> frozenset[str]:
    """Return the names of all methods and fields of classes of the package and its studies."""
    paths = (path for part in ("src", "studies") for path in (ROOT / part).rglob("*.py"))
    return frozenset(
        one.name if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) else one.target.id
        for path in paths
        for kind in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(kind, ast.ClassDef)
        for one in kind.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name))
    )


@cache
def public() -> frozenset[str]:
    """Return the public names: those of the package, and of a subject in `public`."""
    subjects = (ROOT / "src" / "forestall" / "public").glob("[a-z]*.py")
    modules = [importlib.import_module(f"forestall.public.{path.stem}") for path in subjects]
    return frozenset(dir(fs)).union(*(getattr(one, "__all__", ()) for one in modules))


def is_there(dotted: str) -> bool:
    """Return whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if part in getattr(value, "__annotations__", {}):
                return True
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_in_pages_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    dotted = {f"forestall.{name}" for name in re.findall(r"\bfs\.([A-Za-z_][\w.]*\w)", text)}
    dotted |= set(re.findall(r"`(forestall\.[a-z_][\w.]*\w)", text))
    absent = {one for one in dotted if one.split(".")[-1] not in FILES and not is_there(one)}
    imported = set(re.findall(r"\w+", " ".join(re.findall(r"^from \S+ import (.*)$", text, re.M))))
    called = set(re.findall(r"(?<![\w.])`([A-Za-z_]\w+)\(", text))
    absent |= called - imported - public() - of_classes() - FOREIGN
    assert not absent


def test_options_in_pages_are_there() -> None:
    there = {
        option
        for command in (*COMMANDS.values(), *RESEARCH.values())
        for one in command.params
        for option in (*one.opts, *one.secondary_opts)
    }
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"`(?:forestall [^`]*?)?(--[a-z][\w-]+)", text))
    others = {option for some in OPTIONS_OF_OTHERS.values() for option in some}
    assert named - there == others
