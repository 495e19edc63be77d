"""How long each job of a snapshot will run: draws for its futures."""
