"""What a controller tells Prometheus: figures of its desk and its ledger at each scrape.

Labels have few values, known beforehand: there are none of users, jobs or nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

from forestall.__about__ import __version__
from forestall.core.model.errors import ForestallError
from forestall.core.model.faults import LookError, LookFault
from forestall.core.model.ledger import OUTCOMES
from forestall.core.model.live.counts import TENTHS, LedgerCounts
from forestall.core.model.live.desk import ClusterTold, Desk, NodeTold, Viewer
from forestall.core.model.live.intents import IntentState, Role

VIEWER: Final = Viewer("forestall", "operator")
STATES: Final = (
    "allocated", "completing", "down", "error", "future", "idle", "mixed", "planned", "reserved",
    "unknown", "other",
)  # fmt: skip
"""Slurm's base states of nodes, in small letters; any other word is "other"."""
RISKS: Final = ((0.001, "below 0.1 %"), (0.01, "0.1 to 1 %"), (0.05, "1 to 5 %"),
                (0.2, "5 to 20 %"), (2.0, "20 % and more"))  # fmt: skip
"""Probabilities that a node fails within 24 h: upper ends (exclusive) and labels."""
UNKNOWN_RISK: Final = "unknown"
SWITCHES: Final = ("off", "approve", "on")
WAYS: Final = ("mail", "webhook")
SENT: Final = ("sent", "failed", "given up")

Families = Iterator[Any]


class ControllerFigures:
    """Collects the figures at each scrape; what cannot be had is left out, and `forestall_up` says
    so.

    Parameters
    ----------
    desk : the controller's
    counts : returns the counts of its ledger
    messages : returns how many messages were sent, failed or given up, by way
    """

    def __init__(
        self,
        desk: Desk,
        counts: Callable[[], LedgerCounts],
        messages: Callable[[], Mapping[tuple[str, str], int]] = dict,
    ) -> None:
        self._desk, self._counts, self._messages = desk, counts, messages

    def describe(self) -> Families:
        """Return nothing: names are known when they are collected."""
        return iter(())

    def collect(self) -> Families:
        """Yield all figures."""
        up = gauge("forestall_up", "Whether a part of the controller answers: 1, else 0.", "part")
        parts: dict[str, Callable[[], list[Any]]] = {
            "desk": lambda: list(_of_cluster(self._desk.cluster(VIEWER))),
            "slurm": self._slurm,
            "nodes": lambda: list(_of_nodes(self._desk.nodes(VIEWER))),
            "ledger": lambda: list(_of_ledger(self._counts())),
        }
        for part, ask in parts.items():
            try:
                yield from ask()
            except ForestallError:
                up.add_metric([part], 0)
            else:
                up.add_metric([part], 1)
        yield up
        yield from _of_messages(self._messages())

    def _slurm(self) -> list[Any]:
        """Raise LookError where the cluster is out of sight."""
        told = self._desk.cluster(VIEWER)
        if told.is_blind:
            raise LookError(LookFault.UNAVAILABLE, "cluster", told.said or "not read lately")
        return []


def gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    """Return a figure with labels, to be filled in."""
    return GaugeMetricFamily(name, text, labels=labels)


def counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
    """Return a count with labels, to be filled in."""
    return CounterMetricFamily(name, text, labels=labels)


def _of_cluster(told: ClusterTold) -> Families:
    info = InfoMetricFamily("forestall_controller", "The controller.")
    info.add_metric([], {"version": __version__, "simulated": str(told.simulated).lower()})
    yield info
    plain = {
        "forestall_clock_timestamp_seconds": ("The controller's clock.", told.now),
        "forestall_cycle_seconds": ("Duration of the last cycle.", told.cycle_s),
        "forestall_nodes_in_service": ("Nodes on which jobs may start.", told.up),
        "forestall_nodes_busy": ("Nodes on which jobs run.", told.busy),
        "forestall_promises_open": ("Promises without an outcome yet.", told.promises_open),
        "forestall_proposals_open": ("Proposals that await approval.", told.proposals_open),
    }
    for name, (text, value) in plain.items():
        yield GaugeMetricFamily(name, text, float(value))
    if told.looked is not None:
        text = "Time since the cluster was last read completely."
        yield GaugeMetricFamily("forestall_look_age_seconds", text, float(told.now - told.looked))
    yield CounterMetricFamily("forestall_cycles", "Cycles since the start.", float(told.cycle))
    jobs = gauge("forestall_cluster_jobs", "Jobs of the cluster, all users'.", "state")
    jobs.add_metric(["waiting"], told.waiting)
    jobs.add_metric(["running"], told.running)
    yield jobs
    switches = gauge("forestall_role_switch", "1 for the position of a role's switch.",
                     "role", "switch")  # fmt: skip
    for role in Role:
        for switch in SWITCHES:
            switches.add_metric([role, switch], float(told.roles.get(role) == switch))
    yield switches


def _of_nodes(told: list[NodeTold]) -> Families:
    states = Counter(state_of(one.state) for one in told)
    family = gauge("forestall_nodes", "Nodes by Slurm's state, without its flags.", "state")
    for state in STATES:
        family.add_metric([state], states[state])
    yield family
    risks = Counter(risk_of(one.reliability) for one in told if one.in_service)
    text = "Nodes in service, by the probability that they fail within 24 h."
    family = gauge("forestall_nodes_at_risk", text, "risk")
    for risk in (*(name for _, name in RISKS), UNKNOWN_RISK):
        family.add_metric([risk], risks[risk])
    yield family


def state_of(word: str) -> str:
    """Return the base state in Slurm's word for a node: one of `STATES`."""
    base = word.partition("+")[0].strip("*~#!%$@^-").lower()
    return base if base in STATES else "other"


def risk_of(reliability: float | None) -> str:
    """Return the label for the risk of a node."""
    if reliability is None:
        return UNKNOWN_RISK
    return next(name for most, name in RISKS if 1 - reliability < most)


def _of_ledger(counts: LedgerCounts) -> Families:
    rows = counter("forestall_ledger_rows", "Rows of the ledger, by table.", "table")
    for table, count in counts.rows.items():
        rows.add_metric([table], count)
    yield rows
    looks = counter("forestall_looks", "Reads of the cluster's state: whole or failed.", "result")
    looks.add_metric(["whole"], counts.looks.get(True, 0))
    looks.add_metric(["failed"], counts.looks.get(False, 0))
    yield looks
    states = counter("forestall_intent_states", "How often intents entered a state.",
                     "role", "state")  # fmt: skip
    for role in (Role.KEEPER, Role.WARDEN):
        for state in IntentState:
            value = counts.states.get((str(role), str(state)), 0)
            states.add_metric([role, state.value.replace(" ", "_")], value)
    yield states
    yield from _of_promises(counts)


def _of_promises(counts: LedgerCounts) -> Families:
    names = [f"{k / TENTHS:.1f}-{(k + 1) / TENTHS:.1f}" for k in range(TENTHS)]
    made = counter("forestall_promises_made", "Promises by stated probability.", "decile")
    ended = counter("forestall_promises_ended",
                    "Promises that are over, by outcome and stated probability.",
                    "decile", "outcome")  # fmt: skip
    kept = gauge("forestall_promises_kept_ratio", "Kept, as a share of those kept or missed.",
                 "decile")  # fmt: skip
    said = gauge("forestall_promises_said_ratio", "Mean stated probability of those.", "decile")
    for tenth, name in enumerate(names):
        made.add_metric([name], counts.made.get(tenth, 0))
        for outcome in OUTCOMES[1:]:  # open ones are not over
            ended.add_metric([name, outcome], counts.ended.get((tenth, outcome), 0))
        share, mean = counts.kept_share(tenth), counts.said_mean(tenth)
        if share is not None and mean is not None:
            kept.add_metric([name], share)
            said.add_metric([name], mean)
    yield from (made, ended, kept, said)
    if counts.calibration_error is not None:
        text = "Mean difference between observed share and stated probability, over all promises."
        yield GaugeMetricFamily("forestall_calibration_error_ratio", text, counts.calibration_error)


def _of_messages(told: Mapping[tuple[str, str], int]) -> Families:
    family = counter("forestall_messages", "Messages to people, by way and result.",
                     "way", "result")  # fmt: skip
    for way in WAYS:
        for result in SENT:
            family.add_metric([way, result.replace(" ", "_")], told.get((way, result), 0))
    yield family
