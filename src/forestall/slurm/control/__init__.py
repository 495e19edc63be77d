"""A live Slurm cluster, looked at and acted on: by its commands, or through slurmrestd."""
