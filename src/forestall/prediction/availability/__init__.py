"""How available a host is likely to be: states, loads, and what its agent says of it."""
