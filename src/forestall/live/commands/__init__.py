"""Commands of a live controller."""
