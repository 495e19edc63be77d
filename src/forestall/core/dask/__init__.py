"""Dask: the same work on many things, on the machines of a cluster."""
