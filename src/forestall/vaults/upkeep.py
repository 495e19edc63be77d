"""Verifying that all pieces are whole, and making anew those that are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from forestall.core.model.errors import InputError
from forestall.vaults import keys
from forestall.vaults.envelopes import content_of
from forestall.vaults.fetching import Fetch
from forestall.vaults.hosts.host import HostError
from forestall.vaults.manifests import Directory, Manifest
from forestall.vaults.packs import opened
from forestall.vaults.pieces.fragments import DamagedError, stored_parts
from forestall.vaults.pool import LostError
from forestall.vaults.recovery import ahead, needed
from forestall.vaults.repository import Vault
from forestall.vaults.trees.entries import checked_entries


@dataclass
class VerifiedTold:
    """What was found of one checkpoint.

    Attributes
    ----------
    name : of the checkpoint
    packs : that it needs
    pieces, whole : of these packs: how many there should be, and are
    spare : pieces beyond those needed, of the pack that has fewest; -1: it cannot be recovered
    wrong : what is wrong, in words
    mended : pieces and copies made anew
    """

    name: str
    packs: int = 0
    pieces: int = 0
    whole: int = 0
    spare: int | None = None
    wrong: list[str] = field(default_factory=list)
    mended: int = 0

    @property
    def recoverable(self) -> bool:
        """Whether all of it can be had."""
        return self.spare is None or self.spare >= 0


Tell = Callable[[VerifiedTold], None]


def verify(
    vault: Vault, manifest: Manifest, *, deep: bool = False, tell: Tell = lambda told: None
) -> VerifiedTold:
    """Fetch every piece that a checkpoint needs, and every host's copies of its manifest and
    directories, and look whether they are whole; `deep`: and whether what is in pieces is what was
    saved."""
    found = _looked(vault, manifest, lambda fetch: not deep or _is_sound(vault, fetch), tell)
    for key in (manifest.key, *(keys.DIRECTORIES + name for name in manifest.directories)):
        for _, copy in vault.pool.copies(key, lambda stored: content_of(stored, vault.unseal)):
            if isinstance(copy, HostError | DamagedError):
                found.wrong.append(f"{key.partition('/')[0]}: {copy}")
    return found


def repair(vault: Vault, manifest: Manifest, *, tell: Tell = lambda told: None) -> VerifiedTold:
    """Make anew the pieces of a checkpoint that are damaged or lost, where enough others are left,
    and the copies of its manifest and directories. Pieces go where they belong; where that host
    does not take one, to another that has none of the pack."""
    told: VerifiedTold

    def mend(fetch: Fetch) -> bool:
        body = fetch.body()
        if body is None:
            return False
        _mend(vault, fetch, b"".join(body), told)
        return True

    told = VerifiedTold(manifest.name)
    found = _looked(vault, manifest, mend, tell, told)
    _mend_copies(vault, manifest.key, manifest, found)
    for name in manifest.directories:
        with suppress(LostError):  # told already
            _mend_copies(vault, keys.DIRECTORIES + name, vault.directory(name), found)
    return found


def _looked(
    vault: Vault,
    manifest: Manifest,
    sound: Callable[[Fetch], bool],
    tell: Tell,
    told: VerifiedTold | None = None,
) -> VerifiedTold:
    told = told or VerifiedTold(manifest.name)
    try:
        checked_entries(manifest.entries)
        for fetch, _ in ahead(vault, needed(vault, manifest)):
            fetch.all_pieces()
            spare = len(fetch.pieces) - fetch.code.data
            told.packs += 1
            told.pieces += fetch.code.pieces
            told.whole += len(fetch.pieces)
            told.wrong.extend(f"piece {place}: {why}" for place, why in fetch.wrong.items())
            if spare >= 0 and not sound(fetch):
                told.wrong.append(f"pack {fetch.pack.name.hex()[:12]} has unexpected content")
                spare = -1
            told.spare = spare if told.spare is None else min(told.spare, spare)
            tell(told)
    except InputError as error:  # too little is left, or its names cannot be restored
        told.wrong.append(str(error))
        told.spare = -1
    return told


def _is_sound(vault: Vault, fetch: Fetch) -> bool:
    """Whether all chunks of a pack are what their names say."""
    body = fetch.body()
    if body is None:
        return False
    try:
        for _ in opened(fetch.pack.chunks, body, vault.name_of, vault.unsealing):
            pass
    except DamagedError:
        return False
    return True


def _mend(vault: Vault, fetch: Fetch, body: bytes, told: VerifiedTold) -> None:
    """Store the pieces of a pack that are not there."""
    lost = [place for place in range(fetch.code.pieces) if place not in fetch.pieces]
    if not lost:
        return
    pieces = fetch.code.encode(body)
    taken = fetch.found_on()
    for place in lost:
        data = stored_parts(fetch.code, place, len(body), fetch.pack.name, pieces[place])
        key = keys.fragment_key(fetch.save, fetch.pack.name, place)
        for host in _hosts_for(fetch, place, taken):
            try:
                vault.pool.put(host, key, data).result()
            except HostError:
                continue
            taken.add(host)
            told.mended += 1
            break


def _hosts_for(fetch: Fetch, place: int, taken: set[int]) -> Iterable[int]:
    """Return the hosts that may take a piece: its own, then those without a piece of the pack."""
    home = fetch.home(place)
    others = [one for one in fetch.vault.pool.by_speed() if one != home]
    first = [] if home is None else [home]
    return [*first, *(one for one in others if one not in taken)]


def _mend_copies(vault: Vault, key: str, one: Manifest | Directory, told: VerifiedTold) -> None:
    """Store a manifest or directory on hosts that have no whole copy of it."""
    kind, same = type(one), (one.name, getattr(one, "move", ""))

    def is_whole(stored: bytes) -> bool:
        copy = kind.from_content(content_of(stored, vault.unseal))
        return (copy.name, getattr(copy, "move", "")) == same

    for host, whole in vault.pool.copies(key, is_whole):
        if whole is not True:
            try:
                vault.pool.put(host, key, [vault.envelope(one)]).result()
                told.mended += 1
            except HostError as error:
                told.wrong.append(str(error))


def packs_of(vault: Vault, manifests: Iterable[Manifest]) -> Iterator[tuple[Directory, int]]:
    """Yield the packs that checkpoints need, as numbers in directories; some more than once."""
    for manifest in manifests:
        for need in needed(vault, manifest):
            yield need.directory, need.number
