"""Kernels that only other kernels call have no door to Python once compiled: their tests run
interpreted, in the process that `test_interpreted.py` starts."""

from forestall._compile import INTERPRETED

collect_ignore_glob = ["test_interpreted.py"] if INTERPRETED else ["test_*_kernels.py"]
