"""What other rules on nodes would have drained, as a section of a replay's report."""

from __future__ import annotations

from typing import Any, Final

from forestall.core.proportions import wilson
from forestall.core.show.blocks import Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact
from forestall.core.show.quantities import counted, percent
from forestall.core.show.report import Section
from forestall.live.replays.ruled import DrainOtherwise, RuledAgain
from forestall.live.report.moments import MOST, moment, of_all

_HOUR: Final = 3600
NOT_KNOWN: Final = (
    "Only the rule `risk` is replayed. Of the others a ledger holds only the proposals, so a "
    "rule that was off cannot be tried. Unknown: which predictor foresaw a failure, so all "
    "forecasts share one trust; whether a person and the guard would have approved; jobs that "
    "shared nodes; whether other nodes were free for jobs that would have run elsewhere; "
    "failures that a drain or reboot would have prevented."
)


def rules_section(ruled: RuledAgain) -> Section:
    """Return what other rules would have drained, and what the record says of that."""
    new = ruled.new
    came = sum(one.came for one in new)
    saved, spent = (sum(getattr(one, name) for one in new) / _HOUR for name in ("saved", "spent"))
    count = counted(len(ruled.drains), "drains")
    lead = f"These rules would have proposed {count} before foreseen failures"
    lead += f"; {len(ruled.drains) - len(new):,} of them for nodes that were out of service then."
    if new:
        low, high = wilson(came, len(new))
        lead += (
            f" Of the {len(new):,} others {came:,} failed in time ({percent(came / len(new))}, "
            f"95 % interval {percent(low)} to {percent(high)}): the drains would have saved "
            f"{saved:,.1f} node-h of work that was lost there, and would have moved or delayed "
            f"{spent:,.1f} node-h."
        )
    body = [*_proposed(ruled), *_drains(ruled)]
    facts = (
        Fact("drains_otherwise", "Drains with these rules", len(ruled.drains), "count"),
        Fact("failures_in_time", "Failures of drained nodes", ruled.came, "count"),
        Fact("failures_seen", "Failures seen", ruled.failures, "count"),
    )
    return Section("rules", "With other rules on nodes", lead, facts, tuple(body),
                   notes=(NOT_KNOWN,))  # fmt: skip


def _proposed(ruled: RuledAgain) -> list[Table]:
    rows = [
        (rule, f"{count:,}", f"{count - ruled.left_out.get(rule, 0):,}")
        for rule, count in sorted(ruled.proposed.items())
    ]
    caption = "Drains proposed, and how many of them these rules would propose again"
    heads = ("Rule", "Proposed", "Otherwise")
    return [Table.of("proposed", heads, rows, right=(1, 2), caption=caption)] if rows else []


def _drains(ruled: RuledAgain) -> list[Table]:
    shown = ruled.drains[:MOST]
    rows = [
        (moment(one.at)[:16], clean(one.node, 18), percent(one.probability),
         moment(one.fails_at)[11:16],
         "yes" if one.came else "no", "yes" if one.also else "no", f"{one.saved / _HOUR:,.2f}",
         f"{one.spent / _HOUR:,.2f}")
        for one in shown
    ]  # fmt: skip
    heads = ("When (UTC)", "Node", "Foreseen", "For", "Failed", "Out then", "Saves, node-h",
             "Costs, node-h")  # fmt: skip
    caption = f"Drains with these rules: {of_all(len(shown), len(ruled.drains))}"
    records = [drain_row(one) for one in shown]
    if not rows:
        return []
    return [Table.of("drains", heads, rows, records, right=(2, 6, 7), caption=caption)]


def drain_row(one: DrainOtherwise) -> dict[str, Any]:
    """Return a drain that other rules would have wanted as plain values."""
    return {
        "at_s": one.at, "node": one.node, "probability": one.probability,
        "fails_at_s": one.fails_at, "until_s": one.until, "failed": one.came,
        "out_then": one.also, "saved_node_s": one.saved, "spent_node_s": one.spent,
    }  # fmt: skip
