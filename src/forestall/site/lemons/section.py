"""The section on lemons: nodes that fail more than chance allows, and what goes with them."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.show.blocks import Column, Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact, Untold, records_of, taken
from forestall.core.show.quantities import at_level, counted, ends_fixed, fixed, number, percent
from forestall.core.show.report import Section
from forestall.core.show.words import or_dash
from forestall.reliability.history.mean_times import Interval
from forestall.reliability.nodes.lemons import Lemons
from forestall.reliability.nodes.signals import SEVEN
from forestall.site.advice.advice import Advice
from forestall.site.lemons.study import FALSE_DISCOVERY_RATE, LemonsStudy, study
from forestall.site.nodes.pictures import worst_nodes
from forestall.site.nodes.section import figure
from forestall.site.nodes.study import LEAST

SHOWN: Final = 15
"""Nodes of the table, where fewer are lemons."""
ON_RATES: Final = (
    "rate: expected failures per 1000 node-days, shrunk toward the fleet's rate, except for "
    "clear outliers."
)
_NUMBERS: Final = frozenset({"failed", "expected", "q", "rate", "job hours", "hours out"})
SHORT: Final = {
    "excl_jobid_count": "excl",
    "xid_cnt": "GPU",
    "tickets": "tick",
    "out_count": "out",
    "multi_node_node_fails": "multi",
    "single_node_node_fails": "single",
    "single_node_node_failure_rate": "rate1",
}
"""Heads of the seven signals."""


OF_NODES: Final = {
    "failures": "failures", "own_failures": "own", "in_bursts": "in_bursts", "came_again": "again",
    "node_days": "node_days", "expected_failures": "expected", "average_failures": "usual",
    "excess_failures": "excess", "excess_low": "excess_low", "excess_high": "excess_high",
    "p": "p_value", "q": "q_value", "rate_per_1000_node_days": "rate", "rate_low": "rate_low",
    "rate_high": "rate_high", "rate_shrunk": "shrunk", "shrunk_low": "low", "shrunk_high": "high",
    "share_of_failures": "share", "out_of_service_hours": "down_hours",
}  # fmt: skip
"""Arrays of `Lemons`, an element a node, by their names in records."""


def row(found: Lemons, k: int, hours: Floats | None = None) -> dict[str, Any]:
    """Return all that is known of one node as plain values."""
    told: dict[str, Any] = {
        "node": found.name[k],
        "lemon": bool(found.flagged[k]),
        "beyond_fleet": bool(found.beyond[k]),
        "verdict": found.verdict(k),
        "kind": found.kinds[found.kind[k]],
        **{name: values[k].item() for name, values in taken(found, **OF_NODES).items()},
        "lost_node_hours": None if found.lost_hours is None else float(found.lost_hours[k]),
        **found.signals.row(int(found.node[k])),
    }
    if hours is not None and found.flagged[k]:
        saved = found.saved(hours, np.array([k]))
        told |= {
            "saved_node_hours": saved.value,
            "saved_low_node_hours": saved.low,
            "saved_high_node_hours": saved.high,
        }
    return told


def shown(found: Lemons) -> list[int]:
    """Return the nodes of the table: all lemons, and the next worst up to `SHOWN`."""
    order = [k for k in found.order.tolist() if found.own[k] or found.flagged[k]]
    return order[: max(SHOWN, len(found.lemons))]


def worst_table(study: LemonsStudy, found: Lemons) -> Table | None:
    """Return the worst nodes, worst first; None where no node failed."""
    at = shown(found)
    if not at:
        return None
    lost = study.hours is not None
    told = study.asked.until - study.asked.begin >= LEAST  # for a rate
    hours = np.full(len(found), np.nan) if study.hours is None else study.hours
    columns = [
        [clean(found.name[k], 24) for k in at],
        [f"{found.own[k]:,}" for k in at],
        fixed(found.expected[at].tolist()),
        [f"{found.q_value[k]:.2g}" if found.q_value[k] >= 1e-99 else "<1e-99" for k in at],
        *(
            [
                fixed(found.shrunk[at].tolist()),
                ends_fixed(found.low[at].tolist(), found.high[at].tolist()),
            ]
            if told
            else []
        ),
        *([fixed(hours[at].tolist())] if lost else []),
        [_verdict(found, k) for k in at],
    ]
    rows = zip(*columns, strict=True)
    what = "job hours" if study.of_jobs else "hours out"
    heads = (
        "node", "failed", "expected", "q", *(("rate", at_level(found.level)) if told else ()),
        *((what,) if lost else ()), "verdict",
    )  # fmt: skip
    note = (
        "failed: a node's own failures, without bursts and failures within an hour of its "
        "return; expected: failures of an average node of its type in the same time in "
        "service; q: expected share of false alarms among nodes at least as bad"
    )
    note += f"; {ON_RATES}" if told else "."
    if study.of_jobs:
        note += " job hours: node-hours of jobs lost with the node."
    elif lost:
        note += " hours out: hours out of service after its failures."
    right = tuple(k for k, head in enumerate(heads) if head in _NUMBERS)
    return Table(
        "worst_nodes",
        "The worst nodes",
        heads,
        tuple(rows),
        records_of(row(found, k, study.hours) for k in at),
        note,
        right,
        ranked=True,
    )


def _verdict(found: Lemons, k: int) -> str:
    """Return the verdict, with what else was seen of the node."""
    words = found.verdict(k)
    if found.in_bursts[k]:
        words += f"; {found.in_bursts[k]} more in bursts"
    if found.again[k]:
        words += f"; {found.again[k]} recurred within an hour"
    return words


def signal_table(study: LemonsStudy, found: Lemons) -> Table | None:
    """Return the seven signals of the worst nodes; None where none is told."""
    at = shown(found)
    told = [name for name in SEVEN if name not in found.signals.missing]
    if not at or not told or told == ["out_count"]:
        return None
    shares = {"single_node_node_failure_rate": percent}
    columns: list[Column] = [
        ("node", "node", lambda name: clean(name, 24)),
        *((SHORT[name], name, or_dash(shares.get(name, number))) for name in told),
        ("users", "excl_user_count", or_dash(number)),
    ]
    records = [{"node": found.name[k], **found.signals.row(int(found.node[k]))} for k in at]
    note = (
        "excl: jobs whose users excluded the node (users: number of users); GPU: outages whose "
        "reason names a GPU error; tick: tickets; out: times out of service; multi, single: "
        "multi-node and single-node runs that its failure ended; rate1: share of single-node "
        "runs that its failure ended. Signals of Kokolis et al., arXiv 2410.21680."
    )
    title = "Seven signals of the worst nodes"
    return Table.by("signals", columns, records, title=title, note=note, ranked=True)


__all__ = ["FALSE_DISCOVERY_RATE", "advice", "section", "study"]

KEY: Final = "lemons"
TITLE: Final = "Nodes that fail more than chance allows"
ADVISED: Final = 10
"""Nodes to look at first, at most."""
REMEDIES: Final = {
    "excl_jobid_count": ("jobs that excluded it", "the submit lines of jobs (sacct -o SubmitLine)"),
    "xid_cnt": ("its GPU errors", "reasons of outages"),
    "tickets": ("its tickets", "reasons of outages that name tickets"),
    "out_count": ("times out of service", "sacctmgr show event"),
    "multi_node_node_fails": ("multi-node runs that it ended", "sacct with node lists"),
    "single_node_node_fails": ("single-node runs that it ended", "sacct with node lists"),
    "single_node_node_failure_rate": (
        "share of its single-node runs that it ended",
        "sacct with node lists",
    ),
}
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


# The section --------------------------------------------------------------------------------------


def section(study: LemonsStudy) -> Section:
    """Return the section."""
    found = study.found
    if found is None:
        return Section(
            KEY, TITLE, f"No node could be compared with others: {study.why}.",
            untold=(Untold("Lemon nodes", study.why, "sacctmgr show event, or a failure log"),),
        )  # fmt: skip

    drawn = worst_nodes(found)
    tables = (worst_table(study, found), signal_table(study, found))
    return Section(
        KEY,
        TITLE,
        lead(study, found),
        facts=tuple(_figures(study, found)),
        body=tuple(part for part in (*tables, drawn) if part is not None),
        series=tuple(_series(study, found)),
        notes=tuple(notes(study, found)),
        untold=tuple(_untold(study, found)),
    )


def lead(study: LemonsStudy, found: Lemons) -> str:
    """Return what was found in one or two sentences."""
    at = found.lemons.tolist()
    rate = at_level(found.false_discovery_rate)
    if not int(found.own.sum()):
        return (
            f"No node failed, so none of {counted(len(found), 'nodes')} is worse than the others."
        )
    if not at:
        return (
            f"No node is worse than chance: the {counted(int(found.own.sum()), 'failures')} "
            f"fell on {counted(len(found), 'nodes')} as they would on identical nodes (false "
            f"discovery rate {rate})."
        )
    share = float(found.share[at].sum())
    time = float(found.node_days[at].sum() / found.node_days.sum())
    names = ", ".join(named(found.name[k]) for k in at[:3])
    more = f" and {len(at) - 3:,} more" if len(at) > 3 else ""
    verb = "fails" if len(at) == 1 else "fail"
    text = (
        f"{counted(len(at), 'nodes')} of {len(found):,} {verb} more than chance allows: {names}"
        f"{more}; {percent(share)} of all failures in {percent(time)} of the time in service."
    )
    if study.hours is None:
        return text
    saved = found.saved(study.hours)
    what = "node-hours of jobs" if study.of_jobs else "node-hours out of service"
    low, high = fixed((saved.low, saved.high))
    return (
        f"{text} Average nodes in their place would have saved {number(saved.value)} {what} "
        f"({low} to {high})."
    )


def named(name: str) -> str:
    """Return a node's name for a sentence: of a number, with what it is."""
    return f"node {name}" if name.isdecimal() else clean(name, 60)


def _figures(study: LemonsStudy, found: Lemons) -> list[Fact]:
    at = found.lemons
    n, level = int(found.own.sum()), found.level
    gone = found.gone
    shared = "failures of different nodes are independent once bursts count as one"
    figures = [
        Fact("lemon_nodes", "nodes that fail more than chance allows", len(at), "nodes",
             len(found), f"{shared}; false-discovery rate "
             f"{at_level(found.false_discovery_rate)}"),
        Fact("lemon_failure_share", "share of all failures on them",
             float(found.share[at].sum()) if n else None, "ratio", n,
             why="" if n else "no failure was seen"),
        figure("lemon_excess_share", "share of all failures beyond those of average nodes",
               gone if n else Interval(*[math.nan] * 3), "ratio", n,
               assumes="rates are shrunk toward the fleet's rate (empirical Bayes), because nodes "
               "picked as the worst were partly unlucky; clear outliers keep their own",
               level=level),
    ]  # fmt: skip
    if study.hours is not None:
        key, label = _saving(study)
        figures.append(
            figure(key, label, found.saved(study.hours), "node_hours", n,
                   assumes=_assumes(study), level=level)
        )  # fmt: skip
    held = found.held
    if held is not None and held.nodes:
        figures.append(
            figure("lemon_held_ratio",
                   "nodes named in the first half: their failures in the second, over those of "
                   "others",
                   held.ratio, "count", held.failures + held.others,
                   assumes="Poisson counts", level=level, why="no other node failed")
        )  # fmt: skip
    return figures


def _saving(study: LemonsStudy) -> tuple[str, str]:
    if study.of_jobs:
        return "lemon_job_savings", "node-hours of jobs that average nodes would have saved"
    return "lemon_downtime_savings", "node-hours out of service that average nodes would have saved"


def _assumes(study: LemonsStudy) -> str:
    if not study.of_jobs:
        return "each failure of a node costs the same time"
    minutes = study.asked.checkpoint_interval / 60
    return (
        f"jobs checkpoint every {number(minutes)} min and lose half of that, shorter ones all; "
        "each failure of a node costs the same"
    )


def _series(study: LemonsStudy, found: Lemons) -> list[Fact]:
    """Return of each lemon its rate and its q-value."""
    made = []
    for k in found.lemons.tolist():
        labels = {"node": found.name[k]}
        rate = Interval(float(found.shrunk[k]), float(found.low[k]), float(found.high[k]))
        made += [
            figure("lemon_node_failure_rate", f"expected failures of {found.name[k]}", rate,
                   "per_1000_node_days", int(found.own[k]), labels=labels, level=found.level),
            Fact("lemon_node_q_value", f"q-value of {found.name[k]}", float(found.q_value[k]),
                 "ratio", int(found.own[k]), labels=labels),
        ]  # fmt: skip
    return made


def notes(study: LemonsStudy, found: Lemons) -> list[str]:
    """Return assumptions and what else is to be known, in sentences."""
    watch = study.watch
    assert watch is not None
    made = []
    if len(found.kinds) > 1:
        made.append(
            f"Nodes are compared with those of their type ({len(found.kinds)} types by "
            f"{'hardware' if watch.hardware else 'partition'}); types of fewer than 10 nodes "
            "are merged."
        )
    bursts, again = int(found.in_bursts.sum()), int(found.again.sum())
    if bursts or again:
        made.append(
            f"Of {counted(int(found.failures.sum()), 'failures')}, {bursts:,} came together "
            f"with failures of other nodes and {again:,} within an hour of the node's return; "
            "these do not count against a node."
        )
    if len(found.spread) == 1 and found.spread[0].p_value <= 0.05:
        made.append(
            "Rates differ from node to node by more than chance (counts vary "
            f"{number(found.spread[0].ratio)} times as much as those of identical nodes would)."
        )
    held = found.held
    if held is not None and held.nodes:
        made.append(
            f"Out-of-sample test: the {counted(held.nodes, 'nodes')} named from the first half "
            f"of the records had {held.failures:,} failures in the second, where other nodes "
            f"would have had {number(held.expected)}: {_times(held.ratio)}."
            + ("" if held.ratio.low > 1 else " These records do not show that lemons stay lemons.")
        )
    elif held is not None:
        made.append("From the first half of the records alone, no node would have been named.")
    else:
        made.append("Too few failures for an out-of-sample test on the second half of the records.")
    if watch.basis == "runs" and watch.runs is not None:
        made.append(
            f"Failures are known from runs only: {watch.runs.untold:,} of "
            f"{counted(len(watch.runs), 'runs')} had several nodes, any of which may have "
            "failed; they count for none of them. Nodes that ran more jobs show more of their "
            "failures."
        )
    return made


def _times(ratio: Interval) -> str:
    if not math.isfinite(ratio.value):
        return "no other node failed"
    high = f"to {number(ratio.high)}" if math.isfinite(ratio.high) else "or more"
    return f"{number(ratio.value)} times as many ({number(ratio.low)} {high})"


def _untold(study: LemonsStudy, found: Lemons) -> list[Untold]:
    told: list[Untold] = []
    by_remedy: dict[str, list[str]] = {}
    for name in found.signals.missing:
        what, remedy = REMEDIES[name]
        by_remedy.setdefault(remedy, []).append(f"{what} ({name})")
    for remedy, several in by_remedy.items():
        told.append(Untold(f"Per node: {', '.join(several)}", "not in the records", remedy))
    if study.hours is None and len(found.lemons):
        why = "the records have neither the jobs lost with failures nor times out of service"
        told.append(Untold("What lemons cost", why, "sacct with node lists, or repair times"))
    return told


def advice(study: LemonsStudy) -> tuple[Advice, ...]:
    """Return the nodes to look at first, each with what it would have saved."""
    found = study.found
    if found is None:
        return ()
    made = []
    for k in _first(study, found):
        name = named(found.name[k])
        saved = None
        if study.hours is not None and math.isfinite(float(study.hours[k])):
            saved = found.saved(study.hours, np.array([k]))
        text = f"Look at {name}: repair or replace it."
        because = f"{_too_many(found, k)} {_reasons(found, k)}".rstrip()
        made.append(
            Advice(
                "node",
                text,
                None if saved is None else saved.value,
                because,
                _assumes(study) if study.hours is not None else "",
                None if saved is None else saved.low,
                None if saved is None else saved.high,
                {"node": found.name[k]},
            )
        )
    return tuple(made)


def _first(study: LemonsStudy, found: Lemons) -> list[int]:
    """Return the lemons to look at first: those that cost most, where that is told, else the
    worst."""
    at: list[int] = found.lemons.tolist()
    if study.hours is not None:
        saved = {k: found.saved(study.hours, np.array([k])).value for k in at}
        at.sort(key=lambda k: -saved[k])
    return at[:ADVISED]


def _too_many(found: Lemons, k: int) -> str:
    """Return how many failures of a node are beyond those of an average node: what can be told by
    subtraction, and what is left of it where the node was picked out of many."""
    own, usual = int(found.own[k]), float(found.usual[k])
    value, *ends = (float(part[k]) for part in (found.excess, found.excess_low, found.excess_high))
    low, high = fixed(ends)
    text = (
        f"{counted(own, 'failures')} of its own, where an average node had {number(usual)} (q = "
        f"{found.q_value[k]:.2g}): {number(max(own - usual, 0.0))} too many"
    )
    if found.beyond[k]:
        return f"{text} ({low} to {high})."
    return f"{text}, or {number(value)} ({low} to {high}) after allowing for luck."


def _reasons(found: Lemons, k: int) -> str:
    """Return what else speaks against a node."""
    values = found.signals.row(int(found.node[k]))
    said_of = (
        ("excl_jobid_count", "job that excluded it", "jobs that excluded it"),
        ("xid_cnt", "outage with a GPU error", "outages with a GPU error"),
        ("tickets", "ticket", "tickets"),
        ("multi_node_node_fails", "multi-node run that it ended",
         "multi-node runs that it ended"),
        ("single_node_node_fails", "single-node run that it ended",
         "single-node runs that it ended"),
    )  # fmt: skip
    parts = [
        f"{values[name]:,} {one if values[name] == 1 else several}"
        for name, one, several in said_of
        if values[name]
    ]
    return f"Also: {', '.join(parts)}." if parts else ""
