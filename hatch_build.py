"""What the package index shows: the README with absolute addresses, and links to the project.

Where the project is published is said in one place, when it is built:
FORESTALL_REPOSITORY=https://HOST/OWNER/forestall (`make dist REPOSITORY=...`). Without it the
README keeps its relative links, which work in a checkout, and the metadata has no links.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)"
)


def absolute(text: str, repository: str) -> str:
    """Return Markdown whose relative links and images lead into the repository."""

    def written(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] else "blob"
        place = f"{repository}/{kind}/main/{found['target']}{found['anchor'] or ''}"
        return f"{found['image']}[{found['text']}]({place})"

    return LINK.sub(written, text)


class Published(MetadataHookInterface):
    """Sets what depends on where the project is published."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set readme and urls."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("FORESTALL_REPOSITORY", "").rstrip("/")
        urls = {}
        if repository:
            if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", repository):
                raise ValueError(
                    f"FORESTALL_REPOSITORY must be https://HOST/..., not {repository!r}"
                )
            text = absolute(text, repository)
            urls = {"Source": repository, "Issues": f"{repository}/issues"}
            for name, page in (("Documentation", "docs/index.md"), ("Changelog", "CHANGELOG.md")):
                urls[name] = f"{repository}/blob/main/{page}"
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls
