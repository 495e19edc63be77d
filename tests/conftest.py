"""What all tests share: deterministic property tests, and the folder of real traces."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from forestall.core._compile import INTERPRETED

# A run in the background, or under nohup, ignores these; the commands that tests start would, too.
for _one, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_one) == signal.SIG_IGN:
        signal.signal(_one, _usual)

collect_ignore_glob = ["test_interpreted.py"] if INTERPRETED else ["*/test_*_kernels.py"]
"""Kernels that only other kernels call have no door to Python once compiled: their tests run
interpreted, in the process that `test_interpreted.py` starts."""

settings.register_profile(
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what commands remember of this machine out of the user's own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of the real traces; skips where there is none."""
    folder = Path(os.environ.get("FORESTALL_DATA", _BESIDE))
    if not folder.is_dir():
        pytest.skip(f"no real traces: {folder} is not there (set FORESTALL_DATA)")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while thousands of tests are found, and never look at them again: they all
    stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that read real traces, so that `-m data` picks them; and begin with the files
    that have slow tests, so that no worker is left alone with one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    for item in items:
        if "data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
