"""Lists of host names: what they stand for, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.hostlist import MOST_HOSTS, Hostlist, compress, expand

NAME = st.builds(
    lambda prefix, number, width: f"{prefix}{str(number).zfill(width)}",
    st.sampled_from(["", "n", "node", "r1-", "gpu_", "a.b"]),
    st.integers(0, 120),
    st.integers(0, 4),
)
NAMES = st.lists(st.one_of(NAME, st.sampled_from(["login", "x9y", "head-a"])), max_size=40)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        (" ", []),
        ("login1", ["login1"]),
        ("node[001-003,200],login1", ["node001", "node002", "node003", "node200", "login1"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("n[1]", ["n1"]),
        ("n[ 1 , 3-4 ]", ["n1", "n3", "n4"]),
        ("r[1-2]n[09-10]", ["r1n09", "r1n10", "r2n09", "r2n10"]),
        ("r[1-2]-ib,a b", ["r1-ib", "r2-ib", "a", "b"]),
        ("[0-2]", ["0", "1", "2"]),
        ("a,,b,", ["a", "b"]),
        ("n[2,1,2]", ["n2", "n1", "n2"]),
        ("n[000000000000000001-2]", ["n000000000000000001", "n000000000000000002"]),
    ],
)
def test_what_a_list_stands_for(text: str, names: list[str]) -> None:
    assert list(expand(text)) == names


@pytest.mark.parametrize(
    "text",
    [
        *("n[1", "n1]", "n[[1]]", "n[]", "n[a]", "n[1-]", "n[-2]", "n[3-1]", "n[1-2-3]"),
        *("n[1x2]", "n[1,]", "n[0-1000000]", "[0-999][0-9999]", "n[1-1111111111111111111]"),
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ParameterError, match="hosts: "):
        expand(text)


def test_a_long_list_is_named_in_short() -> None:
    with pytest.raises(ParameterError) as caught:
        expand("n[" + "1," * 500)
    assert len(str(caught.value)) < 200
    assert len(expand(f"n[1-{MOST_HOSTS}]")) == MOST_HOSTS


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["login"], "login"),
        (["n7"], "n7"),
        (["n2", "n10", "n1", "n3", "gate", "n3"], "gate,n[1-3,10]"),
        (["n098", "n099", "n100", "n101"], "n[098-101]"),
        (["n98", "n99", "n100"], "n[98-100]"),
        (["n1", "n01", "n2", "n02"], "n[1-2,01-02]"),
        (["1", "2"], "[1-2]"),
        (["n", "n1"], "n,n1"),
    ],
)
def test_the_shortest_list(names: list[str], text: str) -> None:
    assert compress(names) == text


@given(NAMES)
def test_there_and_back(names: list[str]) -> None:
    text = compress(names)
    assert sorted(expand(text)) == sorted(set(names))
    assert compress(reversed(names)) == text
    assert compress(expand(text)) == text


@given(NAMES, NAMES)
def test_algebra_is_that_of_sets(one: list[str], two: list[str]) -> None:
    a, b = Hostlist.of(one), Hostlist.of(two)
    for mine, theirs in (
        (a | b, set(one) | set(two)),
        (a & b, set(one) & set(two)),
        (a - b, set(one) - set(two)),
        (a ^ b, set(one) ^ set(two)),
    ):
        assert set(mine) == theirs
        assert len(mine) == len(theirs)
    assert Hostlist.parse(str(a)) == Hostlist.parse(str(Hostlist.of(reversed(one))))
    assert all(name in a for name in one)
    assert "nobody" not in a
