"""The look of the live page, which is that of the project's reports."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

STYLE: Final = (files("forestall.live.web.page") / "browser" / "page.css").read_text("utf-8")
"""The style sheet. Colours follow the system's preference unless the viewer chooses one."""
