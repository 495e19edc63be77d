"""A cluster's design: CLUSTER.toml in, what its queues promise and what changes buy out."""
