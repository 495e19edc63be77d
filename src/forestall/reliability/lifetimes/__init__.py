"""Lifetime distributions: families, a module for each kindred group, and laws made of them."""
