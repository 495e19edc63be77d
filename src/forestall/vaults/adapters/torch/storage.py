"""Where `torch.distributed.checkpoint` writes to, and reads from: a vault.

A checkpoint has the files that PyTorch's own `FileSystemWriter` would write, ``__RANK_0.distcp``
and ``.metadata``: brought back into a folder it is read by `FileSystemReader` as well. Ranks share
chunks, and it is there once all of it is, ``.metadata`` included.
"""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO, Final, cast

import torch
from torch.distributed.checkpoint import StorageReader, StorageWriter
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta
from torch.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from forestall.core.model.errors import InputError
from forestall.vaults.adapters.torch.metadata import metadata_of
from forestall.vaults.manifests import Manifest
from forestall.vaults.ranks.sharing import RankFile, SharedSave
from forestall.vaults.reading import Span, read_file, read_spans
from forestall.vaults.repository import Vault

METADATA: Final = ".metadata"
_BATCH: Final = 256 << 20
"""Bytes of tensors that are read at once."""


class VaultWriter(StorageWriter):
    """Writes checkpoints into a vault.

    Parameters
    ----------
    begin : from a label, or None, begins a save of all ranks

    Attributes
    ----------
    saved : the last checkpoint, on the rank that coordinates; None before there is one
    """

    def __init__(self, begin: Callable[[str | None], SharedSave]) -> None:
        self._begin = begin
        self._label: str | None = None
        self._save: SharedSave | None = None
        self.saved: Manifest | None = None

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin anew; a save that came to no end is no checkpoint. An id serves as the label."""
        if self._save is not None:
            self._save.close()
        self._save = None
        self._label = None if checkpoint_id is None else os.fspath(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Learn whether this rank coordinates."""
        self._save = self._begin(self._label)
        if is_coordinator != self._save.is_root:
            raise InputError("rank 0 has to coordinate a checkpoint in a vault")

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Return the plan of this rank, as it is."""
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Return the plans of all ranks, as they are."""
        return plans

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Store this rank's tensors, together with the other ranks."""
        assert self._save is not None
        name = f"__{self._save.rank}_0.distcp"
        with tempfile.TemporaryFile() as file:
            results = [_written(file, name, one, planner) for one in plan.items]
            file.flush()
            handle = file.fileno()

            def again() -> BinaryIO:
                os.lseek(handle, 0, os.SEEK_SET)
                return open(handle, "rb", closefd=False)

            self._save.write([RankFile(name, again)] if results else [])
        done: Future[list[WriteResult]] = Future()
        done.set_result(results)
        return done

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Add what tells where each tensor is; from then on the checkpoint is there."""
        assert self._save is not None
        metadata.storage_data = {one.index: one.storage_data for each in results for one in each}
        metadata.storage_meta = self.storage_meta()
        self.saved = self._save.commit({METADATA: pickle.dumps(metadata)})
        self._save = None

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Return whether it may be a label."""
        return os.fspath(checkpoint_id).isprintable()


class VaultReader(StorageReader):
    """Reads a checkpoint of a vault.

    Parameters
    ----------
    vault : it is read from until the reader goes
    name : of the checkpoint, ``latest``, or a beginning of its name
    """

    def __init__(self, vault: Vault, name: str = "latest") -> None:
        self._vault, self._name = vault, name
        self._made: Manifest | None = None
        self._places: dict[Any, Any] = {}

    @property
    def manifest(self) -> Manifest:
        """The checkpoint."""
        if self._made is None:
            self._made = self._vault.manifest(self._name)
        return self._made

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begin anew, with another checkpoint where one is named."""
        if checkpoint_id is not None:
            self._name = os.fspath(checkpoint_id)
        self._made, self._places = None, {}

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Return what tells where each tensor is; TraceError where that is no metadata."""
        source = f"{METADATA} of checkpoint {self.manifest.name}"
        found = metadata_of(read_file(self._vault, self.manifest, METADATA), source)
        found.storage_meta = StorageMeta(checkpoint_id=self.manifest.name)
        return found

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Learn where each tensor is, and from the rank that coordinates in which checkpoint."""
        if metadata.storage_meta is not None and metadata.storage_meta.checkpoint_id is not None:
            self._name = os.fspath(metadata.storage_meta.checkpoint_id)
        self._places = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Return the plan of this rank, as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Return the plans of all ranks, as they are."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Fill this rank's tensors; each pack is fetched once for some hundred MiB of them."""
        for batch in self._batches(plan.items):
            places = [self._places[one.storage_index] for one in batch]
            spans = [Span(str(one.relative_path), one.offset, one.length) for one in places]
            parts = read_spans(self._vault, self.manifest, spans)
            for item, data in zip(batch, parts, strict=True):
                _read(item, io.BytesIO(data), planner)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _batches(self, items: Iterable[ReadItem]) -> Iterable[list[ReadItem]]:
        """Yield what is read at once, in the order in which it lies in its files."""

        def place(one: ReadItem) -> tuple[str, int]:
            where = self._places[one.storage_index]
            return str(where.relative_path), where.offset

        batch: list[ReadItem] = []
        size = 0
        for one in sorted(items, key=place):
            batch.append(one)
            size += self._places[one.storage_index].length
            if size >= _BATCH:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Return whether it may be a checkpoint's name."""
        return os.fspath(checkpoint_id).isprintable()


def _written(file: Any, name: str, item: WriteItem, planner: SavePlanner) -> WriteResult:
    """Write a tensor or an object behind what stands in a file; return where it is."""
    begin, data = file.tell(), planner.resolve_data(item)
    if item.type == WriteItemType.BYTE_IO:
        file.write(cast(io.BytesIO, data).getbuffer())
    else:
        torch.save(cast(torch.Tensor, data).detach().cpu().clone(), file)
    length = file.tell() - begin
    return WriteResult(item.index, length, _StorageInfo(name, begin, length))


def _read(item: ReadItem, stream: io.BytesIO, planner: LoadPlanner) -> None:
    """Fill a tensor, or hand an object over."""
    if item.type == LoadItemType.BYTE_IO:
        planner.load_bytes(item, stream)
        return
    tensor = torch.load(stream, map_location="cpu", weights_only=True)
    for dimension, (begin, length) in enumerate(
        zip(item.storage_offsets, item.lengths, strict=True)
    ):
        tensor = tensor.narrow(dimension, begin, length)
    target = planner.resolve_tensor(item).detach()
    if target.size() != tensor.size():
        raise InputError(
            f"{item.storage_index.fqn} has shape {tuple(tensor.size())} in the checkpoint; "
            f"expected {tuple(target.size())}"
        )
    target.copy_(tensor)
    planner.commit_tensor(item, target)
