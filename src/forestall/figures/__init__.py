"""Figures: one look for all of them, and their way into files. Needs the extra `plot`."""
