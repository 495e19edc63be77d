"""Slurm, read-only: run its commands, parse what they say, translate it into our nouns."""
