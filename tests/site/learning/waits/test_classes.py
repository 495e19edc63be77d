from __future__ import annotations

import numpy as np

from forestall.site.learning.waits.classes import (
    LEVELS,
    SIZES,
    TIMES,
    classify,
    size_words,
    time_words,
)


def test_classes_by_hand() -> None:
    # Two partitions and one untold; 1, 2, and unknown nodes; half an hour and more.
    found = classify([0, 0, 0, 1, -1, 0], [1, 2, 4, 1, -1, 1], [1800, 1800, 1800, 1801, -1, 60])
    fine = found.fine.tolist()
    assert fine[0] == fine[5]
    assert fine[1] == fine[2]
    assert len(set(fine)) == 4
    assert found.parent.shape == (len(LEVELS), 4)
    assert found.count == 4 + 4 + 3 + 1
    by_partition = found.of(2).tolist()
    assert by_partition[0] == by_partition[1] == by_partition[2] == by_partition[5]
    assert len(set(by_partition)) == 3
    assert len(set(found.of(3).tolist())) == 1
    assert found.jobs().tolist() == [1, 2, 2, 1, 1, 2, 2, 1, 1, 4, 1, 6]
    assert found.name(fine[1], 0, ("gpu", "cpu")) == "gpu, 2 to 4, 0 to 0.5 h"
    assert found.name(fine[4], 1, ("gpu", "cpu")) == "no partition given, size not given"
    assert found.name(fine[3], 2, ("gpu", "cpu")) == "cpu"
    assert found.name(fine[3], 3, ("gpu", "cpu")) == "all jobs"


def test_no_jobs() -> None:
    found = classify([], [], [])
    assert len(found.fine) == 0
    assert found.count == 0
    assert found.jobs().tolist() == []


def test_every_level_is_part_of_the_next() -> None:
    rng = np.random.default_rng(1)
    found = classify(rng.integers(-1, 5, 500), rng.integers(-1, 3000, 500),
                     rng.choice([-1, 0, 3600, 10**6, 2**63 - 1], 500))  # fmt: skip
    for level in range(3):
        pairs = set(
            zip(found.parent[level].tolist(), found.parent[level + 1].tolist(), strict=True)
        )
        assert len(pairs) == len(set(found.parent[level].tolist()))
    assert found.jobs().sum() == 4 * 500


def test_words() -> None:
    assert [size_words(k) for k in range(-1, len(SIZES) + 1)] == [
        "size not given", "1", "2 to 4", "5 to 16", "17 to 64", "65 to 256", "257 to 1,024",
        "over 1,024",
    ]  # fmt: skip
    words = [time_words(k) for k in range(-1, len(TIMES) + 1)]
    assert words[:3] == ["no time given", "0 to 0.5 h", "0.5 to 2 h"]
    assert words[-1] == "over 72 h"
