"""Figures as bytes and as files: the same figure, the same bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from forestall.show.svg import svg
from forestall.traces.files.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def png(figure: Figure) -> bytes:
    """Return the figure as PNG bytes."""
    target = io.BytesIO()
    figure.savefig(target, format="png", dpi=figure.dpi, metadata={"Software": None})
    return target.getvalue()


def save(figure: Figure, path: str | Path) -> Path:
    """Write the figure whole or not at all; the suffix names the format (.png, .svg, .pdf)."""
    target = Path(path)
    kind = target.suffix.lstrip(".") or "png"
    with atomic_path(target) as beside:
        if kind == "svg":
            beside.write_bytes(svg(figure))
        else:
            metadata = {"Software": None} if kind == "png" else None
            figure.savefig(beside, format=kind, dpi=figure.dpi, metadata=metadata)
    return target
