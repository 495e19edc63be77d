"""Commands for a host: agent, guest, machines, calibrate."""
