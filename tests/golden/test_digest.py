"""What a digest notices, and what it does not."""

from __future__ import annotations

import pytest

from golden.digest import digest, same

TABLE = "\n".join(f"row {k}, {1 / (k + 3):.9g}, {k}.25 s" for k in range(180))


@pytest.mark.parametrize(
    ("old", "new", "noticed"),
    [
        ("0.333333333", "0.333333334", False),
        ("0.333333333", "0.333433333", True),
        ("0.333333333", "-0.333333333", True),
        ("0.333333333", "#", True),
        ("0.25, 0.2", "0.5, 0.2", True),
        ("row 60, 0.0158730159", "row 60, 0.0159130159", True),
        ("row 60, 0.0158730159", "row 60, 0.01587", True),
        ("row 60,", "row 61,", True),
        ("60.25 s", "60.75 s", True),
        ("3.33e-17", "-1.2345678e-16", True),
        ("3.3333333e-17", "-1.2345678e-16", False),
        ("0.333333333, 0.0158730159", "0.0158730159, 0.333333333", True),
    ],
)
def test_a_change(old: str, new: str, noticed: bool) -> None:
    text = TABLE if old in TABLE else f"{TABLE}\n{old}"
    changed = text.replace(old, new, 1)
    assert changed != text
    assert same(digest(text), digest(text))
    assert same(digest(text), digest(changed)) is not noticed


def test_a_number_less_is_noticed() -> None:
    assert not same(digest(TABLE), digest(f"{TABLE}\n0.333333333"))
