"""A site's folder: remarks come back, older folders are replaced, other people's are not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import MemoryLimitError, TraceError
from forestall.slurm.files.folder import (
    MOST_NAMED,
    is_site_folder,
    read_folder,
    whole_folder,
    write_summary,
    write_tables,
)
from forestall.slurm.records.site_records import SiteRecords
from slurm.files.site_tables import estimates, inventory, outages, runs


def site() -> SiteRecords:
    many = [f"line {k}" for k in range(MOST_NAMED + 5)]
    return SiteRecords(
        accounting=replace(
            runs({"job": 1}), cleaning=Cleaning().plus("odd", "rows that are odd", "kept", many)
        ),
        events=outages(("n1", 5, 9, "fault")),
        inventory=inventory(["n1"]),
        estimates=estimates((1, 2, 3, 4)),
        sources=("a", "b"),
        cleaning=Cleaning().plus("x", "things left out", "left out", ["ä"]),
    )


def write(path: Path, records: SiteRecords) -> None:
    with whole_folder(path) as folder:
        rows = write_tables(records, folder)
        write_summary(records, folder, {"files": rows})


def test_a_folder_comes_back(tmp_path: Path) -> None:
    write(tmp_path / "site", site())
    assert is_site_folder(tmp_path / "site")
    found = read_folder(tmp_path / "site")
    assert found.sources == ("a", "b")
    assert found.cleanings().counts() == site().cleanings().counts()
    assert found.cleaning == site().cleaning
    assert found.accounting is not None
    assert found.accounting.cleaning.remarks[0].names[-1] == "not named"
    assert found.events is not None
    assert found.events.names == ("n1",)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["site"]


def test_parts_that_are_not_there_stay_away(tmp_path: Path) -> None:
    write(tmp_path / "site", SiteRecords(events=outages(("n1", 5, 9, "fault"))))
    found = read_folder(tmp_path / "site")
    assert (found.accounting, found.inventory, found.estimates) == (None, None, None)


def test_an_older_import_is_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path / "site", site())
    write(tmp_path / "site", SiteRecords(accounting=runs()))
    assert {p.name for p in (tmp_path / "site").iterdir()} == {"import.json", "runs.parquet"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["site"]


def test_what_stands_there_stays_where_writing_fails(tmp_path: Path) -> None:
    write(tmp_path / "site", site())
    broken = replace(site(), sources=(object(),))
    with pytest.raises(TypeError):  # the tables are written by then
        write(tmp_path / "site", broken)
    assert read_folder(tmp_path / "site").sources == ("a", "b")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["site"]


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    (other / "import.json").write_text("{}")
    with pytest.raises(TraceError, match=r"thesis.tex in it; expected a new or empty one"):
        write(other, site())
    assert (other / "thesis.tex").read_text() == "years of work"
    with pytest.raises(TraceError, match="is a file"):
        write(other / "thesis.tex", site())
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", site())
    write(tmp_path / "deep" / "down", site())
    assert is_site_folder(tmp_path / "deep" / "down")


def test_damaged_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="not a folder that forestall import wrote"):
        read_folder(tmp_path)
    folder = tmp_path / "site"
    write(folder, site())
    (folder / "nodes.parquet").unlink()
    with pytest.raises(TraceError, match=r"nodes\.parquet: is missing"):
        read_folder(folder)
    text = (folder / "import.json").read_text()
    (folder / "import.json").write_text(text[:50])
    with pytest.raises(TraceError, match="not JSON, or cut off"):
        read_folder(folder)
    (folder / "import.json").write_text('{"files": {}, "sources": []}')
    with pytest.raises(TraceError, match="has no remarks"):
        read_folder(folder)
    whole = json.loads(text) | {"files": {}}
    remark = {"part": "all", "kind": "x", "text": "rows", "action": "kept", "count": 1, "names": []}
    for broken, said in (
        ({"remarks": [{"kind": 3}]}, "remarks.part: is missing"),
        ({"remarks": [remark | {"count": -1}]}, "remarks.count: -1 is not allowed"),
        ({"remarks": [remark | {"names": [7]}]}, "remarks.names: 7 is not allowed"),
        ({"remarks": [remark | {"action": "burnt"}]}, "expected left out, changed, kept"),
        ({"remarks": 5}, "remarks: 5 is not allowed; expected a list"),
        ({"sources": [5]}, "sources: 5 is not allowed"),
        ({"files": {"runs.parquet": "many"}}, "files.runs.parquet: 'many' is not allowed"),
    ):
        (folder / "import.json").write_text(json.dumps(whole | broken))
        with pytest.raises(TraceError) as caught:
            read_folder(folder)
        assert said in str(caught.value)
    (folder / "import.json").write_text(
        json.dumps(whole | {"remarks": [remark | {"count": 2**62}]})
    )
    with pytest.raises(MemoryLimitError, match=r"import\.json: what a remark counts"):
        read_folder(folder)
