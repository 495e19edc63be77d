"""A vault in Python: what `forestall checkpoint` does, as the methods of one object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import parse_duration
from forestall.vaults.api import checkpoints, creation
from forestall.vaults.api.checkpoints import Coding, Progress
from forestall.vaults.collecting import SHARE, CollectedTold, Retention
from forestall.vaults.hosts.places import host_at
from forestall.vaults.reading import read_file
from forestall.vaults.repository import Vault
from forestall.vaults.saving import SaveTold
from forestall.vaults.seals import Key
from forestall.vaults.upkeep import VerifiedTold

PathLike = str | Path
Told = dict[str, Any]
ToldEach = list[Told]  # a method is called list, too


class OpenVault:
    """Checkpoints on storage hosts, by their URLs.

    Parameters
    ----------
    urls : of storage hosts, each once: folders, ``file://``, ``s3://``, ``gs://``, ``az://``, ...
    key : the file with the key of an encrypted vault; a new one begins encrypted with it

    All methods raise `forestall.errors.InputError`: for unusable input, for hosts that do not
    answer, and `LostError` where too few pieces are left. The vault is created once, by `init`.
    """

    def __init__(self, urls: Sequence[str], key: Path | None = None) -> None:
        self.urls = tuple(urls)
        self.key = key

    def __repr__(self) -> str:
        return f"OpenVault({', '.join(self.urls)})"

    def init(self, chunks: str = "", *, add: bool = False) -> Told:
        """Create the vault on all of its stores, as ``forestall checkpoint init`` does; return its
        id and the state of each store. `add`: stores without anything become stores of a vault that
        the others hold."""
        return creation.init_vault(self.urls, chunks, key=self.key, add=add)

    def save(
        self,
        paths: PathLike | Sequence[PathLike],
        *,
        progress: Callable[[SaveTold], None] = lambda told: None,
        **coding: Any,
    ) -> Told:
        """Save files and folders; return what there is to say of the checkpoint, ``id`` above all.

        Parameters
        ----------
        coding : ``label``, ``data`` and ``parity`` (3 and 2), ``layout`` (``code``, ``copies:N``,
            ``ring:K``), ``compression``, ``chunks``, ``strict`` and ``init``, as ``forestall
            checkpoint save`` has them
        progress : is told how far it is
        """
        given = [paths] if isinstance(paths, str | Path) else paths
        return checkpoints.save_paths(
            self.urls, [Path(one) for one in given], coding_of(coding), key=self.key,
            progress=progress,
        )  # fmt: skip

    def restore(
        self,
        id: str,
        to: PathLike,
        *,
        label: str | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Told:
        """Make a checkpoint's files below a folder that is empty or not there yet: all of them,
        checked, or none. `id` may be its beginning, or ``latest``, of a `label` or of all; newer
        ones than that, which cannot be read, are in ``unreadable``."""
        return checkpoints.restore_to(
            self.urls, id, Path(to), label=label, key=self.key, progress=progress
        )

    def read(self, id: str, path: str) -> bytes:
        """Return one file of a checkpoint, by its path there."""
        with self.opened() as vault:
            return read_file(vault, vault.manifest(id), path)

    def list(self, label: str | None = None) -> ToldEach:
        """Return the checkpoints, or those of a label, oldest first. `verify` also names those that
        cannot be read."""
        found: ToldEach = checkpoints.listed(self.urls, key=self.key, label=label)["checkpoints"]
        return found

    def verify(
        self,
        *ids: str,
        deep: bool = False,
        label: str | None = None,
        progress: Callable[[VerifiedTold], None] = lambda told: None,
    ) -> ToldEach:
        """Fetch all pieces of checkpoints, of all or those of a `label` where none is named, and
        tell of each which are whole; `deep`: and whether what is in them is what was saved."""
        return checkpoints.looked_after(
            self.urls, ids, mend=False, deep=deep, label=label, key=self.key, progress=progress
        )

    def repair(
        self,
        *ids: str,
        label: str | None = None,
        progress: Callable[[VerifiedTold], None] = lambda told: None,
    ) -> ToldEach:
        """Make anew the pieces of checkpoints that were damaged or lost."""
        return checkpoints.looked_after(
            self.urls, ids, mend=True, label=label, key=self.key, progress=progress
        )

    def collect(
        self,
        *forget: str,
        keep_last: int | None = None,
        keep_within: str | float = 0.0,
        wait: float = 0.0,
        repack: float = SHARE,
        progress: Callable[[CollectedTold], None] = lambda told: None,
    ) -> Told:
        """Remove what no checkpoint needs, after letting go those in `forget`, and of each label
        all but the last `keep_last` and those younger than `keep_within` (s, or such as
        ``"7d"``). `wait`: s to wait for saves under way; `repack`: share of a pack that must be
        needed, else what is needed is written anew."""
        keep = None
        if keep_last is not None:
            keep = Retention(keep_last, float(parse_duration(keep_within, "keep_within")))
        return checkpoints.collected(
            self.urls, forgotten=forget, keep=keep, wait=wait, share=repack, key=self.key,
            progress=progress,
        )  # fmt: skip

    def stat(self) -> Told:
        """Return how much is in the vault, and how it lies on its hosts."""
        return checkpoints.state_of(self.urls, key=self.key)

    def opened(self, coding: Coding | None = None) -> Vault:
        """Return the vault itself, open; where there is none, one that begins by `coding`, where
        this has ``init``."""
        if coding is None:
            return checkpoints.open_vault(self.urls, key=self.key)
        return checkpoints.open_for_saves(self.urls, coding, self.key)


def open_checkpoints(urls: str | Sequence[str], *, key: PathLike | None = None) -> OpenVault:
    """Return the checkpoints on storage hosts; see `OpenVault`.

    Raises ParameterError for URLs of which nothing can be made, TraceError for a file that holds
    no key. No host is asked yet.
    """
    given = [urls] if isinstance(urls, str) else list(urls)
    for url in given:
        host_at(url)
    if key is not None:
        Key.read(Path(key))
    return OpenVault(given, None if key is None else Path(key))


def coding_of(given: dict[str, Any]) -> Coding:
    """Return how to code and cut from settings by name. Raises ParameterError."""
    there = [one.name for one in fields(Coding)]
    for name in given:
        if name not in there:
            raise ParameterError("settings", name, f"of {', '.join(there)}")
    return Coding(**given)
