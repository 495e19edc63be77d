"""A file of scores judged against what came."""
