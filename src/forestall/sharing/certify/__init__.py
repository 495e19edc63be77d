"""The certifier of guests on shared hosts; it shares nothing with the simulator it checks."""
