"""Predictors so plain that every other one must beat them to be worth its keep."""
