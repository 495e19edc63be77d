"""How things fail: lifetimes and their fits, systems of nodes, queues, spares, checkpoints."""
