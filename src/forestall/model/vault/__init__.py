"""The vault as models of runs see it."""
