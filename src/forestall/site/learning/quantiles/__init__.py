"""Quantiles of a number from features: boosted trees that all levels share."""
