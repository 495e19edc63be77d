"""One look for all results: facts, tables and figures."""
