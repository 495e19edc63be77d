"""Bounds on how long a job will wait, from waits that were known, and when the past ends."""
