"""Draw the images of the README and the documentation from runs on generated logs.

python docs/make_images.py [FOLDER]    (FOLDER: docs/images by default; needs the extra `plot`)
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean

import forestall as fs

NODES = 128
DAYS = 28
SEED = 1
SEEDS = range(1, 9)
HERE = Path(__file__).parent / "images"


def main(folder: Path) -> None:
    """Simulate four weeks once, and a sweep over accuracies, and draw them."""
    jobs = fs.generate_jobs(NODES, SEED, days=DAYS, load=0.75)
    failures = fs.generate_failures(NODES, 2 * DAYS, SEED, rate_per_year=1500)
    folder.mkdir(parents=True, exist_ok=True)
    run = fs.simulate(jobs, failures, nodes=NODES, accuracy=0.7, risk=0.5)
    for name, figure in (
        ("gantt", run.plot_gantt()),
        ("utilization", run.plot_utilization()),
        ("calibration", run.plot_calibration()),
    ):
        figure.savefig(folder / f"{name}.png", dpi=110)
    worth(jobs, failures, folder / "worth.png")


def worth(jobs: fs.Jobs, failures: fs.Failures, path: Path) -> None:
    """Draw what prediction of growing accuracy is worth, on average over which failures it sees."""
    from matplotlib.figure import Figure

    accuracies = [k / 10 for k in range(11)]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for risk, colour, marker in (
        (0.0, "#777777", "s"),
        (0.5, "#0072b2", "o"),
        (1.0, "#d55e00", "^"),
    ):
        kept, lost = [], []
        for accuracy in accuracies:
            runs = [
                fs.simulate(jobs, failures, nodes=NODES, accuracy=accuracy, risk=risk, seed=seed)
                for seed in SEEDS
            ]
            kept.append(100 * fmean(run.measures["promises_kept"] for run in runs))
            lost.append(fmean(run.lost_work / 3600 for run in runs))
        label = f"users take promises of at least {risk:g}"
        left.plot(accuracies, kept, color=colour, marker=marker, label=label)
        right.plot(accuracies, lost, color=colour, marker=marker)
    left.set(title="Promises kept", ylabel="% of jobs")
    right.set(title="Work lost to failures", ylabel="node-hours", ylim=(0, None))
    for axes in (left, right):
        axes.set(xlabel="accuracy: share of failures that are foreseen", xlim=(-0.03, 1.03))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
