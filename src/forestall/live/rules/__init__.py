"""When to drain, reboot and bring back nodes, and what that costs and saves."""
