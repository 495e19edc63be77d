"""A site's records as files of our own."""
