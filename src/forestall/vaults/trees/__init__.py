"""Trees of files: found and read to be saved, and made anew."""
