"""What a file brings is taken out once, and held to what it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from forestall.core.files.held import Held
from forestall.core.model.errors import ParameterError


def held(**values: Any) -> Held:
    arrays = {name: one for name, one in values.items() if isinstance(one, np.ndarray)}
    return Held({name: one for name, one in values.items() if name not in arrays}, arrays)


@pytest.mark.parametrize("value", [None, True, 1.5, "1", -1, 11, 10**4000, float("nan"), [1]])
def test_no_whole_number(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^x: "):
        held(x=value).whole("x", 0, 10)


@pytest.mark.parametrize(
    "value", [None, True, "1", -0.1, 1.1, float("nan"), float("inf"), 10**4000, {}]
)
def test_no_number(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^x: "):
        held(x=value).number("x", 0, 1)
    assert held(x=0).number("x", 0, 1) == 0.0
    with pytest.raises(ParameterError, match="above 0"):
        held(x=0).number("x", 0, above=True)


def test_values_of_other_kinds() -> None:
    for wrong in (
        lambda: held(x=1).flag("x"),
        lambda: held(x=1).text("x"),
        lambda: held(x="c").text("x", ("a", "b")),
        lambda: held(x="ab").listed("x"),
        lambda: held(x=[1]).listed("x", 2),
        lambda: held(x=["a", 1]).texts("x"),
        lambda: held(x=[0.0, float("nan")]).numbers("x"),
        lambda: held(x=[]).part("x"),
        lambda: held().value("x"),
        lambda: held().array("x", np.int64, None),
    ):
        with pytest.raises(ParameterError, match=r"^x: "):
            wrong()
    with pytest.raises(ParameterError):
        Held([1, 2])


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3, np.int32).astype("U4"), np.zeros((1, 3), np.int64), np.zeros(2, np.int64),
        np.array([0, -1, 2]), np.array([0, 1, 5]), np.array([0, 2, 1]), np.zeros(3),
        np.array([0, 1, 2**40]),
    ],
)  # fmt: skip
def test_no_places(array: Any) -> None:
    with pytest.raises(ParameterError, match=r"^x: "):
        held(x=array).array("x", np.int32, 3, least=0, most=4, rising=True)


def test_arrays_as_compiled_code_takes_them() -> None:
    given = np.asfortranarray(np.arange(6, dtype=">i8").reshape(2, 3))
    found = held(x=given).array("x", np.int32, None, 3, least=0, most=5)
    assert found.dtype == np.int32
    assert found.flags.c_contiguous
    assert found.flags.writeable
    assert found.tolist() == given.tolist()


def test_nan_only_where_it_may_be() -> None:
    unknown = np.array([0.5, np.nan])
    with pytest.raises(ParameterError, match="finite numbers from 0 to 1"):
        held(x=unknown).array("x", np.float64, 2, least=0, most=1)
    assert len(held(x=unknown).array("x", np.float64, 2, least=0, most=1, nan=True)) == 2
    with pytest.raises(ParameterError, match="numbers or nan"):
        held(x=np.array([np.nan, 2.0])).array("x", np.float64, 2, least=0, most=1, nan=True)
    assert held(x=np.array([np.inf])).array("x", np.float64, 1, unbounded=True)[0] == np.inf


def test_fields_of_records() -> None:
    rows = np.zeros(2, np.dtype([("node", "i8")]))
    rows["node"][1] = 7
    assert held(x=rows).column("x", "node", 0, 7).tolist() == [0, 7]
    with pytest.raises(ParameterError, match=r"x\.node"):
        held(x=rows).column("x", "node", 0, 6)
