"""What a guest takes from a host's owner, measured on this host: load processes, phases, curves.

Source: S. Bagchi et al., the FALCON and iShare slides, "Studies on Resource Contention".
"""
