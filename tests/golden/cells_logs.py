"""Cells of logs and of what follows from them: how machines fail, predictors, designs."""

from __future__ import annotations

from golden.play import Cell

AT = "../inputs"
FAILURES = f"{AT}/failures.csv"
RAS = "traces generate ras ras.csv --nodes 16 --days 30 --mtbf-hours 200 --seed 3 --truth truth.csv"
CLUSTER = (
    'name = "small"\\nages = "steady"\\n[[groups]]\\nname = "old"\\ncount = 12\\nmttf = "40d"\\n'
    'shape = 0.7\\n[[groups]]\\nname = "new"\\ncount = 20\\nmttf = "200d"\\n[[queues]]\\n'
    'name = "short"\\nnodes = 2\\nlimit = "4h"\\nslots = 4\\n[[queues]]\\nname = "long"\\n'
    'nodes = {old = 2, new = 8}\\nlimit = "2d"\\n[checkpoint]\\ncost = "5m"\\nrestart = "3m"\\n'
    'copies = 2\\n[pool]\\nrepair = "2d"\\n[optimize]\\nqueues = 2\\n'
)
TRAINED = (
    "constant", "rate", "recency", "periodic", "semi-markov", "last", "bm", "ma", "ar", "arma",
    "neural", "rules", "joined", "boosted", "stacked",
)  # fmt: skip

_TRACES = (
    Cell(
        "traces-info",
        tuple(
            f"traces info {AT}/{file}{more}"
            for file in ("jobs.swf --nodes 16", "few.csv", "failures.csv", "hosts.parquet")
            for more in ("", " --json")
        ),
    ),
    Cell(
        "traces-convert",
        (
            f"traces convert {AT}/jobs.swf jobs.csv",
            f"traces convert {AT}/jobs.swf jobs.parquet --jobs 5:30",
            f"traces convert {AT}/few.csv few.swf.gz",
            f"traces convert {FAILURES} failures.parquet --fold-nodes 2 --days 20",
            f"traces convert {AT}/missing.csv out.csv",
        ),
    ),
    Cell(
        "traces-generate",
        (
            "traces generate jobs one.csv --nodes 64 --days 2 --model batch --seed 9",
            "traces generate failures one-failures.csv --nodes 8 --preset lanl05 --days 90",
            "traces generate failures laws.csv --nodes 8 --days 90 --mtbf-hours 300 --shape 1"
            " --repair weibull --burst-share 0.3 --unpredictable 0.2 --heterogeneity 1",
            "traces generate hosts hosts.csv --hosts 2 --days 3 --period 10m --seed 4",
            "traces generate guests guests.parquet --count 20 --days 2 --hours 8:18",
            "traces generate memory leak --nodes 12 --days 3 --period 30m --json",
        ),
    ),
    Cell(
        "traces-filter",
        (
            RAS,
            "traces info ras.csv --as events",
            "traces filter ras.csv --out found.csv --names names.csv --records left.csv",
            "traces filter ras.csv --json --rule kept --level prefix --templates none",
            "traces filter ras.csv --steps severity,clusters --clusters 20m --severity ERROR",
        ),
    ),
)

_PREDICT = (
    Cell(
        "predict",
        (
            "predict list",
            "predict list --json",
            f"predict train recency {FAILURES} --until 60d --out recency --json",
            "predict ask recency --top 3 --ahead 6h",
            f"predict ask recency --since {FAILURES} --until 80d --nodes 0-3,7 --json",
            f"predict train outlier {FAILURES} --out refused",
            f"predict train nobody {FAILURES} --out refused",
        ),
    ),
    *(
        Cell(
            f"predict-{name}",
            (
                f"predict train {name} {FAILURES} --until 60d --out it",
                f"predict ask it --since {FAILURES} --until 90d --ahead 24h --json",
            ),
        )
        for name in TRAINED
    ),
    Cell(
        "predict-with-events",
        (
            RAS,
            *(
                f"predict train {name} truth.csv --events ras.csv --until 20d --out {name}"
                for name in ("rules", "boosted")
            ),
            "predict ask rules --json",
            "predict ask boosted --json",
            "@drop ras.csv",
        ),
    ),
    Cell(
        "predict-outlier",
        (
            "traces generate memory leak --nodes 12 --days 4 --period 30m",
            "traces generate failures gone.csv --nodes 12 --days 4 --mtbf-hours 60",
            "predict train outlier gone.csv --metrics leak/metrics.parquet --until 3d --out it",
            "predict ask it --json",
        ),
    ),
)

_ASSESS = (
    Cell(
        "assess-scores",
        (
            "@draw scores scores.csv",
            "assess scores scores.csv --draws 300 --out out",
            "assess scores scores.csv --draws 300 --score score,other --json --group none",
            "assess scores scores.csv --draws 300 --baseline other --threshold 0.4 --bins 5 -q",
        ),
    ),
    Cell(
        "assess-alarms",
        (
            "@draw alarms alarms.csv",
            f"assess alarms alarms.csv --failures {FAILURES} --out out",
            f"assess alarms alarms.csv --failures {FAILURES} --horizons 2h,12h --lead 5m --json",
        ),
    ),
    Cell(
        "assess-jobs",
        (
            "traces generate memory leak --nodes 60 --days 8 --period 30m --relation 8 --seed 4",
            "assess jobs leak/jobs.csv --metrics leak/metrics.parquet --out out",
            "assess jobs leak/jobs.csv --metrics leak/metrics.parquet --value mean --price 2"
            " --currency EUR --json",
        ),
    ),
    Cell(
        "assess-predictors",
        (
            f"assess predictors {FAILURES} --predictors constant,rate,recency,renewal --draws 40"
            " --out out",
            f"assess predictors {FAILURES} --predictors rate,semi-markov --draws 40 --json",
        ),
    ),
    Cell(
        "assess-value",
        tuple(
            f"assess value {AT}/few.csv --nodes 16 --failures {FAILURES} --from 8640000"
            f" --predictors {AT}/renewal.predictor,rate --train {FAILURES} --risk 0.5{more}"
            for more in ("", " --json")
        ),
    ),
)

_MACHINES = (
    Cell(
        "reliability",
        (
            f"reliability {FAILURES} --families weibull,exponential,lognormal --draws 19 --out out",
            f"reliability {FAILURES} --families weibull,gamma --clock uptime --by node --unit d",
            f"reliability {AT}/hot.csv --json --families weibull",
        ),
    ),
    Cell(
        "fit",
        (
            "@draw gaps gaps.csv",
            "fit gaps.csv --unit h",
            "fit gaps.csv --json --rank-by ks",
            "fit gaps.csv --family weibull --p-values --draws 29 --plot law.png",
            "fit gaps.csv --family lognormal --ci wald --zeros drop --level 0.9 --json",
        ),
    ),
    Cell(
        "interval",
        (
            "interval --mtbf 285d --nodes 512 --checkpoint-overhead 5m",
            "interval --mtbf 4d --checkpoint-overhead 5m --shape 0.7 --ages new --json --work 30d",
            "interval --mtbf 4d --checkpoint-overhead 5m --recall 0.5 --restart 10m --downtime 1h",
            f"interval --failures {FAILURES} --nodes 8",
            f"interval --failures {FAILURES} --nodes 8 --json",
        ),
    ),
    Cell(
        "spares",
        (
            "spares --nodes 512 --hours 30d --target 0.99 --rate 3.5 --repair 2d",
            "spares --nodes 64 --hours 200 --mtbf 90d --shape 0.7 --ages steady --json",
            "spares --nodes 64 --hours 200 --copies 2",
            "spares --nodes 64 --hours 200 --pool",
            f"spares --failures {FAILURES} --nodes 8 --hours 72 --repair measured --json",
            f"spares --failures {FAILURES} --nodes 8 --hours 72",
        ),
    ),
    Cell(
        "design",
        (
            f"@write cluster.toml '{CLUSTER}'",
            "design cluster.toml --out out",
            "design cluster.toml --json",
            f"design cluster.toml --optimize --jobs {AT}/few.csv --top 3",
        ),
    ),
)

LOGS = (*_TRACES, *_PREDICT, *_ASSESS, *_MACHINES)
