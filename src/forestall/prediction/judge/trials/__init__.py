"""Trials with controls on the nodes of a site: planned, and judged."""
