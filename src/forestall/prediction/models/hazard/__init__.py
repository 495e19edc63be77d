"""Weibull gaps with a rate of each node's own."""
