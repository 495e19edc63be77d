"""What is told when: grouped, seldom, each thing once."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from forestall.live.messages.outbox import MOST, SHOWN, Notice, Outbox
from forestall.live.messages.settings import MessageSettings

SETTINGS = MessageSettings(site="site", gather=60, every=900, repeat=86_400)


def notice(cause: str, item: str, line: str = "") -> Notice:
    return Notice(cause, item, line or f"about {item}")


def test_things_of_one_cause_are_one_message() -> None:
    box = Outbox(SETTINGS)
    box.add([notice("nodes failed", "n1"), notice("nodes failed", "n2")], 0)
    box.add([notice("nodes failed", "n3")], 30)
    assert box.due(59) is None
    told = box.due(60)
    assert told is not None
    assert told.subject == "site: nodes failed (3)"
    assert told.text == "Nodes failed:\n- about n1\n- about n2\n- about n3\n"
    assert box.due(10_000) is None


def test_several_causes_share_a_message_rather_than_come_one_after_another() -> None:
    box = Outbox(SETTINGS)
    box.add([notice("a", "1"), notice("b", "2"), notice("c", "3")], 0)
    told = box.due(60)
    assert told is not None
    assert told.subject == "site: a; and 2 more"
    assert told.text.count("\n- about") == 3


def test_the_next_message_waits() -> None:
    box = Outbox(SETTINGS)
    box.add([notice("a", "1")], 0)
    assert box.due(60)
    box.add([notice("a", "2")], 61)
    assert box.due(959) is None
    assert box.due(960)


def test_what_lasts_is_told_again_only_after_long() -> None:
    box = Outbox(SETTINGS)
    box.add([notice("a", "1")], 0)
    assert box.due(60)
    for now in range(90, 86_430, 30):
        box.add([notice("a", "1")], now)
        assert box.due(now) is None
    box.add([notice("a", "1")], 86_460)
    assert box.due(86_520)


def test_how_often_it_came_again_is_told_with_the_next_thing() -> None:
    box = Outbox(SETTINGS)
    box.add([notice("a", "1")], 0)
    assert box.due(60)
    box.add([notice("a", "1")], 70)
    box.add([notice("a", "1"), notice("a", "2")], 80)
    told = box.due(2000)
    assert told is not None
    assert "reported before and still true: 2 times" in told.text
    assert "about 1" not in told.text


def test_many_things_are_counted() -> None:
    box = Outbox(SETTINGS)
    box.add([notice("a", str(k)) for k in range(MOST + 5)], 0)
    told = box.due(60)
    assert told is not None
    assert told.subject == f"site: a ({MOST})"
    assert f"- and {MOST - SHOWN} more" in told.text
    assert len(told.text.splitlines()) == SHOWN + 2


def test_what_users_write_is_one_line() -> None:
    box = Outbox(SETTINGS)
    box.add([notice("a\nBcc: x@example.org", "1", "x\x1b[31m\ny")], 0)
    told = box.due(60)
    assert told is not None
    assert told.subject.isprintable()
    assert len(told.text.splitlines()) == 2
    assert "\x1b" not in told.text


@given(
    st.lists(
        st.tuples(
            st.integers(0, 500), st.sampled_from("abc"), st.integers(0, 5).map(str), st.booleans()
        ),
        max_size=200,
    )
)
def test_messages_keep_their_distance_and_nothing_is_told_twice_or_lost(
    steps: list[tuple[int, str, str, bool]],
) -> None:
    box, now, sent, told, added = Outbox(SETTINGS), 0, [], [], set()
    for passed, cause, item, looks in steps:
        now += passed
        if looks:
            box.add([notice(cause, item, f"{cause}{item}")], now)
            added.add(f"{cause}{item}")
        message = box.due(now)
        if message is not None:
            sent.append(now)
            told += [line[2:] for line in message.text.splitlines() if line.startswith("- ")]
    last = box.due(now + 10_000)
    if last is not None:
        told += [line[2:] for line in last.text.splitlines() if line.startswith("- ")]
    assert all(b - a >= 900 for a, b in itertools.pairwise(sent))
    if now < 86_400:
        assert len(told) == len(set(told))
    assert set(told) == added
