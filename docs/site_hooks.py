"""What MkDocs asks while it builds the site: anchors as forges make them, the names of the API."""

from __future__ import annotations

import re
from typing import Any

import forestall

NAMES = "<!-- names of the API -->"


def slug(heading: str, separator: str = "-") -> str:
    """Return the anchor of a heading as forges make it, so that links hold there and here."""
    return re.sub(r"[^\w\- ]", "", heading.lower().strip()).replace(" ", separator)


def on_config(config: Any) -> Any:
    """Hand over the anchors; a YAML file could name only what is installed."""
    config.mdx_configs["toc"]["slugify"] = slug
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put every public name, for mkdocstrings, where a page wants them."""
    names = sorted(name for name in forestall.__all__ if not name.startswith("_"))
    return markdown.replace(NAMES, "\n\n".join(f"::: forestall.{name}" for name in names))
