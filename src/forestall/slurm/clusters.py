"""Which cluster records are of: ids of jobs and names of nodes mean something within one only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from forestall.core.model.errors import ParameterError

NAMELESS: Final = "none: the records name no cluster"
_HEAD: Final = re.compile(r"^CLUSTER: *(\S+)[ \t]*(?:\n|\Z)", re.MULTILINE)


def check_cluster(cluster: str | None, found: Mapping[str, int], what: str) -> None:
    """Raise ParameterError where records are of several clusters and none is chosen, or where the
    chosen one is not among them.

    found : rows of each cluster, "" for those that name none
    """
    there = {name: count for name, count in sorted(found.items()) if name and count}
    rows = (f"{name} ({n:,} {what}{'s' * (n != 1)})" for name, n in there.items())
    listed = ", ".join(rows)
    if cluster is None and len(there) > 1:
        allowed = f"one of {listed}: ids and nodes of several clusters cannot be told apart"
        raise ParameterError("cluster", None, allowed)
    if cluster is not None and cluster not in there:
        allowed = f"one of {listed}" if there else NAMELESS
        raise ParameterError("cluster", cluster, allowed)


def without_heads(text: str) -> str:
    """Return output of a command on several clusters (`--clusters`) without their names."""
    return _HEAD.sub("\n", text)


def of_cluster(text: str, cluster: str | None) -> str:
    """Return of such output what is of one cluster, on the lines where it stood; all of it where it
    names none.

    Raises ParameterError as `check_cluster` does.
    """
    before, *rest = _HEAD.split(text)
    parts = list(zip(rest[::2], rest[1::2], strict=True))
    if not parts:
        return text
    lines = Counter[str]()
    for name, part in parts:
        lines[name] += sum(bool(line.strip()) for line in part.split("\n"))
    check_cluster(cluster, lines, "line")
    chosen = cluster or max(lines, key=lines.__getitem__)
    kept = [part if name == chosen else "\n" * part.count("\n") for name, part in parts]
    return "\n".join([before, *kept])
