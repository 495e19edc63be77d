"""Job logs: SWF, plain tables, accounting records."""
