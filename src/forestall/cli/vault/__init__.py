"""Commands of the vault."""
