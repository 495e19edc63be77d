"""What to do about it, by a site's records."""
