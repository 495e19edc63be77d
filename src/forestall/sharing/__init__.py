"""Guests on other people's hosts."""
