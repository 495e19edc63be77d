"""MPI, by mpi4py. Ranks that were lost are seen, and left out, where the library has ULFM
(user-level failure mitigation: Open MPI 5 with ``mpirun --with-ft ulfm``)."""

from __future__ import annotations

from forestall.core.model.errors import MissingExtraError

try:
    import mpi4py as _mpi4py  # noqa: F401
except ImportError:
    raise MissingExtraError("a ring of MPI ranks", "mpi") from None
