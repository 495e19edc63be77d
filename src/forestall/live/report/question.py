"""What a replay of a ledger is asked: who or what else might have decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from forestall.core.model.settings import Declared, Setting


@dataclass(frozen=True)
class ReplayQuestion(Declared, group="What if (live ledgers only)"):
    """What would have been otherwise; nothing is by default."""

    predictor: Annotated[
        str | None,
        Setting(
            "Failure predictor: none, hindsight (what happened), or a file from forestall predict"
            " train",
            shown="none|hindsight|FILE",
        ),
    ] = None
    wanted: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Setting("Minimum probability for placing jobs that have no promise"),
    ] = None
    guard: Annotated[
        Path | None,
        Setting("Limits of keeper and warden, in the format of forestall serve", shown="FILE.toml"),
    ] = None

    rules: Annotated[
        Path | None,
        Setting("Node rules, in the format of forestall serve", shown="FILE.toml"),
    ] = None

    @property
    def asks_engine(self) -> bool:
        """Whether another engine is asked for."""
        return self.predictor is not None or self.wanted is not None
