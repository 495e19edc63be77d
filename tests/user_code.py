"""What users write: mypy --strict and pyright find nothing wrong with it, and it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import forestall as fs


def runs(folder: Path) -> dict[str, Any]:
    """Simulate, compare, certify, replay."""
    jobs = fs.generate_jobs(16, 1, days=2, load=0.7)
    failures = fs.generate_failures(16, 10, 1, rate_per_year=800)
    result = fs.simulate(jobs, failures, nodes=16, accuracy=0.7, risk=0.9, log_events=True)
    share: float = result.utilization
    promised: float | None = result.qos
    starts: list[int] = result.table["start"].to_list()
    place: Path = result.save(folder / "run", report=False)
    certificate = fs.certify(place)
    passed: bool = certificate.passed
    again = fs.replay(place)
    easy = fs.simulate(jobs, failures, nodes=16, policy="easy")
    both = fs.compare(result, easy=easy)
    columns: list[str] = both.table.columns
    told: dict[str, Any] = both.to_dict()
    return {
        "share": share, "promised": promised, "starts": starts, "passed": passed,
        "same": again.same, "columns": columns, "runs": told["runs"],
    }  # fmt: skip


def reliability() -> dict[str, Any]:
    """Fit, checkpoint, keep spares."""
    fitted = fs.fit([12.0, 40.0, 7.0, 90.0, 33.0])
    shape: float = fitted.params["shape"]
    ranking = fs.fit_all([12.0, 40.0, 7.0, 90.0, 33.0], families=["weibull", "exponential"])
    best: str = ranking.best.family.name
    every = fs.interval(mtbf="4d", checkpoint_overhead=300)
    seconds: float = every.found.optimal
    spare = fs.spares(nodes=256, duration="7d", target=0.99)
    count: int | None = spare.found.spares
    return {"shape": shape, "best": best, "interval": seconds, "spares": count}


def records(folder: Path) -> dict[str, Any]:
    """Say what a machine's own records tell."""
    log = fs.generate_failures(32, 365, 1, rate_per_year=300, heterogeneity=1.0)
    path = folder / "failures.csv"
    log.table().select("time", "node", "downtime").write_csv(path)
    lemons = fs.lemons(failures=path, false_discovery_rate=0.1)
    judged = fs.assess_predictors(path, predictors=["rate"], draws=20)
    names: list[str] = judged.table["name"].to_list()
    page: Path = judged.save(folder / "judged.html")
    return {"lemons": lemons.to_dict()["nodes_compared"], "judged": names, "page": page}
