"""Futures on all cores: made, quoted from, and brought up to date as events come."""
