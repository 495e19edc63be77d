"""The promise policy on the two job logs of its paper, beside the plain Python reference.

10,000 jobs, 128 nodes, a year of failures (1,021), a 0.7, U 0.9. `python -m benchmarks.promise`
"""

from __future__ import annotations

from benchmarks.common import data, line, seconds
from forestall.core.world.failures import prepare_failures
from forestall.logs.read import read_failures, read_jobs
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, prepare_jobs
from forestall.scheduling.simulation.run import play
from reference.promise_reference import simulate_promise

LOGS = {
    "NASA": "nasa-ipsc-1993/NASA-iPSC-1993-3.1-cln.swf.gz",
    "SDSC": "sdsc-sp2-1998/SDSC-SP2-1998-4-cln.jobs-from-predictsim.swf.gz",
}
FAILURES = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"


def main() -> None:
    """Print the comparisons."""
    parameters = Parameters(accuracy=0.7, risk=0.9)
    log = read_failures(data(FAILURES), system=19, start="2003-07-18T16:00", days=365, fold_nodes=8)
    failures = prepare_failures(log, parameters)
    foreseen = foreseen_by(TracePredictor(parameters.accuracy), failures, 0)
    strikes = list(
        zip(
            failures.time.tolist(),
            failures.node.tolist(),
            failures.downtime.tolist(),
            failures.detectability.tolist(),
            strict=True,
        )
    )
    for name, file in LOGS.items():
        work = prepare_jobs(read_jobs(data(file), jobs="1:10000"), failures, parameters)
        columns = (work.jobs.submit, work.jobs.size, work.jobs.runtime, work.estimate)
        rows = list(zip(*(c.tolist() for c in columns), strict=True))
        kept = []

        def reference(rows=rows, kept=kept) -> None:
            kept.append(simulate_promise(rows, strikes, nodes=128, accuracy=0.7, risk=0.9))

        (theirs,) = seconds(reference, rounds=2)
        (ours,) = seconds(lambda w=work: play(w, failures, parameters, foreseen))
        outcome = play(work, failures, parameters, foreseen)
        assert kept[0].finish == outcome.jobs["finish"].tolist(), "another schedule"
        line(f"promise policy {name}, {len(rows):,} jobs", ours, "plain Python", theirs)


if __name__ == "__main__":
    main()
