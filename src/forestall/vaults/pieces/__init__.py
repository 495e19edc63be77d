"""The pieces of a pack: how they are made of it, and what is stored of each."""
