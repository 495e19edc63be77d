"""Text as it lies about, fault by reader: what loses nothing changes nothing, and what was lost is
said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from forestall.core.files.documents import read_toml
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.coded import Coded
from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.logs.alarms import read_alarms
from forestall.logs.gaps import read_gaps
from forestall.logs.host_speeds import read_speeds
from forestall.logs.jobs.job_records import read_job_records
from forestall.logs.machines import read_machine_file
from forestall.logs.maintenance import read_maintenance
from forestall.logs.metrics.read import read_metrics
from forestall.logs.ras.read import read_ras
from forestall.logs.read import read_failures, read_jobs
from forestall.logs.scores import read_scores
from forestall.logs.topology import read_topology
from forestall.logs.training import read_training
from forestall.logs.trial_arms import read_arms
from forestall.slurm.read import read_files
from fuzz.formats import Format
from fuzz.hosts import HOSTS
from fuzz.logs import JOB_COMMANDS, LOGS
from fuzz.packed import PACKERS


def read_train(path: Path) -> Any:
    return read_training(path, Failures.build([9 * 10**6], [1]))


BY_NAME: dict[str, Callable[[Path], Any]] = {
    "records": read_job_records, "scores": read_scores, "alarms": read_alarms, "gaps": read_gaps,
    "cluster": read_toml, "settings": read_toml, "sweep-settings": read_toml, "users": read_toml,
    "machine-nodes": read_machine_file, "topology": read_topology, "topology-yaml": read_topology,
    "maintenance": partial(read_maintenance, failures=Failures.none(), nodes=16),
    "arms": read_arms, "training": read_train,
    "host-speeds": read_speeds,
}  # fmt: skip
PACKED = frozenset({"site", "days", "events-parquet", "hosts-parquet",
                    *(f"{log}-{kind}" for log in ("jobs", "failures")
                      for kind in (*PACKERS, "parquet"))})  # fmt: skip
"""What is packed or binary; of packed text the same lines are read as of plain."""
SETTINGS = frozenset(
    {"cluster", "settings", "sweep-settings", "users", "machine-nodes", "topology", "topology-yaml"}
)
"""What somebody wrote with an editor: NUL bytes and other encodings are errors there."""
DOCUMENTS = SETTINGS | {"sacct-json", "nodes-json", "prometheus"}
"""A whole, of which no line can be left out."""
STRICT = frozenset({"host-speeds", "arms", "maintenance"})
"""Small tables whose first odd row is an error."""


def read_slurm(path: Path) -> Any:
    return read_files([path])


def reader_of(one: Format) -> Callable[[Path], Any]:
    lines = " ".join(one.lines)
    if one.name in BY_NAME:
        return BY_NAME[one.name]
    if "--as events" in lines:
        return read_ras
    if "--as metrics" in lines:
        return read_metrics
    if one.lines[: len(JOB_COMMANDS)] == JOB_COMMANDS:
        return read_jobs
    return read_failures if "report --failures" in lines else read_slurm


TEXTS = {one.name: one for one in (*LOGS, *HOSTS) if one.name not in (*PACKED, "host-failures")}


def plain(value: Any) -> Any:
    """Return what was read as plain values, without where from and what was odd."""
    if isinstance(value, Cleaning | Path):
        return None
    if isinstance(value, Coded):  # words are numbered as they come
        return value.texts()
    if isinstance(value, Enum | type) or callable(value):
        return repr(value)
    if isinstance(value, np.ndarray | pl.Series):
        return list(map(str, value.tolist() if isinstance(value, np.ndarray) else value.to_list()))
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return list(map(plain, value))
    if dataclasses.is_dataclass(value):
        names = [one.name for one in dataclasses.fields(value)]
        return {n: plain(getattr(value, n)) for n in names if n not in ("source", "sources")}
    return repr(value)


def remarks(value: Any) -> dict[str, int]:
    """Return the kinds of what was odd in what was read, wherever it stands."""
    if isinstance(value, Cleaning):
        return value.counts()
    found: dict[str, int] = {}
    parts = value if isinstance(value, tuple | list) else []
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, one.name) for one in dataclasses.fields(value)]
    for part in parts:
        found |= remarks(part)
    return found


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, bytes, Any]]:
    """Return what gives the file of a format, its bytes, and what is read of them."""
    known: dict[str, tuple[Path, bytes, Any]] = {}

    def get(name: str) -> tuple[Path, bytes, Any]:
        if name not in known:
            home = tmp_path_factory.mktemp(name)
            TEXTS[name].make(home)
            path = home / TEXTS[name].files[0]
            known[name] = path, path.read_bytes(), reader_of(TEXTS[name])(path)
        return known[name]

    return get


Good = Callable[[str], tuple[Path, bytes, Any]]
LOSSLESS: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "UTF-16, big-endian": lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"),
    "UTF-16 without a mark": lambda data: data.decode().encode("utf-16-le"),
    "UTF-32": lambda data: data.decode().encode("utf-32"),
    "DOS": lambda data: data.replace(b"\n", b"\r\n"),
    "old Mac": lambda data: data.replace(b"\n", b"\r"),
    "no last newline": lambda data: data.rstrip(b"\n"),
    "blank line with a form feed": lambda data: data + b"\f\n",
}


@pytest.mark.parametrize("fault", LOSSLESS)
@pytest.mark.parametrize("name", TEXTS)
def test_what_loses_nothing_changes_nothing(good: Good, name: str, fault: str) -> None:
    path, data, whole = good(name)
    if fault == "blank line with a form feed" and name in DOCUMENTS - {"topology"}:
        pytest.skip("JSON, TOML and YAML have no form feeds")
    path.write_bytes(LOSSLESS[fault](data))
    read = reader_of(TEXTS[name])(path)
    assert plain(read) == plain(whole)
    assert remarks(read).keys() - {"cut_off"} == remarks(whole).keys() - {"cut_off"}


def before_last_line(data: bytes, gap: bytes) -> bytes:
    """Return a text of which the first half of the last line and a gap stand before that line."""
    at = data.rindex(b"\n", 0, len(data.rstrip())) + 1
    last = data[at:].rstrip()
    return data[:at] + last[: len(last) // 2 + 1] + gap + data[at:]


NUL: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "after the end": ("nul", lambda data: data + b"\0" * 5000),
    "before the beginning": ("nul", lambda data: b"\0" * 70_000 + data),
    "in the first line": ("nul", lambda data: data[:3] + b"\0\0" + data[3:]),
    "in the last line": ("nul", lambda data: data[:-3] + b"\0" + data[-3:]),
    "a gap after half a line": ("nul_gap", lambda data: before_last_line(data, b"\0" * 4096)),
}
"""Where a crash or a rotation leaves them, the remark, and what does so without loss."""


@pytest.mark.parametrize("fault", NUL)
@pytest.mark.parametrize("name", TEXTS)
def test_nul_bytes_are_dropped_and_counted(good: Good, name: str, fault: str) -> None:
    path, data, whole = good(name)
    kind, spoil = NUL[fault]
    if kind == "nul_gap" and data.count(b"\n") < 2:
        pytest.skip("has one line")
    path.write_bytes(spoil(data))
    if name in STRICT | SETTINGS:
        with pytest.raises(TraceError, match="NUL bytes; expected text"):
            reader_of(TEXTS[name])(path)
        return
    read = reader_of(TEXTS[name])(path)
    assert plain(read) == plain(whole)
    assert remarks(read)[kind] == 1


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_binary_throughout_is_refused(good: Good, name: str) -> None:
    path, data, _ = good(name)
    noise = np.random.default_rng(1).bytes(70_000)
    for content, said in ((noise + data, "is a binary file"), (b"\0" * 9, "nothing but NUL bytes")):
        path.write_bytes(content)
        with pytest.raises(TraceError, match=said) as caught:
            reader_of(TEXTS[name])(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in DOCUMENTS | STRICT])
def test_signs_of_another_encoding_are_replaced_and_counted(good: Good, name: str) -> None:
    path, data, _ = good(name)
    path.write_bytes(data + b"caf\xe9\n")
    read = reader_of(TEXTS[name])(path)
    assert remarks(read)["encoding"] == 1


def test_a_byte_order_mark_within_files_put_together(tmp_path: Path) -> None:
    line = b"Jun  3 15:42:50 n1 kernel: panic\n"
    (tmp_path / "log").write_bytes(line + b"\xef\xbb\xbf" + line)
    read = read_ras(tmp_path / "log")
    assert len(read) == 2
    assert not read.cleaning.remarks
