"""What the seeded scenarios must find: a controller, or a world, that breaks one of their rules;
and that what the rules are about does happen in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from forestall.live.act.executor import Executor
from forestall.live.desk import promises
from forestall.live.slurm import actor, keeping, outcomes, quoting
from forestall.slurm.cluster import standing
from forestall.slurm.simulation.state import SlurmState
from live.slurm.scenarios import EXPEDITED_SEEDS, LIMITED_SEEDS, play, play_small

MOST = 600
Rule = tuple[Any, str, Callable[..., Any], tuple[int, ...], str]
ANY = tuple(range(11))


def _none(*_: object) -> str:
    return ""


def _given_up(one: Any, job: Any, runs: Any, seen: Any, now: int) -> Any:
    """A job that was queued again is taken for lost."""
    lost = outcomes.OutcomeRow(one.promise.id, now, "missed", "failure", -1)
    return lost if job.restarts else _of_job(one, job, runs, seen, now)


_of_job = outcomes._of_job


def _usable(state: SlurmState, name: str) -> bool:
    """Nodes that are kept for one job are given to another."""
    idle = name not in state.holder and name not in state.dead
    return idle and state.nodes[name].in_service


def _taken(action: Any, node: Any) -> standing.Standing:
    """A reboot is done as soon as Slurm has taken it up."""
    return standing.Standing.DONE if node.ours == action.id else standing.Standing.OPEN


BROKEN: dict[str, Rule] = {
    "offers know no limits of their partition": (
        quoting, "broken_limits", lambda *_: iter(()), LIMITED_SEEDS, "breaks Partition",
    ),
    "an offer is taken whatever has changed": (
        quoting.Quoting, "holds_still", lambda *_: True, LIMITED_SEEDS, "breaks Part|held beyond",
    ),
    "offers are held beyond what the guard allows": (
        Executor, "limit_on", _none, ANY, "is held beyond",
    ),
    "nobody says that a partition stops a promise's job": (
        promises, "stopped", _none, LIMITED_SEEDS, "is told as",
    ),
    "nobody says that a start is held no more": (
        promises, "_unheld", _none, ANY, "no reservation holds|its start is not held",
    ),
    "the reservation of a job that may not start is kept": (
        keeping, "stopped", _none, LIMITED_SEEDS, "holds a job that may not start",
    ),
    "a partition's limits are no cause": (
        outcomes, "stopped", _none, LIMITED_SEEDS, "cause='longer wait'",
    ),
    "a job that was queued again is given up": (
        outcomes, "_of_job", _given_up, EXPEDITED_SEEDS, "and what is true",
    ),
    "nodes that are kept for a job launch other work": (
        SlurmState, "usable", _usable, EXPEDITED_SEEDS, "is kept for job|free or not",
    ),
    "a job that its owner submits wrongly counts": (
        outcomes, "mismatch", _none, ANY, "and what is true",
    ),
    "a reboot is done when Slurm has taken it up": (
        standing, "_reboot", _taken, ANY, "no reboot of",
    ),
    "a job that is sent elsewhere may start where it was": (
        actor, "avoided", lambda _: (), ANY, "leaves",
    ),
}  # fmt: skip
"""What is patched, by what it does; the seeds in which it shows, of eleven; and what is said."""


@pytest.mark.parametrize("name", BROKEN)
def test_scenarios_find_rules_that_are_not_kept(name: str) -> None:
    what, place, broken, among, said = BROKEN[name]
    seeds = (seed for seed in range(MOST) if seed % 11 in among)
    with mock.patch.object(what, place, broken), pytest.raises(AssertionError, match=said):
        list(map(play_small, seeds))


def test_what_the_rules_are_about_happens() -> None:
    seen: Counter[str] = Counter()
    for seed in range(0, 330):
        if seed % 11 in {*LIMITED_SEEDS, *EXPEDITED_SEEDS}:
            seen += play_small(seed).happened()
    for what in (
        "limits changed", "no offer: a limit", "promise stopped by a limit", "refused by a limit",
        "expedited requeue", "requeued and held", "restarted at once", "submitted by its owner",
        "hold failed",
    ):  # fmt: skip
        assert seen[what], what
    ruled = (play(seed, ruled=True).happened() for seed in range(80))
    assert any(one["reboot timed out"] for one in ruled)
