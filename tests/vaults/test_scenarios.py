"""Vaults in which everything goes wrong: `make vault-seeds` plays a hundred thousand such seeds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any
from unittest import mock

import pytest

from forestall.vaults import collecting, keys, leases, moving, saving
from forestall.vaults.hosts.host import HostError
from forestall.vaults.leases import LeaseLostError
from forestall.vaults.repository import Vault
from vaults.scenarios import ScenarioError, play

Patch = tuple[Any, str, Callable[..., Any]]


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_no_reported_checkpoint_is_lost(first: int) -> None:
    """And once faults end, repairs make all whole, and collections leave what is needed."""
    events = sum((play(seed).events for seed in range(first, first + 100)), play(first).events)
    assert min(events[one] for one in ("saved", "stopped", "killed", "away", "collected")) > 0


def _signs(held: leases.SaveLease) -> bool:
    """A lease that is gone is written anew, as once it was."""
    with suppress(HostError):
        held.sign()
    return True


def _is_there(vault: Vault, save: str) -> None:
    """Only whether a lease is there is looked at, as once it was."""
    if keys.LEASES + save not in vault.pool.keys(keys.LEASES)[0]:
        raise LeaseLostError(save)


def _deletes(vault: Vault, saves: set[str], copies: int) -> set[str]:
    """Leases of saves that are presumed dead are taken away, without a fence, as once it was."""
    for save in saves:
        vault.pool.delete_everywhere(keys.LEASES + save)
    return set()


def _believes(*_: object) -> int:
    return 0


BROKEN: dict[str, list[Patch]] = {
    "a lease that is gone is written anew": [
        (leases.SaveLease, "beat", _signs), (collecting, "fence", _deletes),
        *((module, "check_lease", _is_there) for module in (leases, saving, moving)),
        *((module, "confirm", _believes) for module in (saving, moving)),
    ],
    "a save does not look whether it was presumed dead": [(saving, "check_lease", _believes)],
}  # fmt: skip
"""Rules that are not kept, by what was patched."""


@pytest.mark.parametrize("name", BROKEN)
def test_scenarios_find_rules_that_are_not_kept(name: str) -> None:
    with ExitStack() as stack:
        for patch in BROKEN[name]:
            stack.enter_context(mock.patch.object(*patch))
        with pytest.raises(ScenarioError, match="seed"):
            list(map(play, range(600)))


def test_a_seed_is_one_story() -> None:
    assert play(7).story == play(7).story != play(8).story
