"""A million random faults in a vault: `python -m benchmarks.vault_faults [FAULTS [SEED]]`.

A vault of 3 + 2 with two versions lies on five hosts in memory. In each trial one to twelve of its
objects are spoilt: bits flipped, cut, lengthened, filled with zeros, removed, exchanged with
another object (another place's, host's or version's piece, or a manifest), or put back to what the
host had at the older version. Then the newest checkpoint is recovered. It must come back byte for
byte, or be refused; and where no pack lost more than two pieces and a copy of manifest and
directories is whole, it must come back. Prints what came of it; exits with 1 where a fault was not
detected.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.common import ROOT
from forestall.vaults import keys
from forestall.vaults.chunks import Cutting
from forestall.vaults.manifests import Manifest
from forestall.vaults.pool import LostError
from forestall.vaults.recovery import ahead, needed
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import save
from vaults.hosts_that_fail import TestHost, hosts

assert ROOT
KINDS: Final = ("flip", "cut", "longer", "zeros", "gone", "another object", "older")
MOST: Final = 12
PARITY: Final = 2


@dataclass
class World:
    """A vault, what lies on its hosts, and what its newest checkpoint is."""

    vault: Vault
    hosts: list[TestHost]
    older: list[dict[str, bytes]]
    sound: list[dict[str, bytes]]
    manifest: Manifest
    chunks: dict[int, bytes]


def made(seed: int) -> World:
    """Make a vault with two versions of a file of random bytes and text."""
    there, chance = hosts(5), np.random.default_rng(seed)
    vault = Vault.open(there, begin=VaultRules(Cutting("content", 1024)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        data = bytearray(chance.bytes(12_000) + b"checkpoint " * 800)
        path.write_bytes(data)
        save(vault, [path])
        older = [dict(one.objects) for one in there]
        data[3000:3500] = chance.bytes(700)
        path.write_bytes(data)
        manifest = save(vault, [path])
    sound = [dict(one.objects) for one in there]
    found = World(vault, there, older, sound, manifest, {})
    found.chunks = recovered(found)
    assert b"".join(found.chunks[k] for k in sorted(found.chunks)) == bytes(data)
    return found


def recovered(world: World) -> dict[int, bytes]:
    """Return the chunks of the newest checkpoint, by number. Raises LostError."""
    vault = world.vault
    vault._directories.clear()
    manifest = vault.manifest(world.manifest.name)
    assert manifest.entries == world.manifest.entries, "a spoilt manifest was taken for whole"
    chunks: dict[int, bytes] = {}
    for fetch, need in ahead(vault, needed(vault, manifest)):
        found = fetch.wanted(np.unique(need.chunks[:, 0]).tolist())
        chunks.update((number, found[place]) for place, number in need.chunks.tolist())
    return chunks


def spoil(world: World, chance: random.Random) -> str:
    """Spoil an object; return how."""
    number = chance.randrange(len(world.hosts))
    objects = world.hosts[number].objects
    kind, key = chance.choice(KINDS), chance.choice(sorted(world.sound[number]))
    data = bytearray(objects.get(key, b""))
    if kind == "flip" and data:
        for _ in range(chance.choice((1, 1, 2, 40))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[chance.randrange(len(data) + 1) :]
    elif kind == "longer":
        data += chance.randbytes(chance.randrange(1, 50))
    elif kind == "zeros":
        data = bytearray(len(data))
    elif kind == "another object":
        other = chance.choice(world.sound)
        data = bytearray(other[chance.choice(sorted(other))])
    elif kind == "older":
        data = bytearray(world.older[number].get(key, b""))
    if kind == "gone":
        objects.pop(key, None)
    else:
        objects[key] = bytes(data)
    return kind


def must_come_back(world: World) -> bool:
    """Return whether enough is whole: counted from what lies there, not by asking the vault."""
    whole: Counter[str] = Counter()
    for one, sound in zip(world.hosts, world.sound, strict=True):
        for key, data in sound.items():
            if one.objects.get(key) == data:
                whole[key.rpartition(".")[0] if key.startswith(keys.PACKS) else key] += 1
    names = {keys.MANIFESTS + world.manifest.name}
    names |= {keys.DIRECTORIES + one for one in world.manifest.directories}
    packs = {
        key.rpartition(".")[0]
        for sound in world.sound for key in sound if key.startswith(keys.PACKS)
    }  # fmt: skip
    return all(whole[one] for one in names) and all(
        whole[one] >= len(world.hosts) - PARITY for one in packs
    )


def main(arguments: list[str]) -> int:
    """Spoil as often as asked, a million times by default; return 1 where it went undetected."""
    wanted, seed = ([int(one) for one in arguments] + [1_000_000, 18][len(arguments) :])[:2]
    world, chance = made(seed), random.Random(seed)
    faults: Counter[str] = Counter()
    came: Counter[str] = Counter()
    begun = last = time.perf_counter()
    while faults.total() < wanted:
        for _ in range(chance.randint(1, MOST)):
            faults[spoil(world, chance)] += 1
        must = must_come_back(world)
        try:
            found = recovered(world)
        except LostError:
            came["refused although enough was whole" if must else "refused"] += 1
        else:
            same = found == world.chunks
            came["recovered" if same else "something else came back"] += 1
        for one, sound in zip(world.hosts, world.sound, strict=True):
            one.objects = dict(sound)
        if time.perf_counter() - last > 30:
            last = time.perf_counter()
            print(f"{faults.total():,} faults, {last - begun:.0f} s: {dict(came)}", flush=True)
    took = time.perf_counter() - begun
    print(f"{faults.total():,} faults in {came.total():,} recoveries, {took:.0f} s")
    for name, count in [*faults.items(), *came.items()]:
        print(f"  {name:<40}{count:>10,}")
    world.vault.close()
    wrong = came["something else came back"] + came["refused although enough was whole"]
    print(f"undetected or refused without need: {wrong}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
