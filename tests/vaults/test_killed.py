"""Real processes that are killed, and a real disk that is full: what is complete stays complete."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import InputError
from forestall.vaults.collecting import collect
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.pieces.codes import Code
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings, save

SETTINGS = SaveSettings("x", Code(2, 1))
_WORK = """\
import sys
from pathlib import Path
from forestall.vaults.pieces.codes import Code
from forestall.vaults.collecting import collect, forget
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.repository import Vault
from forestall.vaults.saving import SaveSettings, save
from forestall.vaults.upkeep import repair
top = Path(sys.argv[1])
with Vault.open([FolderHost(top / f"host{k}") for k in range(3)]) as vault:
    print("open", flush=True)
    made = save(vault, [top / "data"], SaveSettings("x", Code(2, 1)))
    print(made.name, flush=True)
    for path in sorted((top / "host1").rglob("*.0")):
        path.unlink()
    repair(vault, made)
    for name in vault.names()[:-2]:
        forget(vault, name)
    collect(vault)
"""


def opened(top: Path) -> Vault:
    return Vault.open([FolderHost(top / f"host{k}") for k in range(3)], begin=VaultRules())


def test_a_process_that_is_killed_at_any_moment(tmp_path: Path) -> None:
    """Of saves, repairs and collections: all checkpoints that are told come back whole."""
    chance = np.random.default_rng(5)
    data, versions = tmp_path / "data", dict[str, bytes]()

    def write() -> bytes:
        content = chance.bytes(6_000_000) + versions.get("last", b"")[-20_000_000:]
        data.write_bytes(content)
        return content

    versions["last"] = write()
    with opened(tmp_path) as vault:
        versions[save(vault, [data], SETTINGS).name] = versions["last"]
    ends = set()
    for wait in chance.permutation(np.linspace(0.0, 0.4, 6)).tolist():
        content = write()
        process = subprocess.Popen(
            [sys.executable, "-c", _WORK, tmp_path], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        ends.add(process.wait())
        said = process.stdout.read().strip()
        with opened(tmp_path) as vault:
            names = vault.names()
            assert said in (*names, "")
            for name in names:
                to = tmp_path / f"again-{name}"
                restore(vault, name, to)
                assert (to / "data").read_bytes() == versions.setdefault(name, content)
            vault.clock = lambda: time.time() + 7200  # all that has died is dead by then
            if collect(vault).packs:  # a directory goes after the last of its packs
                collect(vault)
            used = {one for name in names for one in vault.manifest(name).directories}
        left = {one.name for one in (tmp_path / "host0" / "directories").iterdir()}
        assert left <= used, "orphans are left"
        subprocess.run(["rm", "-rf", *tmp_path.glob("again-*")], check=True)
        versions["last"] = content
    assert -signal.SIGKILL in ends


_LAST_MOMENT = """\
import os, signal, sys
from pathlib import Path
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.pieces.codes import Code
from forestall.vaults.repository import Vault
from forestall.vaults.saving import SaveSettings, save
class Last(FolderHost):
    def put(self, key, *rest, **more):
        if key.startswith("manifests/"):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().put(key, *rest, **more)
top = Path(sys.argv[1])
with Vault.open([Last(top / f"host{k}") for k in range(3)]) as vault:
    save(vault, [top / "data"], SaveSettings("x", Code(2, 1)))
"""


def test_what_a_killed_save_wrote_goes_at_once(tmp_path: Path) -> None:
    """With the first collection that finds it dead, not with the one after."""
    (tmp_path / "data").write_bytes(np.random.default_rng(6).bytes(100_000))
    opened(tmp_path).close()
    ran = subprocess.run([sys.executable, "-c", _LAST_MOMENT, tmp_path], check=False)
    assert ran.returncode == -signal.SIGKILL
    parts = [tmp_path / f"host{k}" / part for k in range(3) for part in ("packs", "directories")]
    assert all(any(part.iterdir()) for part in parts)
    with opened(tmp_path) as vault:
        assert vault.names() == []
        collect(vault)
    assert not any(one.is_file() for part in parts for one in part.rglob("*"))


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """Of one of three hosts: the save goes on without it, and says so; of two: it ends, and what
    was complete is."""
    small = [tmp_path / f"host{k}" for k in (0, 1)]
    data = tmp_path / "data"
    data.write_bytes(os.urandom(1_000_000))
    for folder in small:
        folder.mkdir()
        if os.getuid() or os.system(f"mount -t tmpfs -o size=4m tmpfs {folder} 2>/dev/null"):
            pytest.skip("no right to mount a small disk")
    try:
        with opened(tmp_path) as vault:
            first = save(vault, [data], SETTINGS).name
            old = data.read_bytes()
            data.write_bytes(os.urandom(20_000_000))
            with pytest.raises(InputError, match="No space left on device"):
                save(vault, [data], SETTINGS)
            assert vault.names() == [first]
            restore(vault, first, tmp_path / "again")
            assert (tmp_path / "again" / "data").read_bytes() == old
            freed = collect(vault)
            assert freed.removed > 1_000_000
            data.write_bytes(old + b"more")
            assert save(vault, [data], SETTINGS).figures["missing"] == 0
    finally:
        for folder in small:
            os.system(f"umount -l {folder}")
