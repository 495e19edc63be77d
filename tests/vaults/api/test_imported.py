"""Samples of agents on storage hosts, taken into the book of these hosts."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from forestall.core.model.errors import InputError, ParameterError
from forestall.logs.metrics.day_samples import host_days
from forestall.runs.commands.entry import main
from forestall.vaults.api import stores
from forestall.vaults.api.imported import import_samples, looks_of
from forestall.vaults.hosts.host import HostLook
from vaults.api.agent_samples import BEGIN, agent_folder

URL = "forestall://n1.example.org:9140"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FORESTALL_STORAGE_TOKEN", "fst_x")


def test_samples_become_looks(tmp_path: Path) -> None:
    (mine,), _ = host_days(sorted((agent_folder(tmp_path / "n1") / "samples").iterdir()), tmp_path)
    looks = list(looks_of(mine))
    at = [(when - BEGIN) // 60 for when, _ in looks]
    assert at == [*range(60), 60, 119, *range(120, 180)]
    answers = [look is not None for _, look in looks]
    assert answers == [True] * 60 + [False] * 2 + [True] * 50 + [False] * 10
    first = looks[0][1]
    assert isinstance(first, HostLook)
    assert first.io == pytest.approx(0.25, abs=1e-4)
    (plain,), _ = host_days(
        sorted((agent_folder(tmp_path / "n2", storage=False) / "samples").iterdir()), tmp_path
    )
    assert sum(look is None for _, look in looks_of(plain)) == 2  # of a daemon it says nothing


def test_into_the_book(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the same, under names that URLs or the user give; what was seen from here stays."""
    with stores.this_book(time.time()) as book:
        book.add_looks([(URL, BEGIN, None)])
    agents = [agent_folder(tmp_path / name, name) for name in ("n1", "n2", "other")]
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
    here = agent_folder(tmp_path / "n1")
    with pytest.raises(InputError, match="no sample of the last 35 days is of one of these stores"):
        import_samples([here], ["forestall://n7:9140"])
    with pytest.raises(InputError, match="no sample of the last"):
        import_samples([here], [URL], now=BEGIN + 40 * 86_400)
    with pytest.raises(InputError, match="an agent's folder"):
        import_samples([tmp_path / "nowhere"], [URL])
    with pytest.raises(ParameterError, match="with one of"):
        import_samples([here], [URL], {"n1": "forestall://n2:9140"})
