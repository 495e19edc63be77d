"""How long jobs waited, and how good estimates of their starts were."""
