"""Areas, curves, permutations and DeLong's variance beside scikit-learn and beside plain loops.

`python -m benchmarks.assess`

Every pair gives the same numbers in the same run, which is checked. The loop of permutations is
that which one would write: shuffle the outcomes, ask scikit-learn for the area.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn import metrics

from benchmarks.common import line, seconds
from forestall.prediction.assess.roc import area, roc
from forestall.prediction.assess.significance import bootstrap, compare, delong, permutation

POINTS = 1_000_000
CASES, ILL, DRAWS = 1_019, 479, 3_000
LOOPED = 300
PAIRED = 10_000

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def draw(count: int, share: float, digits: int | None, seed: int = 1) -> tuple[Floats, Flags]:
    """Return normal scores, failures half a deviation higher, and outcomes."""
    rng = np.random.default_rng(seed)
    failed = rng.random(count) < share
    score = rng.normal(size=count) + 0.5 * failed
    return (score if digits is None else np.round(score, digits)), failed


def curves() -> None:
    """Time area and curve together, and the area alone."""
    for what, share, digits in (
        ("30 % failed", 0.3, None),
        ("1 % failed", 0.01, None),
        ("30 % failed, 3 digits", 0.3, 3),
    ):
        score, failed = draw(POINTS, share, digits)

        def ours(score: Floats = score, failed: Flags = failed) -> float:
            curve = roc(score, failed)
            return curve.auc + float(curve.fpr[-1]) + float(curve.tpr[-1])

        def theirs(score: Floats = score, failed: Flags = failed) -> float:
            fpr, tpr, _ = metrics.roc_curve(failed, score, drop_intermediate=False)
            return float(metrics.auc(fpr, tpr)) + float(fpr[-1]) + float(tpr[-1])  # one curve only

        assert abs(ours() - theirs()) < 1e-9
        line(f"ROC and area, 1e6, {what}", *_between(seconds(ours, theirs, rounds=5)))
        alone = seconds(
            lambda s=score, f=failed: area(s, f),  # type: ignore[misc]
            lambda s=score, f=failed: metrics.roc_auc_score(f, s),  # type: ignore[misc]
            rounds=5,
        )
        line(f"area alone, 1e6, {what}", *_between(alone))


def _between(times: list[float], yardstick: str = "scikit-learn") -> tuple[float, str, float]:
    return times[0], yardstick, times[1]


def permutations() -> None:
    """Time 3,000 permutations beside the plain loop, of which a tenth is run."""
    for what, digits in (("no ties", None), ("ties", 0)):
        rng = np.random.default_rng(1)
        failed = np.arange(CASES) < ILL
        score = rng.normal(size=CASES) + 0.22 * failed
        if digits is not None:
            score = np.round(score, digits)

        def ours_(score: Floats = score, failed: Flags = failed) -> Floats:
            return permutation(score, failed, DRAWS, rng=np.random.default_rng(2)).null

        (ours,) = seconds(ours_)
        start = time.perf_counter()
        areas = [metrics.roc_auc_score(rng.permutation(failed), score) for _ in range(LOOPED)]
        took = (time.perf_counter() - start) * DRAWS / LOOPED
        agree = stats.ks_2samp(areas, ours_()).pvalue
        print(f"  the two laws of the area differ with p {agree:.2f}")
        line(f"{DRAWS:,} permutations, {CASES:,} cases, {what}", ours, "plain loop", took)


def intervals() -> None:
    """Time DeLong's variance, a paired comparison and a bootstrap."""
    score, failed = draw(PAIRED, 0.3, 2)
    other = draw(PAIRED, 0.3, 2, seed=2)[0]

    def plain(score: Floats) -> tuple[Floats, Floats]:
        ill, well = score[failed][:, None], score[~failed][None, :]
        won = (ill > well) + 0.5 * (ill == well)
        return won.mean(axis=1), won.mean(axis=0)

    def one() -> float:
        ill, well = plain(score)
        return float(np.sqrt(np.var(ill, ddof=1) / len(ill) + np.var(well, ddof=1) / len(well)))

    def two() -> float:
        (ill, well), (ill2, well2) = plain(score), plain(other)
        a, b = ill - ill2, well - well2
        return float(np.sqrt(np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b)))

    assert abs(delong(score, failed).se - one()) < 1e-12
    assert abs(compare(score, other, failed).se - two()) < 1e-12
    times = seconds(lambda: delong(score, failed), one, rounds=3)
    line(f"DeLong, {PAIRED:,} cases", *_between(times, "every pair, NumPy"))
    times = seconds(lambda: compare(score, other, failed), two, rounds=3)
    line(f"paired DeLong, {PAIRED:,} cases", *_between(times, "every pair, NumPy"))
    score, failed = score[:CASES], failed[:CASES]
    (ours,) = seconds(lambda: bootstrap(score, failed, rng=np.random.default_rng(1)), rounds=3)
    rng, start = np.random.default_rng(1), time.perf_counter()
    for _ in range(LOOPED // 3):
        some = rng.integers(0, CASES, CASES)
        metrics.roc_auc_score(failed[some], score[some])
    took = (time.perf_counter() - start) * 2000 / (LOOPED // 3)
    line(f"bootstrap, 2,000 draws, {CASES:,} cases", ours, "plain loop", took)


def main() -> None:
    """Print all comparisons."""
    curves()
    permutations()
    intervals()


if __name__ == "__main__":
    main()
