"""Saves that are stopped, presumed dead and continued; collections whose clocks are wrong."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest

from forestall.core.model.errors import InputError
from forestall.vaults import keys, leases, saving
from forestall.vaults.collecting import collect
from forestall.vaults.hosts.host import HostError
from forestall.vaults.leases import LIFE, LeaseLostError, SaveLease, fence, lease
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault
from forestall.vaults.saving import SaveSettings, SaveTold, save_stream
from vaults.hosts_that_fail import TestHost, hosts
from vaults.test_vault import SMALL

DAY = 86_400.0
SETTINGS = SaveSettings("x", Code(2, 1))


class Boot:
    """The time since this machine was started, as a test sets it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(leases, "since_boot", lambda: self.now)


@pytest.fixture
def boot(monkeypatch: pytest.MonkeyPatch) -> Boot:
    return Boot(monkeypatch)


def opened(there: list[TestHost], ahead: float = 0.0) -> Vault:
    return Vault.open(there, begin=SMALL, clock=lambda: 1_800_000_000.0 + ahead)


def noise(size: int = 20_000_000) -> io.BytesIO:
    return io.BytesIO(np.random.default_rng(1).bytes(size))


def save_while(there: list[TestHost], during: Callable[[], None]) -> str:
    """Save, and do something once, after the first megabytes."""
    done: list[int] = []

    def tell(_: SaveTold) -> None:
        if not done:
            done.append(1)
            during()

    with opened(there) as vault:
        return save_stream(vault, noise(), "data", SETTINGS, tell=tell).name


@pytest.mark.parametrize("ahead", [-30 * DAY, -7200.0, 7200.0, 30 * DAY])
def test_a_collection_does_not_go_by_clocks(there: list[TestHost], ahead: float) -> None:
    def collected() -> None:
        with opened(there, ahead) as other:
            told = collect(other)
        assert told.said == ["1 save is under way; objects that may be needed stay"]
        assert told.objects == 0

    name = save_while(there, collected)
    with opened(there) as vault:
        assert vault.names() == [name]


@pytest.fixture
def there() -> list[TestHost]:
    return hosts(3)


@pytest.mark.parametrize("looks", ["by one machine", "by two"])
def test_a_save_that_was_presumed_dead_knows(
    there: list[TestHost], boot: Boot, looks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between two collections, then continued: there is no checkpoint, and it says so."""

    def collected() -> None:
        with opened(there) as other:
            assert "under way" in collect(other).said[0]
        boot.now += LIFE
        if looks == "by two":
            monkeypatch.setattr(leases, "process_space", lambda: "another boot")
        with opened(there, 0.0 if looks == "by one machine" else DAY) as other:
            assert "is presumed dead" in collect(other).said[0]

    with pytest.raises(LeaseLostError, match="It is not a checkpoint; save again"):
        save_while(there, collected)
    with opened(there) as vault:
        assert vault.names() == []
        collect(vault)
        assert save_stream(vault, noise(3000), "data", SETTINGS).figures["missing"] == 0
    left = {key.partition("/")[0] for one in there for key in one.objects}
    assert left == {"vault", "store", "forgotten", "manifests", "directories", "packs"}


def test_a_save_that_gives_signs_of_life_is_not_presumed_dead(
    there: list[TestHost], boot: Boot
) -> None:
    with opened(there) as vault, lease(vault, name_of(vault), "x") as held, opened(there) as other:
        for _ in range(3):
            assert "under way" in collect(other).said[0]
            boot.now += LIFE
            assert held.beat()


def name_of(vault: Vault) -> str:
    return keys.save_name(vault.clock(), "abc", b"1")


def test_a_lease_that_is_gone_is_not_written_anew(there: list[TestHost]) -> None:
    with opened(there) as vault, lease(vault, "s", "x") as held:
        vault.pool.delete_everywhere("leases/s")
        assert not held.beat()
        assert not any("leases/s" in one.objects for one in there)
        with pytest.raises(LeaseLostError):
            held.check()


def test_a_manifest_that_is_there_before_the_fence_counts(there: list[TestHost]) -> None:
    with opened(there) as vault:
        made = save_stream(vault, noise(3000), "data", SETTINGS)
        assert fence(vault, {made.name}, 2) == {made.name}
        assert vault.names() == [made.name]
        late = name_of(vault)
        assert fence(vault, {late}, 2) == {made.name}
        assert fence(vault, set(), 2) == {made.name}  # it is never lifted
        assert f"forgotten/{late}" in there[0].objects
        vault.forget(made.name)
        assert fence(vault, set(), 2) == set()
    assert not any("fences" in key for one in there for key in one.objects)


def test_a_save_under_a_fence_takes_its_manifest_back(
    there: list[TestHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fence comes between its last look and its manifest."""
    confirm = saving.confirm

    def late(vault: Vault, *given: object) -> int:
        (lease_key,) = (key for key in there[0].objects if key.startswith("leases/"))
        save_id = lease_key.removeprefix("leases/")
        vault.put_told(keys.FENCES + save_id, {"at": 1.0})
        assert vault.names() == [save_id]
        return confirm(vault, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(saving, "confirm", late)
    with opened(there) as vault:
        with pytest.raises(LeaseLostError):
            save_stream(vault, noise(3000), "data", SETTINGS)
        assert vault.names() == []


def test_a_save_is_done_once_its_manifest_and_pieces_are_there(
    there: list[TestHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts that take objects and do not have them afterwards."""

    def forgets(host: TestHost, prefix: str) -> None:
        put = TestHost.put
        monkeypatch.setattr(
            host, "put",
            lambda key, data: None if key.startswith(prefix) else put(host, key, data),
        )  # fmt: skip

    with opened(there) as vault:
        forgets(there[0], "manifests/")
        save_stream(vault, noise(3000), "data", SETTINGS)
        forgets(there[1], "manifests/")
        with pytest.raises(HostError, match=r"manifests/.* is not there"):
            save_stream(vault, noise(3000), "data", SETTINGS)
        forgets(there[0], "packs/")
        forgets(there[1], "packs/")
        names = vault.names()
        with pytest.raises(LostError, match="not saved: 1 of the 3 pieces of pack"):
            save_stream(vault, noise(4000), "data", SETTINGS)
        assert vault.names() == names


@pytest.mark.parametrize("path", ["a\0b", "/etc/passwd", "../out"])
def test_what_restore_would_refuse_is_not_saved(there: list[TestHost], path: str) -> None:
    with opened(there) as vault:
        with pytest.raises(InputError, match="cannot be restored"):
            save_stream(vault, noise(3000), path, SETTINGS)
        assert vault.names() == []


def test_an_announcement_stays_until_nothing_of_it_is_left(there: list[TestHost]) -> None:
    """A collection that died on another machine may go on: what it was about to remove is never
    used by a save."""
    with opened(there) as vault:
        first = save_stream(vault, noise(3000), "data", SETTINGS)
        (pack,) = {key.rpartition(".")[0].removeprefix("packs/") for key in there[0].objects
                   if key.startswith("packs/")}  # fmt: skip
        content = {"at": 1.0, "packs": [pack], "pid": 1, "place": "elsewhere"}
        vault.put_told("collections/20260101T000000Z-00", content)
        again = save_stream(vault, noise(3000), "data", SETTINGS)
        assert again.figures["new"] == first.figures["new"]  # stored anew
        collect(vault)
        assert leases.doomed(vault) == {pack}
        vault.forget(first.name)
        collect(vault)
        assert leases.doomed(vault) == {pack}
        collect(vault)
        assert leases.doomed(vault) == frozenset()
        assert save_stream(vault, noise(3000), "data", SETTINGS).figures["new"] == 0


def test_beats_go_on_while_hosts_are_away(there: list[TestHost]) -> None:
    with opened(there) as vault:
        held = SaveLease(vault, "s", "x", 0)
        held.sign()
        there[0].away = there[1].away = True
        assert held.beat()
        there[0].away = there[1].away = False
        assert held.beat()
