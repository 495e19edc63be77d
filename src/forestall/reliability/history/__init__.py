"""From a failure log to gaps, exposure, rates and trends."""
