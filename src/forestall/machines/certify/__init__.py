"""The certifier of virtual-machine runs; it shares nothing with the simulator it checks."""
