"""Failure logs: a module for each family of formats, and the list of them in `formats`."""
