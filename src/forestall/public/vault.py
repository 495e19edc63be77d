"""`fs.vault`: checkpoints on storage hosts, of which some may be lost."""

from forestall.app.vault.opened import Checkpoints
from forestall.app.vault.opened import open_checkpoints as open
from forestall.app.vault.ranks import read_state, ring, save_ranks
from forestall.app.vault.similar import similarity
from forestall.app.vault.tensors import torch_reader, torch_writer
from forestall.vault.layouts import Layout
from forestall.vault.pool import LostError
from forestall.vault.ranks.members import RankLostError
from forestall.vault.ranks.ring import Restored, Ring
from forestall.vault.ranks.tree import SharedSaveError

__all__ = [
    "Checkpoints",
    "Layout",
    "LostError",
    "RankLostError",
    "Restored",
    "Ring",
    "SharedSaveError",
    "open",
    "read_state",
    "ring",
    "save_ranks",
    "similarity",
    "torch_reader",
    "torch_writer",
]
