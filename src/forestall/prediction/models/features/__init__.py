"""What was seen of each node before a moment, as numbers."""
