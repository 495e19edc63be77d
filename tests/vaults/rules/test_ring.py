"""Who goes on with what after ranks were lost, against the model of the ring and plain counting."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.reliability.systems.ring import holders, recoverable
from forestall.vaults.rules.ring import HeldStep, StepKey, Survivor, plan_recovery, share_out

OLD, NEW = StepKey(0, 4), StepKey(0, 5)


def survivors_of(size: int, lost: set[int], spares: int, newer: set[int]) -> list[Survivor]:
    """Those that are left of a ring with a complete step, and a newer one that only some have of
    themselves."""
    found = []
    for rank in range(size):
        held = frozenset(p for p in range(size) if rank in holders(p, size, 3))
        steps = {OLD: HeldStep(size, held, (rank,))}
        if rank in newer:
            steps[NEW] = HeldStep(size, frozenset({rank}), (rank,))
        if rank not in lost:
            found.append(Survivor(rank, steps, complete=True))
    return found + [Survivor(None)] * spares


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(1, 9), st.integers(0, 3))
def test_it_goes_on_where_the_ring_can_be_recovered(
    data: st.DataObject, size: int, spares: int
) -> None:
    lost = data.draw(st.sets(st.integers(0, size - 1), max_size=size))
    newer = data.draw(st.sets(st.integers(0, size - 1), max_size=size))
    survivors = survivors_of(size, lost, spares, newer)
    if not survivors:
        return
    plan = plan_recovery(survivors, size)
    whole_newer = newer == set(range(size)) and not lost
    assert (plan.key is not None) == recoverable(sorted(lost), size, 3)
    working = [k for k, rank in enumerate(plan.ranks) if rank is not None]
    assert sorted(r for r in plan.ranks if r is not None) == list(range(plan.size))
    assert plan.size == min(size, size - len(lost) + spares)
    if plan.key is None:
        if len(lost) < size:
            assert plan.lost
        return
    assert plan.key == (NEW if whole_newer else OLD)
    assert plan.parts == size == len(plan.owners) == len(plan.sources)
    for part, (owner, source) in enumerate(zip(plan.owners, plan.sources, strict=True)):
        assert owner in working
        assert part in survivors[source].steps[plan.key].held
        if part not in lost:
            assert survivors[owner].rank == part
            assert source == owner
    taken = [k for k in working if survivors[k].rank is None]
    if len(lost) <= spares:  # each place has one that takes it, and goes on with what was there
        assert [survivors[plan.owners[p]].rank for p in sorted(lost)] == [None] * len(lost)
        assert [plan.owners[p] for p in sorted(lost)] == taken
        assert [plan.ranks[plan.owners[p]] for p in range(size)] == list(range(size))


def test_without_spares_neighbours_share_what_is_left() -> None:
    plan = plan_recovery(survivors_of(6, {1, 4}, 0, set()), 6)
    assert [[0, 2, 3, 5][k] for k in plan.owners] == [0, 2, 2, 3, 5, 5]
    assert plan.ranks == (0, 1, 2, 3)


def test_before_the_first_save_nothing_is_lost() -> None:
    plan = plan_recovery([Survivor(0), Survivor(2), Survivor(None)], 3)
    assert (plan.key, plan.lost, plan.ranks) == (None, (), (0, 2, 1))


def test_a_first_save_that_came_to_no_end_is_as_if_it_had_not_begun() -> None:
    begun = {NEW: HeldStep(3, frozenset({1}), (1,))}
    plan = plan_recovery([Survivor(1, begun), Survivor(2)], 3)
    assert (plan.key, plan.lost, plan.ranks) == (None, (), (0, 1))


def test_parts_that_were_taken_over_stay_where_they_are() -> None:
    """After a shrink three parts lie on two ranks; the next loss finds them by who holds them."""
    key = StepKey(1, 8)
    every = frozenset({0, 1, 2})
    left = [Survivor(1, {key: HeldStep(3, every, (1, 2))}), Survivor(None)]
    plan = plan_recovery(left, 2)
    assert plan.owners == (1, 0, 0)
    assert plan.sources == (0, 0, 0)
    assert plan.ranks == (1, 0)


@given(st.integers(1, 40), st.integers(1, 12))
def test_parts_are_shared_out_evenly(parts: int, size: int) -> None:
    owners = share_out(parts, size)
    assert len(owners) == parts
    assert list(owners) == sorted(owners)
    counts = [owners.count(rank) for rank in range(size)]
    assert max(counts) - min(counts) <= 1
