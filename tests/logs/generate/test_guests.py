"""Guest jobs and speeds that are made up: what was asked for, and the same again."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.logs.generate.guests import LENGTHS, draw_speeds, generate_guests


def test_the_workload_of_the_slides() -> None:
    jobs = generate_guests(700, 1)
    hours = jobs.submit % 86_400 / 3600
    assert (hours >= 6).all()
    assert (hours < 22).all()
    assert set((jobs.submit // 86_400).tolist()) == set(range(28))
    lengths, counts = np.unique(jobs.runtime, return_counts=True)
    assert (tuple(lengths), set(counts.tolist())) == (LENGTHS, {100})
    assert (jobs.size == 1).all()
    assert jobs.job.tolist() == list(range(1, 701))
    # evenly over the hours: each of 16 has 43.75 on average, and deviates by 4 sd at most
    each = np.bincount((hours - 6).astype(int), minlength=16)
    assert np.abs(each - 700 / 16).max() < 4 * (700 / 16) ** 0.5
    # no correlation of length and time: |r| is below 4 / sqrt(n)
    assert abs(np.corrcoef(jobs.runtime, jobs.submit)[0, 1]) < 4 / 700**0.5


def test_the_seed_draws_all() -> None:
    one, again, other = (generate_guests(50, seed, days=3) for seed in (1, 1, 2))
    assert one.submit.tolist() == again.submit.tolist()
    assert one.runtime.tolist() == again.runtime.tolist()
    assert one.submit.tolist() != other.submit.tolist()
    assert one.runtime.tolist() != other.runtime.tolist()


def test_lengths_and_hours_can_be_chosen() -> None:
    jobs = generate_guests(5, 1, days=1, lengths=(60, 90), hours=(9.5, 9.75))
    assert sorted(jobs.runtime.tolist()) == [60, 60, 60, 90, 90]
    assert jobs.submit.min() >= 9.5 * 3600
    assert jobs.submit.max() < 9.75 * 3600


@pytest.mark.parametrize(
    ("more", "name"),
    [({"count": 0}, "count"), ({"days": 0}, "days"), ({"lengths": ()}, "lengths"),
     ({"lengths": (0,)}, "lengths"), ({"hours": (6, 25)}, "hours"), ({"hours": (9, 9)}, "hours"),
     ({"hours": (float("nan"), 9)}, "hours"), ({"hours": (-1, 9)}, "hours")],
)  # fmt: skip
def test_what_cannot_be_made(more: dict[str, object], name: str) -> None:
    given = {"count": 10, "seed": 1, **more}
    with pytest.raises(ParameterError, match=name):
        generate_guests(**given)  # type: ignore[arg-type]


def test_speeds_do_not_depend_on_the_number_of_hosts() -> None:
    many = draw_speeds(1000, 3)
    assert many[:7].tolist() == draw_speeds(7, 3).tolist()
    assert 0.7 <= many.min() < 0.75
    assert 1.25 < many.max() <= 1.3
    assert abs(many.mean() - 1) < 4 * (0.6 / 12**0.5) / 1000**0.5
