"""What users get stays as it was: every cell gives what its hashes say.

Where something is meant to change, `python -m golden.freeze --write` renews the hashes; where not,
`python -m golden.freeze --out DIR` on both states and `diff -r` show the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.cells import CELLS
from golden.digest import digest, same
from golden.freeze import known
from golden.play import INPUTS, Cell, play

SHARED = next(cell for cell in CELLS if cell.name == INPUTS)
KNOWN = known()


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the inputs lie."""
    folder = tmp_path_factory.mktemp("golden")
    _check(SHARED, folder)
    return folder


def differences(cell: Cell, root: Path) -> list[str]:
    """Return what of a cell is not as it was frozen, each by its name."""
    now = {name: digest(text) for name, text in play(cell, root).items()}
    frozen = KNOWN.get(cell.name, {})
    return [
        f"{name}: {'new' if name not in frozen else 'gone' if name not in now else 'changed'}"
        for name in sorted(now.keys() | frozen.keys())
        if not (name in now and name in frozen and same(now[name], frozen[name]))
    ]


def _check(cell: Cell, root: Path) -> None:
    found = differences(cell, root)
    assert not found, f"{cell.name}: " + ", ".join(found)


@pytest.mark.parametrize(
    "cell", [one for one in CELLS if one is not SHARED], ids=lambda cell: cell.name
)
def test_a_cell_gives_what_it_gave(cell: Cell, root: Path) -> None:
    _check(cell, root)


def test_the_inputs_are_as_they_were(root: Path) -> None:
    assert (root / INPUTS / "jobs.swf").exists()


def test_no_hash_is_left_over() -> None:
    names = [cell.name for cell in CELLS]
    assert sorted(names) == sorted(KNOWN)
    assert len(set(names)) == len(names)


def test_a_changed_byte_is_noticed(root: Path) -> None:
    """A cell that is played with another seed, or lies in one number, is not taken for the same."""
    cell = next(one for one in CELLS if one.name == "promise-promise-trace")
    lied = Cell(cell.name, (*cell.steps, "@falsify run/jobs.csv finish"))
    (root / "lies").mkdir()
    (root / "lies" / INPUTS).symlink_to(root / INPUTS)
    assert differences(lied, root / "lies") == ["run/jobs.csv: changed"]
