"""Guests on shared hosts: settings, result, log, report."""
