"""Checkpoints of the ranks of a parallel program: kept in their neighbours' memory (`ring`), and in
a vault, where what is alike in them is stored once (`sharing`)."""
