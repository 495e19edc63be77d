"""libvirt: virtual machines on hosts that are reached over the network."""
