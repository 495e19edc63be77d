"""A recorded ledger played again: with the same engine and guard, or with others."""
