"""Hypervisors that machines run under."""
