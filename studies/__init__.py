"""Studies: papers that forestall builds on, redone with its public API, each in a folder that holds
what is its own: inputs, runs, claims, figures, and the study that joins them.

A new study is a folder and an entry here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import forestall as fs
from studies.kit.commands import DATA, ON, WORKERS, Option, StudyEntry, quick

STUDIES: Final = fs.Entries(
    "study",
    (
        StudyEntry(
            "promises",
            "Oliner et al., DSN 2005",
            "Oliner et al., DSN 2005: Figures 1 to 12, and the paper's claims compared with our "
            "measurements.",
            "studies/promises/index.md",
            options=(DATA, WORKERS, ON),
            examples=("--data traces --out promises",),
            real=True,
        ),
        StudyEntry(
            "queues",
            "Hacker and Meglicki, HPDC 2007",
            "Hacker and Meglicki, HPDC 2007: Tables 1 to 5 and Figures 1 to 9, and why our numbers "
            "differ.",
            "studies/queues/index.md",
            options=(DATA,),
            examples=("--data traces --out queues",),
            real=True,
            counts="tables",
            files="Figures, values.csv and verdict.md",
        ),
        StudyEntry(
            "assessment",
            "Brandt et al., Sandia",
            "Brandt et al., Sandia: is memory worth acting on? Figures 2 and 3 on machines with "
            "known truth.",
            "studies/assessment/index.md",
            options=(
                Option("seed", int, "Seed of the generated machines.", 1, metavar="N", least=0),
            ),
            examples=("--out assessment",),
            counts="machines",
        ),
        StudyEntry(
            "availability",
            "Bagchi et al., availability",
            "Bagchi et al., cycle sharing: accuracy of temporal reliability, compared with linear "
            "models, with noise and by training. Without --data on generated hosts alone.",
            "studies/availability/index.md",
            options=(DATA, quick("Fewer hosts and windows: takes a few seconds.")),
            examples=("--data traces --out availability", "--quick"),
            counts="windows",
        ),
        StudyEntry(
            "virtual",
            "Fu and Xu, ARES 2009",
            "Fu and Xu, ARES 2009: jobs and tasks completed over prediction accuracy, and where "
            "each strategy begins to pay. Without --data on generated failures alone. Continues "
            "after an interruption.",
            "studies/virtual/index.md",
            options=(
                DATA,
                Option(
                    "usage",
                    Path | None,
                    "LANL's usage log of system 20: runs its jobs, too. Needs --data.",
                    metavar="FILE",
                ),
                quick("Fewer days and seeds: takes under a minute."),
                WORKERS,
                ON,
            ),
            examples=(
                "--data traces --out virtual",
                "--data traces --usage usage.gz",
                "--quick",
            ),
        ),
        StudyEntry(
            "cycle-sharing",
            "Bagchi et al., cycle sharing",
            "Bagchi et al., cycle sharing: makespan, failures and unscheduled jobs under "
            "Condor-style matchmaking, Falcon and an omniscient scheduler, with reasons. Without "
            "--data on generated hosts alone. Continues after an interruption.",
            "studies/cycle-sharing/index.md",
            options=(
                DATA,
                Option(
                    "contention",
                    str | None,
                    "Measure on this host what a guest takes from its owner (3 min, all cores), "
                    "skip it, or read it from a folder of forestall calibrate (default: measure; "
                    "none with --quick).",
                    metavar="measure|none|DIR",
                ),
                quick("Fewer hosts, days and seeds: takes a few seconds."),
                WORKERS,
                ON,
            ),
            examples=("--data traces --out cycle-sharing", "--contention none", "--quick"),
        ),
        StudyEntry(
            "contention",
            "Bagchi et al., contention",
            "Bagchi et al., cycle sharing: what a guest at each priority takes from an owner with "
            "real programs on the same core, and what policies make of it. Measured on this host, "
            "about 30 min, one core. Continues after an interruption.",
            "studies/contention/index.md",
            options=(
                Option(
                    "seed", int, "Seed of think times, orders and files.", 1, metavar="N", least=0
                ),
                Option("core", int | None, "Core to use (default: the last).", metavar="N"),
                quick("Two programs, three loads, once: takes under a minute."),
            ),
            examples=("--out contention", "--quick", "--core 1"),
            counts="owners",
        ),
        StudyEntry(
            "vault",
            "Bagchi et al., checkpoints",
            "Bagchi et al., cycle sharing: checkpoints on shared hosts compared with a dedicated "
            "server, the submitting machine and the host's own disk, simulated and with real "
            "storage daemons. Without --data on generated hosts alone. Continues after an "
            "interruption.",
            "studies/vault/index.md",
            options=(
                DATA,
                Option(
                    "network",
                    str | None,
                    "Measure with storage daemons in network namespaces (15 min, as root), skip "
                    "it, or read it from a folder of this study (default: measure; none with "
                    "--quick).",
                    metavar="measure|none|DIR",
                ),
                quick("Fewer hosts, days and seeds: takes a few seconds."),
                WORKERS,
                ON,
            ),
            examples=("--data traces --out vault", "--network none", "--quick"),
        ),
    ),
)
"""All studies, in the order of help."""
