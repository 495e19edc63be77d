"""How much memory may be taken: what the system tells, what is given, and what is refused."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from forestall.core.files import budget
from forestall.core.model.errors import MemoryLimitError, ParameterError

GIB = 1 << 30


def system(folder: Path, group: str, **files: str) -> tuple[Path, Path]:
    """Write what a system tells of itself: 8 GiB are free, and of control groups what `files`
    say, `__` for each `/`."""
    proc, groups = folder / "proc", folder / "groups"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {8 * GIB // 1024} kB\n")
    (proc / "self/cgroup").write_text(group)
    for name, text in files.items():
        place = groups / name.replace("__", "/").replace("_dot_", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return proc, groups


def test_what_is_free_without_limits(tmp_path: Path) -> None:
    assert budget.free(*system(tmp_path, "0::/\n")) == 8 * GIB


def test_nothing_is_refused_where_nobody_tells(tmp_path: Path) -> None:
    assert budget.free(tmp_path, tmp_path) > 2**50


def test_a_limit_of_a_group_around_it_counts(tmp_path: Path) -> None:
    """What files take of it can be given back."""
    told = {
        "slurm__job__memory_dot_max": "max\n",
        "slurm__job__memory_dot_current": "1\n",
        "slurm__memory_dot_max": f"{3 * GIB}\n",
        "slurm__memory_dot_current": f"{2 * GIB}\n",
        "slurm__memory_dot_stat": f"anon 5\ninactive_file {GIB // 2}\n",
    }
    assert budget.free(*system(tmp_path, "0::/slurm/job\n", **told)) == 3 * GIB // 2


def test_groups_of_version_1(tmp_path: Path) -> None:
    told = {
        "memory__job__memory_dot_limit_in_bytes": f"{GIB}",
        "memory__job__memory_dot_usage_in_bytes": f"{GIB // 4}",
        "memory__job__memory_dot_stat": "total_inactive_file 0",
        "memory__memory_dot_limit_in_bytes": f"{2**63 - 4096}",
        "memory__memory_dot_usage_in_bytes": "7",
        "memory__memory_dot_stat": "",
    }
    proc, groups = system(tmp_path, "4:cpu:/\n3:memory:/job\n", **told)
    assert budget.free(proc, groups) == 3 * GIB // 4


def test_a_group_that_is_more_than_full(tmp_path: Path) -> None:
    told = {"memory_dot_max": "5", "memory_dot_current": "9", "memory_dot_stat": ""}
    assert budget.free(*system(tmp_path, "0::/\n", **told)) == 0


def test_what_is_given_counts_for_the_whole_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(budget.VARIABLE, "64 GiB")
    assert 0 < budget.held() < 64 * GIB
    assert 60 * GIB < budget.left() < 64 * GIB
    monkeypatch.setenv(budget.VARIABLE, "1kB")
    assert budget.left() == 0
    monkeypatch.setenv(budget.VARIABLE, "much")
    with pytest.raises(ParameterError, match=r"max_memory: 'much' .* 50GiB"):
        budget.left()


def test_what_would_fit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "left", lambda: 800_000_000)
    budget.require(8e8, "{nodes}")
    with pytest.raises(MemoryLimitError) as caught:
        budget.require(8.8e9, "{nodes}: 100,000,000 nodes", count=100_000_000, of="nodes")
    assert str(caught.value) == (
        "nodes: 100,000,000 nodes would take 8.80 GB of memory, and 800 MB may be used; at most "
        "9,090,909 nodes fit; allow more with max_memory (FORESTALL_MAX_MEMORY)"
    )
    assert (caught.value.needed, caught.value.allowed) == (8_800_000_000, 800_000_000)
    with pytest.raises(MemoryLimitError, match=r"^a\{b\}: it would take .*; or fewer; allow"):
        budget.require(1e9, "it", hint="or fewer", source="a{b}")


def test_limits_are_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(budget.VARIABLE, raising=False)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with budget.limited("3GB"):
        assert os.environ[budget.VARIABLE] == "3GB"
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] > budget.free()
        assert resource.getrlimit(resource.RLIMIT_DATA) != before
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert budget.VARIABLE not in os.environ
    monkeypatch.setenv(budget.VARIABLE, "2GB")
    with budget.limited("3GB", held_to_it=False):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert os.environ[budget.VARIABLE] == "2GB"
    with pytest.raises(ParameterError, match="max_memory"), budget.limited("x"):
        pytest.fail("not reached")
