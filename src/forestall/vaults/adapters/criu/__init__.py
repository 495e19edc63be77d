"""CRIU: a process and all that it started, saved from outside and brought back elsewhere."""
