"""Saves that choose their hosts, and what is learned of these."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError
from forestall.logs.metrics.day_files import DaySample, SegmentHeader, encode
from forestall.vaults.api import stores
from forestall.vaults.api.checkpoints import Coding, restore_to, save_paths, size_of
from forestall.vaults.api.stores import ChoosingOptions, PlacingOptions, StakeOptions
from forestall.vaults.hosts.host import HostLook
from forestall.vaults.hosts.places import host_at
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import HostPool
from forestall.vaults.stores.book import StoreBook

CODING = Coding(data=1, parity=1, label="job", init=True)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "forestall"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_bytes(os.urandom(300_000))
    return tmp_path / "work"


def folders(top: Path, count: int = 4) -> list[str]:
    return [str(top / f"host{k}") for k in range(count)]


def test_chosen_once_anything_is_known(tmp_path: Path, work: Path) -> None:
    urls = folders(tmp_path)
    first = save_paths(urls, [work], CODING)["placement"]
    assert (first["place"], first["why"]) == ("turn", "nothing is known about these hosts yet")
    with stores.this_book(time.time()) as book:
        for number, rate in enumerate((1e6, 9e8, 8e8, 1e6)):
            book.add_transfer(f"file://{urls[number]}", time.time() + 60, 50 * rate, 50.0)
    (work / "a").write_bytes(os.urandom(300_000))
    made = save_paths(urls, [work], CODING, PlacingOptions(fails=0.0))
    second = made["placement"]
    assert second["place"] == "auto"
    assert set(second["hosts"]) == {f"file://{urls[1]}", f"file://{urls[2]}"}
    assert second["benefit"] == 0.0
    assert 0 < second["cost"] < 1
    packs = Path("packs") / made["id"]
    assert [k for k, url in enumerate(urls) if (url / packs).is_dir()] == [1, 2]
    assert (
        save_paths(urls, [work], CODING, PlacingOptions(place="turn"))["placement"]["why"]
        == "as asked"
    )
    shutil.rmtree(urls[1])
    restore_to(urls, made["id"], tmp_path / "again")
    assert next((tmp_path / "again").rglob("a")).read_bytes() == (work / "a").read_bytes()


def test_hosts_that_do_not_answer_are_left(tmp_path: Path, work: Path) -> None:
    urls = folders(tmp_path)
    save_paths(urls, [work], CODING)
    for url in urls:
        Path(url).mkdir(exist_ok=True)
    told = stores.looked_at(urls, ChoosingOptions(1, 1), StakeOptions())
    assert [one["state"] for one in told["hosts"]] == ["S0"] * 4
    assert sum(one["chosen"] for one in told["hosts"]) == 2
    assert told["choice"]["benefit"] > 0
    shutil.rmtree(urls[0])
    told = stores.looked_at(urls, ChoosingOptions(1, 1), StakeOptions(work="2h", fails=0.5))
    assert told["within"] == 7200
    assert told["hosts"][0]["state"] == "S2"
    assert "is its disk mounted?" in told["hosts"][0]["said"]
    assert not told["hosts"][0]["chosen"]
    told = stores.looked_at(urls, ChoosingOptions(3, 2), StakeOptions())
    assert told["choice"] is None
    json.dumps(told, allow_nan=False)


def test_no_choice_and_no_book_stop_no_save(tmp_path: Path, work: Path, state: Path) -> None:
    told = save_paths(folders(tmp_path, 2), [work], CODING)["placement"]
    assert told["why"] == "there are not more hosts than pieces"
    shutil.rmtree(state)
    state.write_text("a file where the folder should be")
    told = save_paths(folders(tmp_path / "more"), [work], CODING)["placement"]
    assert told["place"] == "turn"
    assert "cannot be written" in told["why"]


def test_stakes(tmp_path: Path, state: Path) -> None:
    with StoreBook(tmp_path / "b.db") as book:
        stake = stores.stake_of(book, PlacingOptions(), Code(3, 2), "job", 3000, 10**6)
        assert (stake.piece, stake.work) == (1000, 3600)
        assert stake.fails == pytest.approx(1 - math.exp(-0.5 / 24))
        book.add_save("job", 10**6 - 600, 1500)
        stake = stores.stake_of(book, PlacingOptions(fails=0.25), Code(3, 2), "job", 3000, 10**6)
        assert stake == (stake.__class__)(500, 0.25, 600)
        book.add_downs([(10**6 - 9 * 86_400, 10**6 - 8 * 86_400), (10**6 - 86_400, 10**6)])
        found = stores.fails_within(book, 3600, 10**6)
        assert found == pytest.approx(1 - math.exp(-2.5 / 10 / 24))
        with pytest.raises(ParameterError, match="work"):
            stores.stake_of(book, PlacingOptions(work="soon"), Code(), "job", 1, 1)


def test_what_the_agent_says(tmp_path: Path, state: Path) -> None:
    """Its forecast, and when it saw this machine fail a guest: S3 for ten minutes."""
    (state / "samples").mkdir(parents=True)
    noon = 1_700_049_600
    header = SegmentHeader(os.uname().nodename, b"b" * 16, 1, 60.0, 0.2, 0.6, 60, 0.0)
    rows = [
        encode(DaySample(noon + 60 * k, 60.0 * k, 0.1, 0.5, 0, 0, 2 if 30 <= k < 40 else 0),
               header.seed)
        for k in range(90)
    ]  # fmt: skip
    (state / "samples" / "2023-11-15.fsd").write_bytes(header.encode() + b"".join(rows))
    with StoreBook(tmp_path / "b.db") as book:
        stores.note_own_failures(book, noon + 86_400)
        ((went, back),) = book.downs()
        assert went == noon + 30 * 60
        assert back == noon + 40 * 60
        (state / "status.json").write_text("{}")
        assert 0 < stores.fails_within(book, 3600, noon) < 1


def test_watching(tmp_path: Path) -> None:
    urls, told = folders(tmp_path, 2), list[tuple[str, str]]()
    Path(urls[0]).mkdir()

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= 1
        Path(urls[1]).mkdir(exist_ok=True)
        time.sleep(0.05)

    stores.watch(urls, 1.0, 0.12, tell=lambda name, state: told.append((name, state)), sleep=sleep)
    assert told[:2] == [(f"file://{urls[0]}", "S0"), (f"file://{urls[1]}", "S2")]
    with stores.this_book(time.time()) as book:
        assert len(book.looks(f"file://{urls[0]}").at) >= 1
    with pytest.raises(ParameterError, match="every"):
        stores.watch(urls, 0.1, 1.0, tell=lambda *_: None)
    with pytest.raises(ParameterError, match="store"):
        stores.watch([], 1.0, 1.0, tell=lambda *_: None)


def test_sizes_and_looks(tmp_path: Path, work: Path) -> None:
    os.symlink("a", work / "link")
    assert size_of([work, tmp_path / "nothing"]) == 300_000 + 1
    assert stores._looks_like(HostLook(clients=1, limit=4))["load"] == 0.25


def code_there(urls: list[str], choosing: ChoosingOptions) -> Code:
    with HostPool([host_at(url) for url in urls]) as pool:
        return stores.code_of(pool, choosing)


def test_the_code_of_what_lies_there(tmp_path: Path, work: Path) -> None:
    """As asked; else as the newest checkpoint has it; 3 + 2 where there is none."""
    urls = folders(tmp_path, 3)
    assert code_there(urls, ChoosingOptions()) == Code(3, 2)
    save_paths(urls, [work], CODING)
    assert code_there(urls, ChoosingOptions()) == Code(1, 1)
    assert code_there(urls, ChoosingOptions(parity=2)) == Code(1, 2)
    assert code_there(urls, ChoosingOptions(data=2, parity=1)) == Code(2, 1)
    told = stores.looked_at(urls, ChoosingOptions(), stores.StakeOptions(), measure=False)
    assert (told["data"], told["parity"]) == (1, 1)
    assert told["choice"] is not None
