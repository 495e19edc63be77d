"""The books of a site: what its records tell, section by section."""
