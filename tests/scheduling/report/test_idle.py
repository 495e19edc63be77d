"""With every policy each parameter changes a run, is refused, or is told as one without effect."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import forestall as fs
from forestall.core.model.errors import ParameterError
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.rules.entries import CHECKPOINTS
from forestall.scheduling.settings import PROMISE

OTHER: dict[str, Any] = {
    "accuracy": 0.2, "risk": 0.3, "checkpoint_interval": 1800, "checkpoint_overhead": 60,
    "vault": "layout=ring parity=2", "ring": 3, "spares": 2, "failovers": 2, "downtime": 600,
    "topology": "8", "topology_slack": 0.9, "estimates": "requested", "overrun": "extend",
    "compression": False, "requeue": "original", "min_runtime": 7200, "repeat_failures": True,
    "mtbf": 3600, "users": "least=0.5:0.99 patience=0:10", "seed": 2, "nodes": 24,
}  # fmt: skip
"""Another value of each parameter than the default."""
WITH: dict[str, dict[str, Any]] = {
    "overrun": {"estimates": "requested"}, "compression": {"estimates": "requested"},
    "failovers": {"spares": 2}, "topology_slack": {"topology": "contiguous"},
}  # fmt: skip
"""What must be given as well."""
RESOLVED = frozenset({"policy", "predictor", "checkpoint", "placement"})
"""What is a choice of its own: its values are the bases below."""


@cache
def logs() -> tuple[fs.Jobs, fs.Failures]:
    """Return jobs of which some run longer than requested, and failures of half their time."""
    rng = np.random.default_rng(3)
    submit, size = np.sort(rng.integers(0, 10 * 86_400, 200)), rng.integers(1, 17, 200)
    run = rng.integers(600, 40_000, 200)
    asked = np.where(rng.random(200) < 0.3, run * 3 // 5, run * 2)
    columns = (column.tolist() for column in (submit, size, run, asked))
    names = ("submit", "size", "runtime", "estimate")
    return fs.Jobs.build(**dict(zip(names, columns, strict=True))), fs.generate_failures(
        32, 5, 1, rate_per_year=2000
    )


def run(**parameters: Any) -> dict[str, list[Any]]:
    jobs, failures = logs()
    done = fs.simulate(jobs, failures, **{"nodes": 32, **parameters})
    return done.jobs.to_dict(as_series=False)


@cache
def plain(items: tuple[tuple[str, Any], ...]) -> dict[str, list[Any]]:
    return run(**dict(items))


def test_every_parameter_has_another_value() -> None:
    assert OTHER.keys() | RESOLVED == set(PROMISE.fields)


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_what_changes_nothing_is_refused_or_told(policy: str, checkpoint: str) -> None:
    for name, value in OTHER.items():
        base = {"policy": policy, "checkpoint": checkpoint, **WITH.get(name, {})}
        try:
            before, after = plain(tuple(base.items())), run(**base, **{name: value})
        except ParameterError as error:
            refused = str(error)
        else:
            refused = ""
        if refused:
            assert any(word in refused for word in (name, *base))
            continue
        given = PROMISE.checked({"nodes": 32, **base, name: value})
        told = any(hint.startswith(f"{{{name}}} has no effect") for hint in
                   PROMISE.idle_hints(given))  # fmt: skip
        if name != "seed":  # it is drawn from where anything is drawn
            assert told == (before == after), (name, base)


def test_a_ring_without_checkpoints_is_refused() -> None:
    for name, value in (("ring", 3), ("vault", "layout=ring parity=2")):
        with pytest.raises(ParameterError, match=rf"{name}: .* none with .*checkpoint none"):
            run(policy="easy", **{name: value})
