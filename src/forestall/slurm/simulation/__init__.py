"""A model of Slurm in one process, by seed: jobs, nodes, reservations, accounting, and mishaps."""
