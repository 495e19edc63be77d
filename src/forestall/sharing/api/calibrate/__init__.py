"""How much a guest takes from a host's owner: experiment, files, page."""
