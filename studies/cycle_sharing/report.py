"""The results as sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import forestall as fs
from studies.cycle_sharing.cells import Cell
from studies.cycle_sharing.claims import (
    OCCURRENCES,
    SHARES,
    Found,
    plain,
    points,
)
from studies.cycle_sharing.figures import NAMES
from studies.cycle_sharing.inputs import GENERATED, GOOGLE_SET
from studies.cycle_sharing.runs import ALL
from studies.cycle_sharing.statistics import summary
from studies.cycle_sharing.study import (
    FALCON,
    HORIZON,
    LEARNINGS,
    LOAD,
    RESTARTS,
    SLIDES,
    STEP,
)
from studies.kit.claims import Claim
from studies.kit.text import Blocks, claims_section, listing, share, table


def told_section(claims: Sequence[Claim]) -> Blocks:
    """Return the claims as a table, and below it why those that do not hold do not."""
    whys: dict[str, list[str]] = {}
    for claim in claims:
        if claim.why:
            whys.setdefault(claim.why, []).append(f"{claim.name} ({claim.where})")
    told = [f"{', '.join(names)}: {why}" for why, names in whys.items()]
    head = ("The slides' claim", "Hosts", "Measured", "Verdict")
    return claims_section(head, claims, ("claim", "where", "measured"), told)


def states_section(found: Found) -> fs.reports.Table:
    """Return how often and why hosts are not available, beside the slides."""
    rows: list[tuple[str, ...]] = [
        (
            "the slides", "", "91", f"{OCCURRENCES[0]} to {OCCURRENCES[1]}", "",
            *(f"{share(a, 0)} to {share(b, 0)}" for a, b in SHARES.values()), "",
        )
    ]  # fmt: skip
    for one in summary(found.states).iter_rows(named=True):
        kinds = [_kind(one, kind) for kind in SHARES]
        rows.append(
            (
                one["hosts_of"], f"{one['hosts']:,}", f"{one['days']:g}",
                f"{one['least']:,.0f} to {one['most']:,.0f}", f"{one['middle']:,.0f}", *kinds,
                share(one["available"]),
            )
        )  # fmt: skip
    head = (
        "Hosts", "Number", "Days", "Unavailabilities a host in 91 days", "Median",
        "S3: CPU", "S4: memory", "S5: away", "Time available",
    )  # fmt: skip
    return table(head, rows)


def _kind(one: Mapping[str, float | None], kind: str) -> str:
    low, high, whole = (one[f"{kind}_{end}"] for end in ("low", "high", "all"))
    if low is None or high is None or whole is None:
        return ""
    return f"{share(low, 0)} to {share(high, 0)} (all {share(whole, 0)})"


def runs_section(found: Found) -> fs.reports.Table:
    """Return makespan, failures and unscheduled jobs by job length, with paired differences."""
    rows = []
    runs = found.runs
    for name in runs.sets:
        for restart in RESTARTS:
            condor, falcon, omniscient = found.trio(name, restart)
            ours = Cell(name, FALCON, restart)
            for length in (*runs.lengths(), ALL):
                spans = [runs.mean(one, "makespan", length).mean
                         for one in (condor, falcon, ours, omniscient)]  # fmt: skip
                rows.append(
                    (
                        name, restart, f"{length / 3600:g}" if length else "all",
                        *(f"{span:.3f}" for span in spans),
                        points(runs.shorter(falcon, condor, length)),
                        points(runs.shorter(omniscient, falcon, length)),
                        points(runs.shorter(ours, condor, length)),
                        f"{runs.mean(condor, 'failures', length).mean:.3f}",
                        plain(runs.gain(falcon, condor, "failures", length)),
                        plain(runs.gain(ours, condor, "failures", length)),
                        share(runs.mean(condor, "unscheduled", length).mean, 2),
                        points(runs.gain(falcon, condor, "unscheduled", length), 2),
                    )
                )  # fmt: skip
    head = (
        "Hosts", "Restart", "Job, h", "Condor-style, h", "Slides' Falcon, h", "Falcon here, h",
        "Omniscient, h", "Slides' shorter than Condor-style", "Omniscient shorter than slides'",
        "Here shorter than Condor-style", "Failures a job, Condor-style", "Slides' difference",
        "Here", "Unscheduled, Condor-style", "Slides' difference",
    )  # fmt: skip
    return table(head, rows)


def why_section(found: Found) -> fs.reports.Table:
    """Return what other forecasts give."""
    runs, rows = found.runs, []
    for name in runs.sets:
        for restart in RESTARTS:
            condor, falcon, omniscient = found.trio(name, restart, FALCON)
            tried = {NAMES[x]: Cell(name, FALCON, restart, learning=x) for x in LEARNINGS}
            first = {"as the slides have it": Cell(name, SLIDES, restart)}
            for told, cell in (first | tried | {"omniscient": omniscient}).items():
                if runs.has(cell):
                    ahead = runs.shorter(cell, condor)
                    rows.append(
                        (
                            name, restart, told, points(ahead),
                            "" if cell == falcon else points(runs.shorter(cell, falcon)),
                            plain(runs.gain(cell, condor, "failures")), str(ahead.seeds),
                        )
                    )  # fmt: skip
    head = (
        "Hosts", "Restart", "Falcon's forecasts", "Makespan shorter than Condor-style",
        "Shorter than Falcon's", "Failures a job, difference to Condor-style", "Seeds",
    )  # fmt: skip
    return table(head, rows)


def pool_section(found: Found) -> fs.reports.Table:
    """Return what load and number of hosts change."""
    runs, rows = found.runs, []
    for name in runs.sets:
        for load, hosts, restart in runs.pools(name):
            condor, falcon, omniscient = cells = found.trio(name, restart, load=load, hosts=hosts)
            ours = Cell(name, FALCON, restart, load, hosts)
            if not all(runs.has(cell) for cell in (*cells, ours)):
                continue
            rows.append(
                (
                    name, restart, f"{load:g}", str(hosts),
                    share(runs.mean(condor, "unscheduled").mean, 2),
                    points(runs.shorter(falcon, condor)), points(runs.shorter(ours, condor)),
                    points(runs.shorter(omniscient, condor)),
                    plain(runs.gain(falcon, condor, "failures")),
                    str(runs.shorter(falcon, condor).seeds),
                )
            )  # fmt: skip
    head = (
        "Hosts", "Restart", "Load", "Number", "Unscheduled, Condor-style",
        "Slides' Falcon shorter than Condor-style", "Falcon here", "Omniscient",
        "Failures a job, slides' difference", "Seeds",
    )  # fmt: skip
    return table(head, rows)


def notes(found: Found) -> str:
    """Return how it was played."""
    plan = found.plan
    count = found.runs.table.filter(found.runs.table["length"] == ALL).height
    return f"""\
- {count:,} runs: {plan.seeds} seeds of hosts and jobs, {plan.few} for other loads, forecasts and
  numbers of hosts (other loads and numbers from scratch only). The schedulers of a seed share hosts
  and jobs, so differences are paired. Intervals are Student's, at 95 %, over seeds. Makespans
  are means of jobs completed.
- Two versions of Falcon are simulated: the slides', which decides their claims (mean loads, each
  host by its own past alone, no memory of the present load), and this project's, with additions.
- Jobs have the seven lengths from 0.5 to 6 h, equally often, and are submitted evenly between 6:00
  and 22:00. Run times add up to {share(LOAD, 0)} of the time of all hosts unless stated
  otherwise; the slides do not state their number of jobs.
- {GENERATED[0]}, {GENERATED[1]}: generated hosts with the slides' statistics, {plan.days} days, the
  first of them to learn from. "{GENERATED[1]}": all owners do heavy work at the same hours, each on
  some of the days. "{GENERATED[0]}": each has hours of their own and keeps to them. The slides'
  table does not distinguish these.
- Grid'5000 and LANL: nodes drawn at random from those in service throughout 91 days (the period is
  drawn first); up without any load, or away. PlanetLab: slices seen on all four weekdays of the
  trace, their days joined by name; two days to learn from, two for jobs (submitted until 17:00).
- {GOOGLE_SET} cover 24 hours, with no earlier day to learn from, and jobs of 6 h would end with
  the trace; so their states are counted, and no jobs are simulated.
- Forecasts have steps of {STEP // 60} min and reach {HORIZON // 3600} h, which is five times
  faster than the simulator's defaults (1 min, 24 h) and changes little: see
  "{NAMES["fine steps"]}".
- Jobs that lose their host restart from scratch, as in the slides; or from hourly checkpoints that
  cost a minute, as does a restart; or from the point at which the owner came back, saved at no
  cost.
"""


def sections(found: Found, claims: Sequence[Claim]) -> dict[str, Blocks]:
    """Return the sections of the report."""
    return {
        "Claims": told_section(claims),
        "How it was played": listing(notes(found)),
        "Why hosts are not available": states_section(found),
        "By job length": runs_section(found),
        "What forecasts are worth": why_section(found),
        "Load and number of hosts": pool_section(found),
    }
