"""`fs.vault`: checkpoints on storage hosts, of which some may be lost."""

from forestall.vaults.api.opened import OpenVault
from forestall.vaults.api.opened import open_checkpoints as open
from forestall.vaults.api.ranks import read_state, ring, save_ranks
from forestall.vaults.api.similar import similarity
from forestall.vaults.api.tensors import torch_reader, torch_writer
from forestall.vaults.layouts import StoreLayout
from forestall.vaults.pool import LostError
from forestall.vaults.ranks.members import RankLostError
from forestall.vaults.ranks.ring import Restored, Ring
from forestall.vaults.ranks.tree import SharedSaveError

__all__ = [
    "LostError",
    "OpenVault",
    "RankLostError",
    "Restored",
    "Ring",
    "SharedSaveError",
    "StoreLayout",
    "open",
    "read_state",
    "ring",
    "save_ranks",
    "similarity",
    "torch_reader",
    "torch_writer",
]
