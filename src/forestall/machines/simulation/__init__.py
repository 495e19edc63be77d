"""Jobs of many tasks in virtual machines that share nodes, on a cluster that fails."""
