"""Whatever the limits and the cluster: what passes one after another never exceeds them.

The bounds are counted here from what came of it, not by the guard's own functions.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.live.intents import Action, Intent
from forestall.live.guard.guard import Doings, Pass, guard
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.guard.sight import ClusterSight, NodeSight, ReservationSight

NOW = 1_000_000
PARTITIONS = st.sampled_from([("a",), ("b",), ("a", "b"), ()])
PERSONS = st.sampled_from(
    [{}, {}, {}, {"down": True}, {"drained": True, "reason": "Ann"}, {"reserved": True}]
)
ROLES = st.builds(
    RoleSettings,
    switch=st.just("on"),
    nodes=st.integers(0, 8),
    percent=st.sampled_from([0.0, 1.5, 10.0, 33.4, 100.0]),
    partition_nodes=st.integers(0, 8),
    partition_percent=st.sampled_from([0.0, 12.5, 50.0, 100.0]),
    per_hour=st.integers(0, 12),
    cool_down=st.sampled_from([0, 600]),
)
SETTINGS = st.builds(
    GuardSettings,
    floor_nodes=st.integers(0, 4),
    floor_percent=st.sampled_from([0.0, 50.0, 87.5]),
    keeper=ROLES,
    warden=ROLES,
)
CLUSTERS = st.lists(st.tuples(PARTITIONS, PERSONS), min_size=1, max_size=16)


def cluster_of(given_nodes: list[tuple[tuple[str, ...], dict[str, object]]]) -> ClusterSight:
    nodes = {
        f"n{k}": NodeSight(partitions, **changed)  # type: ignore[arg-type]
        for k, (partitions, changed) in enumerate(given_nodes)
    }
    return ClusterSight(NOW, nodes=nodes)


@given(CLUSTERS, SETTINGS, st.lists(st.integers(0, 15), max_size=30), st.booleans())
def test_drains(
    nodes: list[tuple[tuple[str, ...], dict[str, object]]],
    settings: GuardSettings,
    wanted: list[int],
    seen: bool,
) -> None:
    first = sight = cluster_of(nodes)
    written: list[tuple[Intent, int]] = []
    for number, k in enumerate(wanted):
        name = f"n{k}"
        one = Intent(
            Action.DRAIN, name, NOW - 9, NOW + 9, sight.standing(Action.DRAIN, name), "why",
            cycle=number,
        )  # fmt: skip
        half_way = () if seen else tuple(one for one, _ in written)
        if guard(one, sight, Doings(half_way, tuple(written)), settings, NOW).kind == Pass.GO:
            written.append((one, NOW))
            if seen:  # the next look shows it
                node = sight.nodes[name]._replace(drained=True, reason=one.words)
                sight = replace(sight, nodes={**sight.nodes, name: node})
    drained = {one.target for one, _ in written}
    limits = settings.warden
    assert len(written) == len(drained) <= limits.per_hour
    for name in drained:
        assert first.nodes[name].in_service or first.nodes[name].down
        assert not first.nodes[name].reserved
    for part in ("", "a", "b"):
        members = [n for n, one in first.nodes.items() if not part or part in one.partitions]
        ours = drained & set(members)
        most = limits.partition_nodes if part else limits.nodes
        percent = limits.partition_percent if part else limits.percent
        assert len(ours) <= most
        assert len(ours) <= allowed(len(members), percent)
        left = [n for n in members if first.nodes[n].in_service and n not in drained]
        if any(first.nodes[n].in_service for n in ours):
            assert len(left) >= settings.floor_nodes
            assert len(left) >= len(members) - allowed(len(members), 100 - settings.floor_percent)


def allowed(members: int, percent: float) -> int:
    """Return how many nodes a percentage is: rounded down, but one at least."""
    whole = int(members * percent / 100 + 1e-6)
    return 1 if whole == 0 and percent > 0 and members else whole


@given(CLUSTERS, SETTINGS, st.lists(st.tuples(st.integers(1, 6), PARTITIONS), max_size=20))
def test_reservations(
    nodes: list[tuple[tuple[str, ...], dict[str, object]]],
    settings: GuardSettings,
    wanted: list[tuple[int, tuple[str, ...]]],
) -> None:
    sight = cluster_of(nodes)
    written: list[tuple[Intent, int]] = []
    doings = Doings(consents={"p1": frozenset()})
    for number, (size, partitions) in enumerate(wanted):
        where = partitions[0] if partitions else ""
        one = Intent(
            Action.RESERVE, f"forestall_{number}", NOW - 9, NOW + 9, "gone", "why", size=size,
            partition=where, promise="p1",
        )  # fmt: skip
        now = replace(doings, written=tuple(written))
        if guard(one, sight, now, settings, NOW).kind == Pass.GO:
            written.append((one, NOW))
            if number % 2:
                made = {**sight.reservations, one.target: ReservationSight(size, where)}
                sight = replace(sight, reservations=made)
    limits = settings.keeper
    assert len(written) <= limits.per_hour
    for part in ("", "a", "b"):
        members = [n for n, one in sight.nodes.items() if not part or part in one.partitions]
        held = sum(one.size for one, _ in written if part in {"", one.partition})
        assert held <= (limits.partition_nodes if part else limits.nodes)
        percent = limits.partition_percent if part else limits.percent
        assert held <= allowed(len(members), percent)
