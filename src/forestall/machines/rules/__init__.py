"""Shared nodes: which one a task gets, and what a migration takes."""
