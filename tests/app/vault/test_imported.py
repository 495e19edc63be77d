"""Samples of agents on storage hosts, taken into the book of these hosts."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from forestall.app.vault import stores
from forestall.app.vault.imported import import_samples, looks_of
from forestall.cli import main
from forestall.model.errors import InputError, ParameterError
from forestall.traces.metrics.day_files import DaySample, SegmentHeader, encode
from forestall.traces.metrics.day_samples import host_days
from forestall.vaults.hosts.host import HostLook

NAN = float("nan")
BEGIN = int(time.time()) // 86_400 * 86_400 - 3 * 86_400
URL = "forestall://n1.example.org:9140"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FORESTALL_STORAGE_TOKEN", "fst_x")


def agent(folder: Path, host: str = "n1", storage: bool = True) -> Path:
    """An agent that samples each 20 s from 0 to 1 h and from 2 to 3 h; in the last ten minutes its
    daemon says nothing."""
    head = SegmentHeader(host, bytes(16), 1, 20.0, 0.2, 0.6, 60.0, 0.1, storage)
    parts = [head.encode()]
    for second in (*range(0, 3600, 20), *range(7200, 10_800, 20)):
        clients = NAN if second >= 10_200 else 3.0
        one = DaySample(BEGIN + second, float(second), 0.1, 0.5, 0, 0, 0, 0, 0.25, clients, 1e9)
        parts.append(encode(one, head.seed, head.version))
    (folder / "samples").mkdir(parents=True)
    name = str(np.datetime64(BEGIN, "s"))[:10]
    (folder / "samples" / f"{name}.fsd").write_bytes(b"".join(parts))
    return folder


def test_samples_become_looks(tmp_path: Path) -> None:
    (mine,), _ = host_days(sorted((agent(tmp_path / "n1") / "samples").iterdir()), tmp_path)
    looks = list(looks_of(mine))
    at = [(when - BEGIN) // 60 for when, _ in looks]
    assert at == [*range(60), 60, 119, *range(120, 180)]
    answers = [look is not None for _, look in looks]
    assert answers == [True] * 60 + [False] * 2 + [True] * 50 + [False] * 10
    first = looks[0][1]
    assert isinstance(first, HostLook)
    assert first.io == pytest.approx(0.25, abs=1e-4)
    (plain,), _ = host_days(
        sorted((agent(tmp_path / "n2", storage=False) / "samples").iterdir()), tmp_path
    )
    assert sum(look is None for _, look in looks_of(plain)) == 2  # of a daemon it says nothing


def test_into_the_book(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the same, under names that URLs or the user give; what was seen from here stays."""
    with stores.this_book(time.time()) as book:
        book.add_looks([(URL, BEGIN, None)])
    agents = [agent(tmp_path / name, name) for name in ("n1", "n2", "other")]
    for _ in range(2):
        (told,) = import_samples(agents, [URL])
        assert (told.name, told.host, told.looks, told.away) == (URL, "n1", 122, 12)
        with stores.this_book(time.time()) as book:
            looks = book.looks(URL)
            assert len(looks.at) == 122
            assert looks.answered.sum() == 109
            assert not looks.answered[0]
    folder = str(tmp_path / "vault")
    code = main(["storage", "import", *map(str, agents), "--store", folder, "--host",
                 f"other={folder}", "--json"])  # fmt: skip
    assert code == 0
    (one,) = json.loads(capsys.readouterr().out)["hosts"]
    assert (one["name"], one["host"]) == (f"file://{folder}", "other")


def test_what_cannot_be_taken_in(tmp_path: Path) -> None:
    here = agent(tmp_path / "n1")
    with pytest.raises(InputError, match="no sample of the last 35 days is of one of these stores"):
        import_samples([here], ["forestall://n7:9140"])
    with pytest.raises(InputError, match="no sample of the last"):
        import_samples([here], [URL], now=BEGIN + 40 * 86_400)
    with pytest.raises(InputError, match="an agent's folder"):
        import_samples([tmp_path / "nowhere"], [URL])
    with pytest.raises(ParameterError, match="with one of"):
        import_samples([here], [URL], {"n1": "forestall://n2:9140"})
