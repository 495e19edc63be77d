"""Lifetimes fitted to gaps."""
