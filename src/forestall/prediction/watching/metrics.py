"""Metrics of nodes as they are at the moment, from files in Prometheus's text format: one for all
nodes, or a folder with one for each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

NODE_LABELS: Final = ("node", "nodename", "host", "instance")
"""Labels that name the node, in the order in which they are looked for; without one the file's
name is the node's."""
_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_LINE: Final = re.compile(
    r'([A-Za-z_:][\w:]*)?\s*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?'
    r"\s+([+-]?(?:[\d.][\d.eE+-]*|Inf|NaN))(?:\s+-?[\d.eE+]+)?(?:\s+#\s.*)?\s*"
)
"""Name, labels, value, and what is passed over: a time, and the exemplar of OpenMetrics."""
_LABEL: Final = re.compile(rf"(?:{_QUOTED}|(\w+))\s*=\s*{_QUOTED}")
_NAME: Final = re.compile(rf"\s*{_QUOTED}\s*(?:,|$)")
"""A name that is no word, as Prometheus 3 has it: quoted, the first thing in braces."""


def samples(text: str, otherwise: str = "") -> Iterator[tuple[str, str, float]]:
    """Yield (metric, node, value) of each line of a text; `otherwise` is the node of lines that
    name none. Lines of another form, and values that are no number, are passed over.

    >>> list(samples('# HELP m x\\nm{instance="n1:9100",job="a"} 0.5\\nup 1\\n'))
    [('m', 'n1', 0.5)]
    """
    for line in text.removeprefix("\ufeff").split("\n"):
        found = _LINE.fullmatch(line) if line[:1] != "#" else None
        if found is None:
            continue
        inside = found[2] or ""
        name = found[1] or next((one[1] for one in [_NAME.match(inside)] if one is not None), "")
        labels = {quoted or bare: text for quoted, bare, text in _LABEL.findall(inside)}
        told = next((labels[name] for name in NODE_LABELS if name in labels), otherwise)
        try:
            value = float(found[3])
        except ValueError:
            continue
        if name and told and math.isfinite(value):
            yield name, told.partition(":")[0], value


class MetricFiles:
    """Files that exporters write anew again and again.

    Parameters
    ----------
    place : a file, or a folder of files ``NODE.prom``
    old : s after which a file says nothing any more
    wall : the clock of files, s since 1970; None: that of who asks
    """

    def __init__(
        self, place: Path, old: int = 300, *, wall: Callable[[], float] | None = None
    ) -> None:
        self._place, self._old, self._wall = place, old, wall

    def values(self, now: int) -> Mapping[str, Mapping[str, float]]:
        """Return the values at the moment by metric and node; of several lines of one metric and
        node the largest."""
        found: dict[str, dict[str, float]] = {}
        at = now if self._wall is None else self._wall()
        paths = sorted(self._place.glob("*.prom")) if self._place.is_dir() else [self._place]
        for path in paths:
            try:
                if at - path.stat().st_mtime > self._old:
                    continue
                text = path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            for name, node, value in samples(text, path.stem if self._place.is_dir() else ""):
                of_name = found.setdefault(name, {})
                of_name[node] = max(value, of_name.get(node, value))
        return found
