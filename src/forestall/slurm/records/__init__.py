"""The nouns of a site's own records: accounting, outages, inventory, estimates of starts."""
