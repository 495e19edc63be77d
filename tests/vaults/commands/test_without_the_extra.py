"""What commands say where the extra of the vault is not installed: one line, or nothing at all
where they need none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def without(*words: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys\nsys.modules['blake3'] = None\n"
        "from forestall.runs.commands.entry import main\nsys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "words",
    [
        ("checkpoint", "gc", "--store", "v"),
        ("run", "--store", "v", "--", "true"),
        ("storage", "list", "--store", "v"),
        ("guest", "submit", "--time", "1h", "--outlive", "--store v", "--", "true"),
    ],
    ids=" ".join,
)
def test_one_line_says_what_to_install(words: tuple[str, ...]) -> None:
    done = without(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "forestall: a vault needs an extra: pip install 'forestall[vault]'\n"


def test_guests_that_no_vault_has_need_none(tmp_path: Path) -> None:
    done = without("guest", "list", "--folder", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "no guests\n", "")
