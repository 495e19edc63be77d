"""The options of guests on shared hosts, as one table, beside those that they share with other
models."""

from __future__ import annotations

from typing import Final

from forestall.cli.choice import GUESTS, Choice

HOST_TRACES: Final = "Host traces (--model cycle)"

HOSTS: Final = (
    Choice(
        "hosts",
        HOST_TRACES,
        "Load of the hosts: samples time,node,cpu[,memory_free], other stores of metrics, or a "
        "failure log. --from and --days choose a part of it. Or --failures: up and down times.",
        "FILE|DIR",
    ),
    Choice(
        "host_speeds", HOST_TRACES, "Clock rate ratios, CSV host,speed (default 1 each).", "FILE"
    ),
    Choice(
        "period",
        HOST_TRACES,
        "Of a sample (default: the trace's own; 60s with failure logs).",
        "DURATION",
    ),
)
"""Options of reading host traces."""

CYCLE: Final = (
    Choice(
        "scheduler",
        GUESTS,
        "Who places jobs: by what is foretold of hosts, by best rank, or by the truth (default "
        "falcon).",
        choices=("falcon", "condor", "omniscient"),
    ),
    Choice(
        "rank",
        GUESTS,
        "Condor: speed times idle share now, or speed alone (default idle).",
        choices=("idle", "speed"),
    ),
    Choice(
        "job_length",
        GUESTS,
        "Run time of every job on an idle host of speed 1 (default: the log's).",
        "DURATION|log",
    ),
    Choice(
        "restart",
        GUESTS,
        "Where a job goes on that lost its host (default scratch).",
        choices=("scratch", "checkpoint"),
    ),
    Choice(
        "checkpoint_at_end",
        GUESTS,
        "With --restart checkpoint: save a guest whose host its owner takes back (default on).",
        flag=True,
        on=True,
    ),
    Choice("restart_overhead", GUESTS, "Pause at the start from a checkpoint (default 0s).",
           "DURATION"),
    Choice("retry", GUESTS, "Wait while no host is free, then try again (default 5m).", "DURATION"),
    Choice(
        "retries",
        GUESTS,
        "New tries before a job that never started is given up (default 1).",
        "N",
    ),
    Choice("th1", GUESTS, "Load above which a guest steps back (default 0.2).", "SHARE"),
    Choice("th2", GUESTS, "Load above which it has to end, if that lasts (default 0.6).", "SHARE"),
    Choice("hold", GUESTS, "How long that, or a gap, may last (default 60s).", "DURATION"),
    Choice("guest_memory", GUESTS, "Share of memory that a guest needs (default 0.1).", "SHARE"),
    Choice(
        "spikes",
        GUESTS,
        "While load is above th2: run on with what is left, or stop (default share).",
        choices=("share", "stop"),
    ),
    Choice(
        "warm_up",
        GUESTS,
        "Of the host traces, before time 0 of the jobs, to learn from (default 28d).",
        "DURATION",
    ),
    Choice(
        "pooling",
        GUESTS,
        "Draw the chances of hosts together as far as chance explains how they differ, or take "
        "each host's own (default partial).",
        choices=("partial", "none"),
    ),
    Choice(
        "load_memory",
        GUESTS,
        "In which a load now fades into the usual one in Falcon's forecasts (default 2h).",
        "DURATION",
    ),
    Choice("history", GUESTS, "Like days that Falcon learns from, at most (default 20).", "DAYS"),
    Choice("predict_step", GUESTS, "Step of its forecasts (default 60s).", "DURATION"),
    Choice("horizon", GUESTS, "How far they reach (default 24h).", "DURATION"),
)  # fmt: skip
"""An option for every field of `forestall.simulate.cycle.parameters.CycleParameters` that no other
table has."""
