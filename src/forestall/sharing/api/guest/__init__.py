"""Guests on this host, as commands."""
