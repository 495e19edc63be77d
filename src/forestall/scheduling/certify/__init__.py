"""The certifier of promise runs; it shares nothing with the simulator it checks."""
