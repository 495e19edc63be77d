"""Predictors against each other on one log."""
