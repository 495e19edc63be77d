"""A rule of placement that looks at what it leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]


@dataclass
class Watched:
    """The rule that takes nodes of least risk one by one, which counts how often a set of less risk
    was there: a set's risk is the detectability of the first failure on it.

    Attributes
    ----------
    failures : the time of each that is foreseen, by its node and its detectability
    offers, risky, worse : offers; those of some risk; those of more risk than the least
    excess, most : their risk above the least, summed, and the most
    """

    failures: dict[tuple[int, float], int]
    offers: int = 0
    risky: int = 0
    worse: int = 0
    excess: float = 0.0
    most: float = 0.0

    def __call__(
        self, free: Int, size: int, risk: npt.NDArray[np.float64], start: int, end: int
    ) -> Int:
        """Choose nodes, and look at what else there was."""
        chosen = np.lexsort((free, risk))[:size]
        self.offers += 1
        if risk[chosen[-1]] > 0:
            self._look(free, size, risk, chosen)
        picked: Int = free[chosen]
        return picked

    def _look(self, free: Int, size: int, risk: npt.NDArray[np.float64], chosen: Int) -> None:
        told = [(int(free[k]), float(risk[k]), k) for k in np.flatnonzero(risk > 0).tolist()]
        firsts = sorted((self.failures[node, chance], node, k) for node, chance, k in told)
        taken = set(chosen.tolist())
        got = next(float(risk[k]) for _, _, k in firsts if k in taken)
        able = firsts[: len(free) - size + 1]  # enough nodes fail later, or not at all
        least = min(float(risk[k]) for _, _, k in able)
        self.risky += 1
        self.worse += least < got
        self.excess += got - least
        self.most = max(self.most, got - least)

    def counts(self) -> dict[str, float]:
        """Return what was counted, as columns of a row."""
        names = ("offers", "risky", "worse", "excess", "most")
        return {f"offers_{name}": getattr(self, name) for name in names}
