"""HTCondor: what the agent says of a host as attributes of a machine, and expressions of them."""
