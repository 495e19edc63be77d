"""The book of storage hosts, and what is learned from it."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import TraceError
from forestall.vaults.hosts.host import HostError, HostLook
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import HostPool
from forestall.vaults.rules.placement import Stake
from forestall.vaults.stores.book import HALF, StoreBook, load_of
from forestall.vaults.stores.learning import MOMENT, learn, outlook, together
from forestall.vaults.stores.looking import PROBE, look_around, note_transfers, probe, this_start
from forestall.vaults.stores.placing import AGAIN, AutoPlacing
from vaults.hosts_that_fail import hosts

WELL = HostLook(io=0.1, clients=1, limit=4)


def test_paths_forget_by_halves(tmp_path: Path) -> None:
    with StoreBook(tmp_path / "deep" / "stores.db") as book:
        assert book.path_to("a") is None
        book.add_transfer("a", 0.0, 1e6, 1.0)
        book.add_transfer("a", HALF, 3e6, 1.0)
        book.add_transfer("a", HALF, 0.0, 1.0)
        path = book.path_to("a")
        assert path is not None
        assert path.rate == pytest.approx((0.5e6 + 3e6) / 1.5)
        assert path.at == HALF
        book.add_save("job", 7, 1e6)
        assert book.last_save("job") == (7, 1e6)
        assert book.last_save("other") is None


def test_looks_come_back_and_old_ones_go(tmp_path: Path) -> None:
    with StoreBook(tmp_path / "stores.db") as book:
        book.add_looks([("a", 100, WELL), ("a", 160, None), ("a", 220, HostLook(since=30.0))])
        looks = book.looks("a")
        assert looks.at.tolist() == [100, 160, 220]
        assert looks.answered.tolist() == [1, 0, 1]
        assert looks.load[0] == 0.25
        assert np.isnan(looks.load[2])
        assert looks.since[2] == 30.0
        assert book.looks("a", 200).at.tolist() == [220]
        book.beat("boot0", 100, 0)
        book.beat("boot1", 240, 200)  # nobody knows when boot0 ended
        book.beat("boot1", 300, 200)
        assert book.downs() == []
        book.beat("boot2", 4000, 3900)
        assert book.downs() == [(300, 3900)]
        book.beat("boot2", 150 + 35 * 86_400, 3900)
        assert book.looks("a").at.tolist() == [160, 220]


def test_loads() -> None:
    assert load_of(WELL) == 0.25
    assert load_of(HostLook(io=0.7)) == 0.7
    assert np.isnan(load_of(HostLook()))


def _write(path: str, number: int) -> None:
    with StoreBook(Path(path)) as book:
        for at in range(10):
            book.add_looks([(f"host{number}", at, WELL)])
            book.add_transfer("all", 0.0, 1.0, 1.0)


def test_processes_write_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "stores.db")
    spawning = multiprocessing.get_context("fork")
    begun = [spawning.Process(target=_write, args=(path, number)) for number in range(3)]
    for one in begun:
        one.start()
    for one in begun:
        one.join()
        assert one.exitcode == 0
    with StoreBook(Path(path)) as book:
        assert all(len(book.looks(f"host{number}").at) == 10 for number in range(3))
        assert book._base.execute("SELECT bytes FROM paths").fetchone() == (30.0,)


def test_a_file_that_is_no_book(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing like it" * 99)
    with pytest.raises(TraceError, match="book of storage hosts"):
        StoreBook(tmp_path / "x")
    (tmp_path / "dir").mkdir()
    with pytest.raises(TraceError):
        StoreBook(tmp_path / "dir")


def test_joint_history(tmp_path: Path) -> None:
    """b goes down with this machine, and says so by when it began; c does not say, and was down
    after; of d nothing is known before the second failure."""
    went, back = 50_000, 52_000
    with StoreBook(tmp_path / "stores.db") as book:
        told = HostLook(since=10.0)
        book.add_looks(
            (host, at, HostLook() if host == "c" else told)
            for at in range(0, went, 300) for host in "abc"
        )  # fmt: skip
        after = {"a": told, "b": HostLook(since=float(back)), "c": None, "d": HostLook()}
        book.add_looks(
            (host, at, look)
            for at in range(back + 60, back + 4000, 300) for host, look in after.items()
        )  # fmt: skip
        book.add_downs([(went, back), (went - 90_000, went - 80_000)])
        looks = [book.looks(host) for host in "abcd"]
        up, at_failure = together(looks, book.downs(), back + 4000)
        assert at_failure.sum() == 1
        assert up[at_failure][0, :3].tolist() == [1, 0, 0]
        assert np.isnan(up[at_failure][0, 3])
        quiet = up[~at_failure]
        assert len(quiet) == (back + 4000) // MOMENT + 1
        assert quiet[:80, :3].min() == 1.0
        assert np.isnan(quiet[0, 3])
        known = learn(book, "abcd", back + 4000, 3600)
        assert [one.state for one in known] == ["S0", "S0", "S3", "S0"]
        assert known[2].lasting == 0.0
        seen = outlook(book, known, back + 4000, unmeasured=1e8)
        assert seen.bandwidth.tolist() == [1e8, 1e8, 0.0, 1e8]
        assert seen.weight.sum() == pytest.approx(1.0)


def test_looks_probes_and_transfers(tmp_path: Path) -> None:
    there = hosts(3)
    there[2].away = True
    with StoreBook(tmp_path / "stores.db") as book, HostPool(there) as pool:
        found = look_around(pool, book, 100)
        assert isinstance(found[2], HostError)
        probe(pool, book, 100.0)
        assert not any(one.objects for one in there)
        assert book.path_to("host2") is None
        first = book.path_to("host0")
        assert first is not None
        probe(pool, book, 200.0)
        assert book.path_to("host0") == first  # measured lately
        assert pool.seen[0].moved == 0
        pool.put(1, "packs/x", [bytes(PROBE)]).result()
        note_transfers(pool, book, 300.0)
        last = book.path_to("host1")
        assert last is not None
        assert last.at == 300.0
    assert this_start()[0]


def test_a_save_is_placed_anew_as_hosts_slow_down(tmp_path: Path) -> None:
    with StoreBook(tmp_path / "stores.db") as book, HostPool(hosts(4)) as pool:
        for number, rate in enumerate((4e8, 3e8, 2e8, 1e8)):
            book.add_looks([(f"host{number}", 0, WELL)])
            book.add_transfer(f"host{number}", 0, rate, 1.0)
        known = learn(book, pool.names, 10, 3600)
        seen = outlook(book, known, 10, unmeasured=1e8)
        place = AutoPlacing(pool, seen, Stake(1e9, 0.0, 3600), Code(1, 1))
        assert place(0) == (0, 1)
        assert place(1) == (1, 0)
        pool.seen[0].moved, pool.seen[0].seconds = 10**8, 10.0
        pool.seen[1].said = "away"
        assert set(place(2)) == {0, 1}
        assert set(place(AGAIN)) == {2, 3}
        assert place.choices == 2
        for one in pool.seen:
            one.said = "away"
        assert set(place(2 * AGAIN)) == {2, 3}
