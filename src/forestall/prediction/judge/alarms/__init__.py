"""A file of alarms judged against a failure log."""
