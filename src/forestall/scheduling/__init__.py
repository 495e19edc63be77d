"""Promises and the classic policies: where and when jobs run, on nodes that fail."""
