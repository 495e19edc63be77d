"""Which nodes a trial acts on: CSV with ``node,arm[,pair]``, a row a node.

`arm` is ``act`` or ``control``; nodes that the table lacks, or whose arm is ``out``, are not in the
trial. `pair` numbers pairs of a node that is acted on and its control, blank where there are none.
The table decides what is compared, so a row that cannot be used is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from forestall.core.files.delimited import Int, read_sheet
from forestall.core.files.guard import reader
from forestall.core.model.errors import TraceError

ARMS: Final = {"act": 1, "control": 0, "out": -1}


class TrialArms(NamedTuple):
    """Nodes as the table names them; arm, int64[n]: 1 acted on, 0 control, -1 neither; pair,
    int64[n], -1 for none."""

    node: tuple[str, ...]
    arm: Int
    pair: Int


@reader
def read_arms(path: str | Path) -> TrialArms:
    """Read which nodes a trial acts on; TraceError if the file cannot be used."""
    sheet = read_sheet(path, ("node", "arm"), ("pair",), strict=True)
    nodes, words = sheet.text("node"), sheet.text("arm")
    first = {name: k for k, name in reversed(list(enumerate(nodes)))}
    again = np.array([first[name] != k for k, name in enumerate(nodes)], dtype=np.bool_)
    empty = np.array([not name for name in nodes], dtype=np.bool_)
    sheet.refuse("node", empty | again, "each node once")
    strange = np.array([word not in ARMS for word in words], dtype=np.bool_)
    sheet.refuse("arm", strange, "act, control or out")
    pair = (
        sheet.whole("pair", low=0, blank=-1)
        if sheet.has("pair")
        else np.full(len(nodes), -1, dtype=np.int64)
    )
    sheet.findings.cleaning(int(sheet.keep.sum()), "nodes")
    arm = np.array([ARMS[word] for word in words], dtype=np.int64)
    acted, control = np.sort(pair[arm == 1]), np.sort(pair[arm == 0])
    paired = pair[arm >= 0].min(initial=0) >= 0
    if paired and not (np.array_equal(acted, control) and len(np.unique(acted)) == len(acted)):
        raise TraceError(path, "expected one node to act on and one control in each", field="pair")
    return TrialArms(tuple(nodes), arm, np.where(arm < 0, -1, pair))
