"""Metrics of nodes: readers of stores and tables, and our own files."""
