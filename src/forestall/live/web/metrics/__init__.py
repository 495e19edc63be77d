"""Figures of a live controller for Prometheus."""
