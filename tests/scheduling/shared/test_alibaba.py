"""Alibaba's cluster, its log played by every policy and certified."""

from __future__ import annotations

from pathlib import Path

import pytest

import forestall as fs
from alibaba_log import alibaba_jobs, alibaba_machine
from forestall.scheduling.certify.certifier import certify_promise

pytestmark = [pytest.mark.data, pytest.mark.slow]


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "promise"])
def test_its_log_is_played_and_certified(policy: str, data: Path, tmp_path: Path) -> None:
    """On a fifth of the nodes, 20,000 times as fast, so that jobs wait; and nodes fail."""
    folder = data / "alibaba-gpu-2023"
    whole, jobs = alibaba_machine(folder), alibaba_jobs(folder, faster=20_000)
    assert (len(whole), int(whole.totals[2]), len(jobs)) == (1523, 6212, 7221)
    machine = alibaba_machine(folder, every=5)
    failures = fs.generate_failures(len(machine), 20, 1, rate_per_year=60_000)
    result = fs.simulate(jobs, failures, policy=policy, machine=machine, risk=0.5)
    assert result.measures["restarts"] > 20
    assert result.measures["wait"]["mean"] > 0
    certificate = certify_promise(result.save(tmp_path / "run", report=False))
    assert certificate.passed, str(certificate)
