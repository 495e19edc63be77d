"""Futures of a snapshot: the scheduler played forward once for each draw of the run times."""
