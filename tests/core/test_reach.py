"""Kernels are kept for what they reach: a change elsewhere, or of words, recompiles nothing."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forestall.core import _kept, _reach
from forestall.core._compile import INTERPRETED, ByType
from forestall.core._kept import PACKAGE, CheckedFiles, tidy
from forestall.core._reach import Reach, read_source

KEYS = """
import json, sys
from pathlib import Path
from forestall.core._reach import Reach
reach = Reach(Path(sys.argv[1]))
print(json.dumps({one: reach.folder(one).name for one in reach._paths if one.endswith("_kernels")}))
"""
TOLD = {
    "asked_kernels": """
from forestall.core._compile import by_type
@by_type
def told(about): return 0
""",
    "thing_kernels": """
from typing import NamedTuple
from forestall.core import asked_kernels as asked
class Thing(NamedTuple): x: int
@asked.told.of(Thing)
def _told(about): return about.x + 1
""",
    "caller_kernels": """
from forestall.core import asked_kernels as asked
from forestall.core._compile import entry
@entry
def answer(about): return asked.told(about)
""",
}
ASK = """
from forestall.core.caller_kernels import answer
from forestall.core.thing_kernels import Thing
print(answer(Thing(1)), sum(answer.stats.cache_misses.values()))
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package, and one for its kernels."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "kept").mkdir()
    return folder


def run(folder: Path, code: str, **more: str) -> str:
    around = os.environ | {"PYTHONPATH": str(folder), "FORESTALL_KERNEL_CACHE": f"{folder}/kept"}
    command = [sys.executable, "-c", code, str(folder / "kept")]
    return subprocess.run(
        command, env=around | more, capture_output=True, text=True, check=True
    ).stdout


def keys(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(run(folder, KEYS))
    return found


@contextmanager
def changed(path: Path, change: Callable[[str], str]) -> Iterator[None]:
    text = path.read_text()
    path.write_text(change(text))
    try:
        yield
    finally:
        path.write_text(text)


def test_words_change_no_key(copied: Path) -> None:
    before = keys(copied)
    assert len(set(before.values())) == len(before) > 80
    stop = copied / "forestall/core/clock/stop_kernels.py"
    assert '"""\n' in stop.read_text()
    with changed(stop, lambda text: "# said\n" + text.replace('"""\n', ' More."""\n')):
        assert keys(copied) == before
    stop.touch()
    assert keys(copied) == before


def test_a_constant_changes_the_keys_of_those_that_reach_it(copied: Path) -> None:
    before, reach = keys(copied), Reach(copied / "kept")
    loops = {room: f"forestall.{room}.simulation.loop_kernels" for room in ("machines", "sharing")}
    loops["scheduling"] = "forestall.scheduling.simulation.promise_loop_kernels"
    for place, rooms in {
        "sharing.engine.state": {"sharing"},
        "scheduling.simulation.saves_kernels": {"scheduling"},  # gives bodies, is imported by none
        "prediction.models.heap_kernels": {"machines", "scheduling", "sharing"},
        "live.slurm.mind": set(),
    }.items():
        with changed(
            copied / "forestall" / f"{place.replace('.', '/')}.py",
            lambda text: text + "\n_MORE = 1\n",
        ):
            after = keys(copied)
        differ = {one for one in before if before[one] != after[one]}
        assert {room for room, loop in loops.items() if loop in differ} == rooms
        assert differ == {one for one in before if f"forestall.{place}" in reach.reached([one])}


@pytest.mark.parametrize("room", ["machines", "scheduling", "sharing"])
def test_all_kernels_that_an_import_loads_are_reached(copied: Path, room: str) -> None:
    module = f"forestall.{room}.simulation.loop_kernels"
    code = f"import sys, {module}; print(*(one for one in sys.modules if one.endswith('_kernels')))"
    loaded = set(run(copied, code, NUMBA_DISABLE_JIT="1").split())
    assert len(loaded) > 5
    assert loaded <= Reach(copied / "kept").reached([module])


def test_all_bodies_are_reached(tmp_path: Path) -> None:
    reach = Reach(tmp_path)
    modules = [importlib.import_module(one) for one in reach._paths if one.endswith("_kernels")]
    asked = [one for module in modules for one in vars(module).values() if isinstance(one, ByType)]
    bodies = [(one, body.__module__) for one in asked for body in one._bodies.values()]
    assert len(bodies) > 50
    for question, module in bodies:
        assert module in reach.reached([question._question.__module__])


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_caller_is_compiled_again_for_another_body(copied: Path) -> None:
    core = copied / "forestall" / "core"
    for name, text in TOLD.items():
        (core / f"{name}.py").write_text(text)
    try:
        assert run(copied, ASK).split() == ["2", "1"]
        with changed(core / "caller_kernels.py", lambda text: "\n# said\n" + text):
            assert run(copied, ASK).split() == ["2", "0"]
        with changed(core / "thing_kernels.py", lambda text: text.replace("+ 1", "+ 7")):
            assert run(copied, ASK).split() == ["8", "1"]
        assert run(copied, ASK).split() == ["2", "0"]  # the former ones are kept
    finally:
        for name in TOLD:
            (core / f"{name}.py").unlink()


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-9], lambda data: b"", lambda data: data[:-1] + b"!"]
)
def test_a_damaged_record_is_made_anew(
    spoil: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "forestall.sharing.simulation.loop_kernels"
    folder = Reach(tmp_path).folder(module)
    (record,) = tmp_path.glob("sources-*")
    whole = record.read_bytes()
    record.write_bytes(spoil(whole))
    assert Reach(tmp_path).folder(module) == folder
    assert record.read_bytes() == whole
    monkeypatch.setattr(_reach, "read_source", None)  # nothing is parsed
    assert Reach(tmp_path).folder(module) == folder


def test_what_is_read_of_a_source() -> None:
    text = b"""
from typing import TYPE_CHECKING
import a.b as c
if TYPE_CHECKING:
    from a import named
else:
    from a import other
from d import e
@e.told.of(int)
@c.kept(1)
def f():
    import g
k = lambda x: x
"""
    found = read_source(text)
    assert found.imports == ("a.b", "a.other", "d.e", "typing.TYPE_CHECKING")
    assert found.given_to == ("d.e",)
    assert found.lines == (9, 13)
    said = read_source(
        b'"""Words."""\n' + text.replace(b"import g\n", b'"""And."""  # more\n    import g\n')
    )
    assert said == found._replace(lines=(10, 15))
    assert read_source(text.replace(b"(1)", b"(2)")).syntax != found.syntax


def test_what_nobody_loads_for_a_month_goes(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "kernels-new", tmp_path / "elsewhere"
    used, gone = folder / "used", [tmp_path / "kernels-old" / "m", folder / "unused"]
    files = CheckedFiles(str(used), "f", None)
    for one in (used, elsewhere, *gone):
        one.mkdir(parents=True)
        (one / "f.nbi").touch()
    files.save("key", 1)
    for path in tmp_path.rglob("*.nb?"):
        os.utime(path, times=(path.stat().st_mtime - 2 * _kept._MONTH,) * 2)
    (tmp_path / "kernels-led-astray").symlink_to(elsewhere)
    assert files.load("key") == 1
    tidy(folder)
    assert sorted(one.name for one in used.iterdir()) == ["f.1.nbc", "f.nbi"]
    assert not any(list(one.iterdir()) for one in gone)
    assert (elsewhere / "f.nbi").exists()
    (tmp_path / "kernels-old").chmod(0o777)
    (tmp_path / "kernels-old" / "m" / "f.nbi").touch()
    os.utime(tmp_path / "kernels-old" / "m" / "f.nbi", times=(0, 0))
    tidy(folder)
    assert (tmp_path / "kernels-old" / "m" / "f.nbi").exists()


def test_uncompiled_nothing_is_kept(copied: Path, tmp_path: Path) -> None:
    code = "import forestall.scheduling.simulation.classic_loop_kernels"
    run(copied, code, NUMBA_DISABLE_JIT="1", FORESTALL_KERNEL_CACHE=str(tmp_path))
    assert not list(tmp_path.iterdir())
