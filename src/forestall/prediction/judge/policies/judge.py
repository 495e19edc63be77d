"""Policies against leaking memory, played on generated machines beside the same machines left
alone, and what static counting says of them.

A record of a machine on which nothing was done cannot say what acting would have changed (Brandt et
al., Section 6): a node that is cleaned stays clean, so later idle periods no longer ask for an
action, and later jobs no longer die. Static counting takes every idle period of the record beyond
the threshold for an action, and every death after one for prevented.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.special import stdtrit

from forestall.core.kit.progress import Progress
from forestall.core.kit.versions import of_fits
from forestall.core.model.arrays import Floats
from forestall.logs.generate.memory import MemoryMachine, memory_machine
from forestall.logs.generate.memory_world import NOTHING, MemoryFate, MemoryPolicy
from forestall.prediction.assess.benefit import MONTH_HOURS
from forestall.prediction.judge.policies.report import verdict
from forestall.prediction.judge.questions import PolicySettings
from forestall.reliability.report.fit.fit import finite

HOUR: Final = 3600


class PolicyAccount(NamedTuple):
    """What came of a machine; node-hours.

    Attributes
    ----------
    killed : jobs that memory killed; lost : their node-hours
    waited : node-hours of campaigns, for as long as they began later than left alone
    actions : how often one acted; out : how long nodes were out of service for it
    static_actions, static_saved : actions, and what they save, as counted in the record of the
        machine left alone; nan where a policy does not act on what is seen
    """

    killed: float
    lost: float
    waited: float
    actions: float
    out: float
    static_actions: float
    static_saved: float


def policies_of(asked: PolicySettings) -> tuple[MemoryPolicy, ...]:
    """Return the policies that were asked for, those by a metric once for each threshold."""
    hold = {
        "reboot": MemoryPolicy("reboot", seconds=asked.reboot),
        "clear": MemoryPolicy("clear", seconds=asked.clear, gives_back=asked.clear_share),
        "drain": MemoryPolicy("drain", seconds=asked.drain),
    }
    always = replace(hold["reboot"], threshold=-math.inf)
    plain = {
        "nothing": NOTHING,
        "routine": replace(always, name="routine"),
        "random": replace(always, name=f"random {100 * asked.share:g} %", share=asked.share),
        "steer": MemoryPolicy("steer", steers=True),
    }
    return tuple(
        one
        for name in asked.policies
        for one in (
            (plain[name],)
            if name in plain
            else (replace(hold[name], threshold=at, name=f"{name} from {at:g}")
                  for at in asked.thresholds)
        )
    )  # fmt: skip


def account(machine: MemoryMachine, policy: MemoryPolicy, alone: MemoryFate) -> PolicyAccount:
    """Play a policy on a machine, which was left alone too, and return what came of it."""
    fate = alone if policy == NOTHING else machine.lived(policy)
    plan = machine.plan
    size = np.array([len(held) for held in plan.nodes_of])
    first = np.searchsorted(plan.campaign, np.arange(len(size)))
    acted = sum(acts for *_, acts in fate.looks)
    counted, saved = _static(machine, policy, alone)
    return PolicyAccount(
        killed=float(fate.killed.sum()),
        lost=float(_work(machine)[fate.killed].sum()),
        waited=float(np.dot(fate.begun - plan.start[first], size)) / HOUR,
        actions=float(acted),
        out=acted * policy.seconds / HOUR,
        static_actions=counted,
        static_saved=saved,
    )


def _work(machine: MemoryMachine) -> Floats:
    """Return the node-hours of each job."""
    plan = machine.plan
    size = np.array([len(held) for held in plan.nodes_of])[plan.campaign]
    work: Floats = size * (plan.end - plan.start) / HOUR
    return work


def _static(machine: MemoryMachine, policy: MemoryPolicy, alone: MemoryFate) -> tuple[float, float]:
    """Return the actions, and the node-hours saved by them, of static counting."""
    if policy.threshold == math.inf:
        return math.nan, math.nan
    time = np.array([look[0] for look in alone.looks])
    node = np.array([look[1] for look in alone.looks])
    beyond = np.array([look[2] for look in alone.looks]) >= policy.threshold
    order = np.lexsort((time, node))
    key = node[order] * (machine.length + 1) + time[order]
    killed = np.flatnonzero(alone.killed)
    begun = alone.begun[machine.plan.campaign[killed]]
    last = np.searchsorted(key, alone.worst[killed] * (machine.length + 1) + begun) - 1
    same = (last >= 0) & (node[order][last] == alone.worst[killed])
    saved = _work(machine)[killed][same & beyond[order][last]].sum()
    return policy.share * float(beyond.sum()), policy.share * float(saved)


@dataclass(frozen=True)
class PolicyStudy:
    """What policies are worth: `accounts` by policy, one for each machine, in one order."""

    asked: PolicySettings
    policies: tuple[MemoryPolicy, ...]
    alone: tuple[PolicyAccount, ...]
    accounts: tuple[tuple[PolicyAccount, ...], ...]
    summary: dict[str, Any] = field(default_factory=dict)


def play_policies(
    asked: PolicySettings, progress: Progress = lambda done, total: None
) -> PolicyStudy:
    """Play policies on generated machines, each beside the same machine left alone.

    Raises ParameterError for what cannot be asked. Machine k has the seed `asked.seed` + k; what is
    drawn for its jobs does not depend on the policy, so differences are paired.
    """
    policies = policies_of(asked)
    rows: list[list[PolicyAccount]] = [[] for _ in policies]
    left: list[PolicyAccount] = []
    for k in range(asked.machines):
        machine = memory_machine(
            asked.seed + k, nodes=asked.nodes, days=asked.days, relation=asked.relation,
            load=asked.load, period=asked.period,
        )  # fmt: skip
        alone = machine.lived()
        left.append(account(machine, NOTHING, alone))
        for row, policy in zip(rows, policies, strict=True):
            row.append(account(machine, policy, alone))
        progress(k + 1, asked.machines)
    found = PolicyStudy(asked, policies, tuple(left), tuple(map(tuple, rows)))
    found.summary.update(summary_of(found))
    return found


def interval(values: Floats, level: float) -> list[float | None]:
    """Return the ends of Student's interval of a mean; None twice for fewer than two values."""
    if len(values) < 2:
        return [None, None]
    half = stdtrit(len(values) - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(len(values))
    mean = float(values.mean())
    return [mean - float(half), mean + float(half)]


def summary_of(found: PolicyStudy) -> dict[str, Any]:
    """Return everything as JSON has it; node-hours are a month of one machine."""
    asked = found.asked
    month = MONTH_HOURS / (asked.days * 24)
    lost = np.array([one.lost for one in found.alone])
    rows = [
        _row(policy, accounts, lost, month, asked)
        for policy, accounts in zip(found.policies, found.accounts, strict=True)
    ]
    summary: dict[str, Any] = finite({
        "verdict": "",
        "machines": asked.machines,
        "nodes": asked.nodes,
        "days": asked.days,
        "killed_alone": float(np.mean([one.killed for one in found.alone])),
        "lost_alone_per_month_node_hours": float(lost.mean()) * month,
        "policies": rows,
        "level": asked.level,
        "remarks": [],
        "parameters": {name: getattr(asked, name) for name in asked.__dataclass_fields__},
        "versions": of_fits(),
    })  # fmt: skip
    summary["verdict"] = verdict(summary)
    return summary


def _row(
    policy: MemoryPolicy,
    accounts: Sequence[PolicyAccount],
    lost: Floats,
    month: float,
    asked: PolicySettings,
) -> dict[str, Any]:
    table = np.array(accounts)
    mean = dict(zip(PolicyAccount._fields, table.mean(axis=0).tolist(), strict=True))
    saved = lost - table[:, 1]
    net = (saved - table[:, 2] - asked.action_cost * table[:, 3]) * month
    static = mean["static_saved"] - asked.action_cost * mean["static_actions"]
    whole = float(lost.sum())
    return {
        "policy": policy.name,
        "threshold": policy.threshold if math.isfinite(policy.threshold) else None,
        "killed": mean["killed"],
        "saved_share": float(saved.sum()) / whole if whole else None,
        "saved_per_month_node_hours": float(saved.mean()) * month,
        "waited_per_month_node_hours": mean["waited"] * month,
        "actions": mean["actions"],
        "out_node_hours": mean["out"],
        "net_per_month_node_hours": float(net.mean()),
        "net_per_month_ci_node_hours": interval(net, asked.level),
        "static_actions": mean["static_actions"],
        "static_saved_share": mean["static_saved"] * len(lost) / whole if whole else None,
        "static_net_per_month_node_hours": static * month,
    }
