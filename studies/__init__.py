"""Reproductions of source papers: the inputs of each, its tables and figures, and its claims
beside ours."""
