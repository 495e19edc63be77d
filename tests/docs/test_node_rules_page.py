"""The page on rules that act on nodes names every rule, setting and default."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from forestall.live.rules.settings import RULES, RuleSettings
from forestall.live.serving.watching import WatchTable

TEXT = (Path(__file__).resolve().parents[2] / "docs/reference/node-rules/index.md").read_text()


def shown(value: Any) -> str:
    """Return a default as the page has it."""
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def test_every_rule_has_a_line() -> None:
    for rule in RULES:
        assert f"| `{rule}` |" in TEXT


def test_every_setting_stands_with_its_default() -> None:
    for one in fields(RuleSettings):
        assert f"| `{one.name}` | {shown(one.default)} |" in TEXT, one.name
    for one in fields(WatchTable):
        told = shown(one.default) if one.default not in ("", ()) else ""
        assert f"| `{one.name}` | {told}" in TEXT, one.name
