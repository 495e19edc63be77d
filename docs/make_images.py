"""Draw the images of the README and the documentation from runs on generated logs, and one from a
real log where the folder FORESTALL_DATA has it.

python docs/make_images.py [FOLDER]    (FOLDER: docs/images by default; needs the extra `plot`)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import forestall as fs

NODES = 128
DAYS = 28
SEED = 1
SEEDS = range(1, 9)
HPC2N = "HPC2N-2002-2.2-cln.rebuilt.swf.gz"
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
    laws(folder)
    queues(folder)
    predictors(folder)
    acting(folder)
    quotes(folder)
    shared_hosts(folder)


def quotes(folder: Path) -> None:
    """Draw what was promised and what was kept for the jobs of HPC2N."""
    from forestall.site.promises.pictures import reliability
    from forestall.site.promises.study import Question, study

    log = Path(os.environ.get("FORESTALL_DATA", ".")) / "swf-misc" / HPC2N
    if not log.is_file():
        return
    accounting = fs.read_site(log).accounting
    assert accounting is not None
    answer = study(accounting, Question()).answers[0]
    figure = reliability(answer, f"{len(accounting):,} jobs of HPC2N, in time order")
    figure.savefig(folder / "quotes.png", dpi=110)


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


def laws(folder: Path) -> None:
    """Draw two laws of the gaps of a year of failures: shares failed, and hazard."""
    from forestall.reliability.fits.plots import plot_hazard, plot_pp
    from forestall.reliability.history.history import history

    seconds, censored = history(fs.generate_failures(NODES, 365, SEED, rate_per_year=1021)).sample()
    fits = [fs.fit(seconds / 3600, name, censored=censored) for name in ("weibull", "exponential")]
    plot_pp(fits).savefig(folder / "pp.png", dpi=80)
    plot_hazard(fits, unit="h").savefig(folder / "hazard.png", dpi=80)


def queues(folder: Path) -> None:
    """Draw the trade-off of the page on queues: its cluster, and the tutorial's jobs."""
    from forestall.logs.jobs.swf import write_swf
    from forestall.reliability.report.design.design import design
    from forestall.reliability.report.design.report import tradeoff

    page = (HERE.parent / "how-to" / "reliability" / "design-queues.md").read_text(encoding="utf-8")
    shown = page.split("```toml\n")[1].split("```")[0]
    with TemporaryDirectory() as name:
        cluster, jobs = Path(name) / "cluster.toml", Path(name) / "jobs.swf"
        cluster.write_text(shown, encoding="utf-8")
        write_swf(fs.generate_jobs(NODES, SEED, days=14, load=0.8), jobs)
        found = design(cluster, optimize=True, jobs=jobs).found
    assert found is not None
    tradeoff(found).savefig(folder / "tradeoff.png", dpi=80)


def shared_hosts(folder: Path) -> None:
    """Draw what each scheduler makes of guests of growing length, over pools of hosts whose owners
    have hours of their own."""
    import polars as pl

    from forestall.logs.host_traces import host_traces_of_metrics
    from forestall.sharing.report.figures import length_lines
    from forestall.sharing.simulate import SharedHosts

    rows = []
    for seed in SEEDS:
        load = fs.generate_hosts(10, 42, seed, 60, owners="own")
        pool = SharedHosts(host_traces_of_metrics(load))
        jobs = fs.generate_guests(200, seed, days=12)
        known = pool.forecasts(fs.CycleParameters())
        for hours in (0.5, 1, 2, 3, 4, 5, 6):
            length = round(3600 * hours)
            for scheduler in ("condor", "falcon", "omniscient"):
                run = fs.simulate_cycle(
                    jobs, pool.traces, forecasts=known, scheduler=scheduler, job_length=length
                )
                told = ("makespan", "failures_per_job", "unscheduled_share")
                values = {name: run.measures[name] for name in told}
                rows.append({"job_length": length, "scheduler": scheduler, "seed": seed, **values})
    length_lines(pl.DataFrame(rows)).savefig(folder / "shared-hosts.png", dpi=110)


NAMES = ("rate", "recency", "periodic", "renewal", "semi-markov", "neural", "rules", "stacked")


def predictors(folder: Path) -> None:
    """Judge predictors on the year of failures of the page on them, and draw what each is worth."""

    from forestall.logs.generate import Bursts
    from forestall.prediction.judge.predictors.report import benefit_figure, plot_predictors
    from forestall.prediction.judge.predictors.study import study_of
    from forestall.prediction.judge.questions import How, Stakes

    year = fs.generate_failures(
        NODES, 365, SEED, rate_per_year=1021, heterogeneity=1.0, bursts=Bursts(share=0.2)
    )
    found = study_of(fs.observed(year), NAMES, How(), Stakes())
    plot_predictors(found.summary["predictors"]).savefig(folder / "predictors.png", dpi=110)
    benefit_figure(found).savefig(folder / "benefit.png", dpi=80)


def acting(folder: Path) -> None:
    """Draw what acting on memory brings on the machine of the page on metrics."""
    from forestall.logs.generate.memory import generate_memory, write_scenario
    from forestall.prediction.assess.figures_benefit import plot_benefit
    from forestall.prediction.judge.jobs.judge import study
    from forestall.prediction.judge.questions import JobStudySettings

    with TemporaryDirectory() as name:
        made = Path(name)
        write_scenario(made, *generate_memory(SEED, nodes=NODES, days=16), "parquet")
        found = study(made / "jobs.csv", made / "metrics.parquet", None, {}, JobStudySettings())
    drawn = plot_benefit(
        found.curve, found.band, found.ideal, blind=found.blind, name="memory_share"
    )
    drawn.savefig(folder / "act.png", dpi=80)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
