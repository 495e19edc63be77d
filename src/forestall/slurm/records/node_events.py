"""When nodes were not to be used, and why: the outages that a site's own records tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Ints, brief_repr, taken
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER

FAULT: Final = "fault"
ADMINISTRATIVE: Final = "administrative"
UNCLEAR: Final = "unclear"
NATURES: Final = (FAULT, ADMINISTRATIVE, UNCLEAR)
"""What an outage was: something broke, somebody wanted it, or the records do not tell."""


@dataclass(frozen=True)
class NodeEvents:
    """Outages in order of (begin, node). Times as in `Accounting`.

    Attributes
    ----------
    node : int64[m], the node's place in `names`
    begin, end : int64[m], [begin, end); `NEVER` for the end of one that is still open
    state : raw, such as ``DOWN*`` or ``IDLE+DRAIN``
    reason : raw text
    user : who set the state, where a person or program did
    nature : int8[m], place in `NATURES`
    names : the nodes by number
    span : the time that the records cover, [begin, until)
    """

    node: Ints
    begin: Ints
    end: Ints
    state: Coded
    reason: Coded
    user: Coded
    nature: npt.NDArray[np.int8]
    names: tuple[str, ...]
    span: tuple[int, int]
    dated: bool = True
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        columns = (self.node, self.begin, self.end, self.state, self.reason, self.user, self.nature)
        assert len({len(one) for one in columns}) == 1, "columns of unlike lengths"
        assert bool(np.all(self.end >= self.begin)), "an outage that ends before it begins"
        assert bool(np.all(np.diff(self.begin) >= 0)), "outages are not in order of begin"
        assert int(self.node.max(initial=-1)) < len(self.names), "a node without a name"

    def __len__(self) -> int:
        return len(self.node)

    @property
    def open(self) -> Bools:
        """Whether an outage had not ended, bool[m]."""
        return np.asarray(self.end == NEVER)

    def of(self, *natures: str) -> NodeEvents:
        """Return the outages of these natures."""
        wanted = [NATURES.index(one) for one in natures]
        return self.take(np.isin(self.nature, wanted))

    def take(self, index: Ints | Bools) -> NodeEvents:
        """Return the outages at these positions (ascending) or where the mask holds."""
        columns = ("node", "begin", "end", "state", "reason", "user", "nature")
        return taken(self, index, *columns)
