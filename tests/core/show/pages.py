"""Pages without the one script that every page has, to look for others."""

from __future__ import annotations

from pathlib import Path

from forestall.core.show import page

OWN_SCRIPT = (Path(page.__file__).parent / "templates" / "page.js").read_text(encoding="utf-8")


def unscripted(text: str) -> str:
    """Return a page without its own script, which must be there once."""
    before, script, after = text.partition(f"<script>{OWN_SCRIPT}</script>")
    assert script, "the page lacks its own script"
    return before + after
