"""Where node-hours went: losses, goodput, effective training time."""
