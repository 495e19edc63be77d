"""Predictors and learners, how available hosts will be, and what all of it is worth."""
