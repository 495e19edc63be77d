"""A site's records from wherever they are: a live Slurm, files of any known kind, or both."""
