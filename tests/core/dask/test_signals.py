"""What loading Dask must leave alone."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_ctrl_c_stays_ours() -> None:
    pytest.importorskip("dask_jobqueue")
    code = (
        "import signal, forestall.core.dask.spread\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
