"""How a ledger of an older forestall becomes one of this: steps of Alembic, never taken back."""
