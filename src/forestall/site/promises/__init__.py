"""What quotes would have been worth, by a site's records."""
