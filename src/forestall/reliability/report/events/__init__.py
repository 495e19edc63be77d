"""From event logs to failures."""
