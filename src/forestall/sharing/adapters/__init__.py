"""Batch systems that know shared hosts."""
