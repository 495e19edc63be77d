"""What this machine has learned of storage hosts, and where its checkpoints therefore go."""
