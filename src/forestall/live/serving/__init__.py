"""A live controller and its desk, wired: on a real cluster, or on a simulated one."""
