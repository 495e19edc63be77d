"""Outcomes say in words why a promise is void."""

from __future__ import annotations

from typing import Final

from alembic import op

revision: Final = "0002"
down_revision: Final = "0001"


def upgrade() -> None:
    """Add the column; of what stands there nobody knows the words."""
    op.execute("ALTER TABLE outcomes ADD COLUMN why TEXT NOT NULL DEFAULT ''")
