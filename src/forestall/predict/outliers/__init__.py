"""Alarms for improbable metrics."""
