"""How things went from week to week, by a site's records."""
