"""Queues, the jobs that fail in them, and other ways to lay them out."""
