"""What an agent on a storage host sampled, as a folder of day files."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from forestall.logs.metrics.day_files import DaySample, SegmentHeader, encode

NAN = float("nan")
BEGIN = int(time.time()) // 86_400 * 86_400 - 3 * 86_400


def agent_folder(folder: Path, host: str = "n1", storage: bool = True) -> Path:
    """An agent that samples each 20 s from 0 to 1 h and from 2 to 3 h; in the last ten minutes its
    daemon says nothing."""
    head = SegmentHeader(host, bytes(16), 1, 20.0, 0.2, 0.6, 60.0, 0.1, storage)
    parts = [head.encode()]
    for second in (*range(0, 3600, 20), *range(7200, 10_800, 20)):
        clients = NAN if second >= 10_200 else 3.0
        one = DaySample(BEGIN + second, float(second), 0.1, 0.5, 0, 0, 0, 0, 0.25, clients, 1e9)
        parts.append(encode(one, head.seed, head.version))
    (folder / "samples").mkdir(parents=True)
    name = str(np.datetime64(BEGIN, "s"))[:10]
    (folder / "samples" / f"{name}.fsd").write_bytes(b"".join(parts))
    return folder
