"""Virtual machines of a fleet on this host, as commands."""
