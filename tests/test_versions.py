"""The versions that are allowed are those that are tested: `make lowest` runs with the lowest ones,
`constraints.txt` holds the newest."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
UNTESTED = {"libvirt": "libvirt-python", "torch": "torch"}
"""Extras that no environment of `make lowest` has: one must be built, the other is huge."""


def declared() -> dict[str, Requirement]:
    """Return the requirements on other projects, of the package and of all its extras, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {k: v for k, v in project["optional-dependencies"].items() if k not in UNTESTED}
    found: dict[str, Requirement] = {}
    for line in (*project["dependencies"], *(one for some in extras.values() for one in some)):
        made = Requirement(line)
        name = canonicalize_name(made.name)
        if name != "forestall":
            assert found.setdefault(name, made).specifier == made.specifier, (
                f"{name} has two bounds"
            )
    return found


def pinned(name: str) -> dict[str, Version]:
    """Return the versions in a file of constraints."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[a-z0-9.]+", line) for line in lines), (
        "names and versions"
    )
    return {canonicalize_name(a): Version(b) for a, b in (line.split("==") for line in lines)}


def test_the_lowest_versions_that_are_allowed_are_those_that_are_tested() -> None:
    tested = pinned("constraints-lowest.txt")
    for name, made in declared().items():
        least = [Version(one.version.removesuffix(".*")) for one in made.specifier]
        assert least == [tested[name]], (
            f"{made}, and tested is {tested[name]}: run make constraints"
        )


def test_the_newest_versions_are_allowed() -> None:
    newest, lowest = pinned("constraints.txt"), pinned("constraints-lowest.txt")
    for name, made in declared().items():
        assert newest[name] in made.specifier
        assert lowest[name] <= newest[name]


@pytest.mark.parametrize("extra", UNTESTED)
def test_what_is_untested_is_still_declared(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [Requirement(one).name for one in project["optional-dependencies"][extra]]
    assert names == [UNTESTED[extra]]
