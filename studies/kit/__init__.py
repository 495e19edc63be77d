"""What all studies share: claims, means over seeds, runs kept on disk and played over all cores,
tables of runs asked by cell, text, figures, files, and commands."""
