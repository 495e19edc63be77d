"""PyTorch: distributed checkpoints (`torch.distributed.checkpoint`) in a vault."""

from __future__ import annotations

from forestall.core.model.errors import MissingExtraError

try:
    import torch.distributed.checkpoint as _checkpoint  # noqa: F401
except ImportError:
    raise MissingExtraError("a checkpoint of PyTorch", "torch") from None
