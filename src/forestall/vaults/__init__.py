"""The vault: checkpoints cut into chunks that versions share, compressed, coded, and spread.

A save cuts files into chunks (`chunks`), leaves out those that the vault has, compresses the others
into packs (`packs`), turns each pack into m + k fragments of which any m are enough (`codes`,
`fragments`), and puts each on a storage host of its own (`hosts`). What was written is told by
directories and, last of all, by a manifest (`manifests`): a checkpoint is there once its manifest
is.

Source: slides of Ren and Bagchi on FGCS, "Checkpoint repository"; Oliner et al., 2004, Section 7.1
(the ring).
"""
