"""Predictors as runs are given them: by name or file, and what they observe beside failures."""
