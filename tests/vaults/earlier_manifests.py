"""Manifests as earlier versions wrote them."""

from __future__ import annotations

from collections.abc import Sequence

from forestall.vaults.envelopes import Content
from forestall.vaults.manifests import Manifest
from forestall.vaults.trees.entries import SavedEntry


def old_content(made: Manifest, entries: Sequence[SavedEntry]) -> Content:
    """Return a manifest with an object of JSON for each entry."""
    fields = ("path", "kind", "mode", "changed", "size", "first", "count", "target")
    told = {"name": made.name, "at": made.at, "label": made.label, "directories":
            list(made.directories), "code": [made.code.data, made.code.parity],
            "figures": dict(made.figures), "entries":
            [{name: getattr(entry, name) for name in fields} for entry in entries]}  # fmt: skip
    return Content(told, {"runs": made.runs})
