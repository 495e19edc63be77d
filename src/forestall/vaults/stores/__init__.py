"""Storage hosts of a vault: which they are, what lies there, what this machine has learned of them,
and where its checkpoints therefore go."""
