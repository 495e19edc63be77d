"""What all studies share: runs kept on disk and played over all cores."""
