"""Virtual machines that really run, moved before their nodes fail."""
