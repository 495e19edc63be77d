"""Slow, plain simulators written from the definitions: the judges of the fast ones."""
