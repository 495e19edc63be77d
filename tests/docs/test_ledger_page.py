"""The page on the ledger and the guard names every table, column, setting, role and default."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from forestall.core.model.live.intents import MAY, IntentState
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.rows import ROWS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "ledger.md"
TEXT = PAGE.read_text(encoding="utf-8")


def lines() -> dict[str, list[str]]:
    """Return the cells of each line of a table, by what stands in its first cell."""
    found = re.findall(r"^\| `?([\w ]+)`? \| (.*) \|$", TEXT, flags=re.MULTILINE)
    return {name: cells.split(" | ") for name, cells in found}


def shown(value: Any) -> str:
    """Return a default as the page has it."""
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return f"{value:,g}" if isinstance(value, int | float) else str(value)


def test_tables_and_columns() -> None:
    for kind in ROWS:
        told = re.findall(r"`(\w+)`", lines()[kind.table][0])
        assert told == [one.name for one in fields(kind)]


def test_roles_and_states() -> None:
    for role, actions in MAY.items():
        assert lines()[role][0].split(", ") == list(actions)
    for state in IntentState:
        assert str(state) in TEXT


def test_settings_and_defaults() -> None:
    usual = GuardSettings()
    for one in fields(GuardSettings):
        if one.name not in {"keeper", "warden"}:
            assert lines()[one.name][0] == shown(getattr(usual, one.name))
    for one in fields(RoleSettings):
        told = lines()[one.name][:2]
        assert told == [shown(getattr(role, one.name)) for role in (usual.keeper, usual.warden)]
