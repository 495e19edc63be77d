"""Programs run so that they outlive their machine: saved at the right moments into the vault, and
gone on with from the last complete checkpoint, wherever they are started again.

A driver decides and keeps the books; a holder, the program's parent, is there to end the program
where the driver is killed.
"""
