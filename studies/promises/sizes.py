"""What the paper says of odd sizes: they fragment the machine, and prediction gains by it."""

from __future__ import annotations

import polars as pl

from studies.kit.claims import Claim, finding_of
from studies.promises.claims import avoids, fragments
from studies.promises.inputs import SDSC
from studies.promises.surface import fragmented, sizes_of

_ALIKE = (
    "Most jobs of this log have a power of two of nodes already, so that the two differ little."
)
_BESIDE = (
    "Each share is beside one run without prediction, in which chance has a part; there the jobs "
    "in powers of two are struck more often."
)


def size_claims(runs: pl.DataFrame) -> tuple[Claim, ...]:
    """Return the claims on odd sizes, with what was found; none where they were not played."""
    hit = sizes_of(runs, "failures_hit")
    if hit is None:
        return ()
    seeds = next(iter(hit.values())).shape[1]
    played = "SDSC and the same jobs in powers of two, U = 0.5"
    return (
        Claim(
            "fragments", "with odd-sized jobs temporal fragmentation is more likely",
            *finding_of(fragments, fragmented(runs), follows=""), section="5.1", where=SDSC,
            why=_ALIKE, rests=f"{played}, nothing fails, nothing is foreseen",
        ),
        Claim(
            "avoids", "with prediction, fragmentation means more opportunities to avoid failures",
            *finding_of(avoids, hit, follows=""), section="5.1", where=SDSC, why=_BESIDE,
            rests=f"{played}, a 0.1, 0.3 and 1, {seeds} draws of the predicted failures, 95 % "
            "intervals over them",
        ),
    )  # fmt: skip
