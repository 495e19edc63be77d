"""`fs.vault`: checkpoints on storage hosts, of which some may be lost."""

from forestall.app.vault.opened import Checkpoints
from forestall.app.vault.opened import open_checkpoints as open
from forestall.vault.layouts import Layout
from forestall.vault.pool import LostError

__all__ = ["Checkpoints", "Layout", "LostError", "open"]
