"""What runs on a host: the agent, guests, virtual machines, calibration, the link to HTCondor."""
