"""What Alembic runs: the steps in the transaction of the connection that it was handed."""

from __future__ import annotations

from alembic import context

from forestall.live.ledger.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
