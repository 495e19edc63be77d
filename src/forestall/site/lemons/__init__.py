"""Nodes that fail more than chance allows, by a site's records."""
