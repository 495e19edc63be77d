"""A cluster as the live controller sees it: snapshots, actions on it, and what can go wrong."""
