"""Reading 1,000,000 SWF lines, beside numpy.loadtxt on the same file.

`python -m benchmarks.reading`
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import line, seconds
from forestall.logs.generate import generate_jobs
from forestall.logs.jobs.swf import read_swf, write_swf

LINES = 1_000_000


def main() -> None:
    """Print the comparison."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.swf"
        write_swf(generate_jobs(128, 1, count=LINES), path)
        theirs, ours = seconds(
            lambda: np.loadtxt(path, comments=";"), lambda: read_swf(path), rounds=2
        )
        assert len(read_swf(path)) == LINES
        line(f"{LINES:,} SWF lines", ours, "numpy.loadtxt", theirs)


if __name__ == "__main__":
    main()
