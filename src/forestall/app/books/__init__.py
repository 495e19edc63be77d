"""The books of a site: what its records tell, as figures with their records and assumptions."""
