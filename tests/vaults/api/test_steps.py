"""Steps of a program in a vault: which one it goes on from, and what it is told."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from forestall.vaults.api.checkpoints import Coding
from forestall.vaults.api.opened import open_checkpoints
from forestall.vaults.api.ranks import StepsInVault, read_state
from forestall.vaults.pool import LostError
from forestall.vaults.ranks.members import Alone
from forestall.vaults.ranks.states import packed


def test_newer_steps_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    stores = [tmp_path / f"s{k}" for k in range(3)]
    vault = open_checkpoints([str(one) for one in stores])
    coding = Coding(data=2, parity=1, label="ring", init=True)
    steps = StepsInVault(vault, coding)
    names = []
    for step in (1, 2, 3):
        steps.save(Alone(), step, packed(np.full(5, float(step))))
        found = steps.newest()
        assert found is not None
        assert found[1:] == (step, 1)
        names.append(found[0])
    (tmp_path / "other").write_bytes(b"no step")
    vault.save(tmp_path / "other", data=2, parity=1, label="ring")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert steps.newest() == (names[2], 3, 1)  # what is no step does not count
        assert StepsInVault(vault, Coding(data=2, parity=1, label="none")).newest() is None
    for left in (1, 0):
        _damage(stores, names[left + 1])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert steps.newest() == (names[left], left + 1, 1)
        told = [str(one.message) for one in said]
        assert [one.split()[1] for one in told] == names[:left:-1]
        assert all(one.endswith(f"can be is {names[left]}") for one in told)
    state = read_state(vault, names[0], 0)
    assert np.array_equal(np.asarray(state), np.full(5, 1.0))
    for one in vault.list():
        _damage(stores, one["id"])
    with pytest.raises(LostError, match="none of 4 checkpoints"):
        steps.newest()


def _damage(stores: list[Path], name: str) -> None:
    found = [path for one in stores for path in (one / "manifests").glob(f"{name}*")]
    assert found
    for path in found:
        path.write_bytes(b"spoilt")
