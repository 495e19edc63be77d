"""Nodes of unlike size, as users say them: ``48x4+16x8:64GiB``."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from forestall.model.errors import ParameterError
from forestall.model.units import MOST_PROCESSORS, parse_size

EXPECTED: Final = "how many nodes of how many processors, and of what memory, as in 48x4+16x8:64GiB"
MOST_NODES: Final = 2**20
_PART: Final = re.compile(r"([1-9][0-9]{0,6})x([1-9][0-9]{0,6})(?::(.+))?")
_MEBI: Final = 2**20


class SizedNodes(NamedTuple):
    """So many nodes of one size: processors of each, and its memory, MiB (None: does not count)."""

    nodes: int
    processors: int
    memory: int | None


def parse_node_sizes(text: str) -> tuple[SizedNodes, ...]:
    """Return the nodes of a machine in their order; ParameterError for what says none.

    >>> parse_node_sizes("2x4+1x8:2GiB")[1]
    SizedNodes(nodes=1, processors=8, memory=2048)
    """
    made = []
    for part in text.split("+"):
        found = _PART.fullmatch(part.strip())
        if found is None:
            raise ParameterError("node_sizes", text, EXPECTED)
        count, processors = int(found[1]), int(found[2])
        memory = None if found[3] is None else parse_size(found[3], "node_sizes") // _MEBI
        if processors > MOST_PROCESSORS or memory == 0:
            raise ParameterError("node_sizes", text, EXPECTED)
        made.append(SizedNodes(count, processors, memory))
    if sum(one.nodes for one in made) > MOST_NODES:
        raise ParameterError("node_sizes", text, f"at most {MOST_NODES:,} nodes")
    return tuple(made)
