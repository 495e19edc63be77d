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
            "Oliner et al., DSN 2005: Figures 1 to 12, and its claims beside what is measured "
            "here.",
            "studies/promises/index.md",
            options=(DATA, WORKERS, ON),
            examples=("--data traces --out promises",),
            real=True,
        ),
        StudyEntry(
            "queues",
            "Hacker and Meglicki, HPDC 2007",
            "Hacker and Meglicki, HPDC 2007: Tables 1 to 5 and Figures 1 to 9, and why they "
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
            "Brandt et al., Sandia: is memory worth acting on? Figures 2 and 3 on machines of "
            "known truth.",
            "studies/assessment/index.md",
            options=(Option("seed", int, "Of the generated machines.", 1, metavar="N", least=0),),
            examples=("--out assessment",),
            counts="machines",
        ),
        StudyEntry(
            "availability",
            "Bagchi et al., availability",
            "Bagchi et al., cycle sharing: accuracy of temporal reliability, against linear "
            "models, noise and training. Without --data on generated hosts alone.",
            "studies/availability/index.md",
            options=(DATA, quick("Fewer hosts and windows: a first look in seconds.")),
            examples=("--data traces --out availability", "--quick"),
            counts="windows",
        ),
        StudyEntry(
            "virtual",
            "Fu and Xu, ARES 2009",
            "Fu and Xu, ARES 2009: jobs and tasks completed against prediction accuracy, and where "
            "each strategy begins to pay. Without --data on generated failures alone. An "
            "interrupted study continues.",
            "studies/virtual/index.md",
            options=(
                DATA,
                Option(
                    "usage",
                    Path | None,
                    "LANL's usage log of system 20: its jobs are simulated too. Needs --data.",
                    metavar="FILE",
                ),
                quick("Fewer days and seeds: a first look within a minute."),
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
            "Condor-style matchmaking, Falcon and an omniscient scheduler, and why. Without --data "
            "on generated hosts alone. An interrupted study continues.",
            "studies/cycle-sharing/index.md",
            options=(
                DATA,
                Option(
                    "contention",
                    str | None,
                    "Measure on this host what a guest takes from its owner (3 min, all cores), "
                    "leave it out, or read it from a folder of forestall calibrate "
                    "(default: measure; none with --quick).",
                    metavar="measure|none|DIR",
                ),
                quick("Fewer hosts, days and seeds: a first look in seconds."),
                WORKERS,
                ON,
            ),
            examples=("--data traces --out cycle-sharing", "--contention none", "--quick"),
        ),
        StudyEntry(
            "contention",
            "Bagchi et al., contention",
            "Bagchi et al., cycle sharing: what a guest at each priority takes from an owner who "
            "works with real programs on the same core, and what policies make of it. Measured on "
            "this host, about 30 min, one core. An interrupted study continues.",
            "studies/contention/index.md",
            options=(
                Option(
                    "seed", int, "Random seed of times, orders and files.", 1, metavar="N", least=0
                ),
                Option("core", int | None, "Core to use (default: the last).", metavar="N"),
                quick("Two programs and three loads, measured once: a first look within a minute."),
            ),
            examples=("--out contention", "--quick", "--core 1"),
            counts="owners",
        ),
        StudyEntry(
            "vault",
            "Bagchi et al., checkpoints",
            "Bagchi et al., cycle sharing: checkpoints on shared hosts beside a dedicated server, "
            "the submitting machine and the own disk, simulated and with real storage daemons. "
            "Without --data on generated hosts alone. An interrupted study continues.",
            "studies/vault/index.md",
            options=(
                DATA,
                Option(
                    "network",
                    str | None,
                    "Measure with storage daemons in network namespaces (15 min, as root), leave "
                    "it out, or read it from a folder of this study (default: measure; none with "
                    "--quick).",
                    metavar="measure|none|DIR",
                ),
                quick("Fewer hosts, days and seeds: a first look in seconds."),
                WORKERS,
                ON,
            ),
            examples=("--data traces --out vault", "--network none", "--quick"),
        ),
    ),
)
"""All studies, in the order of help."""
