"""How long a site's nodes last, and where and when they fail."""
