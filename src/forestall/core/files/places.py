"""Where in which file something odd stands, as remarks name it: the file without its folders, and
the line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from forestall.core.model.cleaning import Cleaning


def called(paths: Iterable[str | Path]) -> dict[Path, str]:
    """Return what files are called: by their names; where several have one name, with the folder,
    and where that does not tell them apart either, in full.

    >>> list(called(["/srv/a/jobs.txt", "/srv/b/jobs.txt", "/srv/nodes.txt"]).values())
    ['a/jobs.txt', 'b/jobs.txt', 'nodes.txt']
    """
    places = list(dict.fromkeys(Path(path) for path in paths))
    short = {path: path.name for path in places}
    for longer in (lambda path: f"{path.parent.name}/{path.name}", str):
        often = Counter(short.values())
        short = {p: longer(p) if often[name] > 1 else name for p, name in short.items()}
    return short


def placed(cleaning: Cleaning, name: str) -> Cleaning:
    """Return remarks on one file with its name before its lines.

    >>> placed(Cleaning().plus("odd", "rows", "kept", ["line 7"]), "jobs.txt").remarks[0].names
    ('jobs.txt line 7',)
    """
    return _renamed(cleaning, {"line ": f"{name} line "})


def shortened(cleaning: Cleaning, paths: Iterable[str | Path]) -> Cleaning:
    """Return remarks that name these files as `called` does, instead of their paths."""
    short = {str(path): name for path, name in called(paths).items() if str(path) != name}
    return _renamed(cleaning, short) if short else cleaning


def _renamed(cleaning: Cleaning, beginnings: dict[str, str]) -> Cleaning:
    def new(text: str) -> str:
        for old, name in beginnings.items():
            if text.startswith(old):
                return name + text[len(old) :]
        return text

    renamed = (replace(one, names=tuple(map(new, one.names))) for one in cleaning.remarks)
    return replace(cleaning, remarks=tuple(renamed))
