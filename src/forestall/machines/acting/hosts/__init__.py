"""Virtual machines on many hosts: coordinators of nodes, clusters and the system."""
