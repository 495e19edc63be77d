"""The commands on virtual machines."""
