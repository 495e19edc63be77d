"""What the desk tells as compact documents for browsers: each is made once a cycle and viewer.

Nodes are columns, not rows: 10,000 of them are some 40 kB packed. A document's version is a digest
of its bytes, so that one that did not change is not sent again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from forestall.core.model.live.desk import JobTold, NodeTold, PromiseTold
from forestall.core.show.clean import clean

FREE, BUSY, OUT, DOWN = range(4)
"""How the map draws a node: in service without and with work, taken out of service, failed."""
_DOWN: Final = ("DOWN", "FAIL", "NOT_RESPONDING", "UNKNOWN", "ERROR", "*")
_BUSY: Final = ("ALLOC", "MIXED", "COMPLETING")
_PACKING: Final = 5


@dataclass(frozen=True)
class PageDocument:
    """JSON, packed by gzip; `version` differs where the JSON does."""

    version: str
    packed: bytes

    @classmethod
    def of(cls, content: object) -> PageDocument:
        """Return the document of what JSON can hold. Texts of others lose what no screen shows."""
        text = json.dumps(_shown(content), separators=(",", ":"), ensure_ascii=False)
        plain = text.encode("utf-8", "replace")
        version = hashlib.blake2b(plain, digest_size=9).hexdigest()
        return cls(version, gzip.compress(plain, _PACKING, mtime=0))

    @property
    def plain(self) -> bytes:
        """The JSON."""
        return gzip.decompress(self.packed)


def kind_of(node: NodeTold) -> int:
    """Return how the map draws a node: `FREE`, `BUSY`, `OUT` or `DOWN`."""
    state = node.state.upper()
    if any(word in state for word in _DOWN):
        return DOWN
    if not node.in_service:
        return OUT
    busy = node.free_at is not None or node.jobs or any(word in state for word in _BUSY)
    return BUSY if busy else FREE


def of_nodes(nodes: Sequence[NodeTold]) -> dict[str, Any]:
    """Return nodes as columns; reliabilities in hundredths of a percent, -1 where nobody predicts.
    Of columns with few entries only these stand there, by the node's number."""
    states, partitions = (
        sorted({one.state for one in nodes}),
        sorted({one.partitions for one in nodes}),
    )
    by = sorted({one.by for one in nodes})
    return {
        "names": [one.name for one in nodes],
        "kinds": "".join(str(kind_of(one)) for one in nodes),
        "states": states,
        "state": _numbers(states, [one.state for one in nodes]),
        "partitions": [", ".join(one) for one in partitions],
        "partition": _numbers(partitions, [one.partitions for one in nodes]),
        "predictors": by,
        "by": _numbers(by, [one.by for one in nodes]),
        "reliability": [
            -1 if one.reliability is None else round(10_000 * one.reliability) for one in nodes
        ],
        "free_at": {k: one.free_at for k, one in enumerate(nodes) if one.free_at is not None},
        "jobs": {k: one.jobs for k, one in enumerate(nodes) if one.jobs},
        "reasons": {k: one.reason for k, one in enumerate(nodes) if one.reason},
    }


def _numbers(among: Sequence[Any], values: Sequence[Any]) -> list[int]:
    number = {one: k for k, one in enumerate(among)}
    return [number[one] for one in values]


def of_jobs(jobs: Sequence[JobTold]) -> dict[str, Any]:
    """Return jobs as rows without the words."""
    return {
        "jobs": [
            [one.id, one.user, one.name, one.partition, one.state, one.why, one.nodes,
             one.start, one.end, one.promise, one.submit, list(one.on[:4])]
            for one in jobs
        ]
    }  # fmt: skip


def of_deadlines(promises: Sequence[PromiseTold]) -> dict[str, Any]:
    """Return what the time line shows of open promises, by their ids."""
    return {
        "deadlines": {
            one.id: [one.deadline, one.probability, one.likely]
            for one in promises
            if one.outcome == "open"
        }
    }


def of_rows(name: str, rows: Sequence[Any]) -> dict[str, Any]:
    """Return dataclasses as a list under a name."""
    return {name: [asdict(one) for one in rows]}


def _shown(content: Any) -> Any:
    """Return JSON whose texts are safe to show: no characters that move a cursor or turn text
    around; they stand as escapes."""
    if isinstance(content, str):
        return content if content.isascii() and content.isprintable() else clean(content, 4000)
    if isinstance(content, dict):
        return {key: _shown(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_shown(one) for one in content]
    return content
