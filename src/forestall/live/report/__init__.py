"""`forestall replay` of a live controller's ledger: same decisions, and what others would have
done."""
