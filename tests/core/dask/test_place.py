"""Where work is done, as users say it."""

from __future__ import annotations

import pytest

from forestall.core.dask.place import DaskPlace, SlurmPlace, place_of
from forestall.core.model.errors import ParameterError


def test_places() -> None:
    assert place_of("slurm") == SlurmPlace()
    told = "slurm:partition=main,account=lab,time=2h,memory=4GiB,interface=ib0"
    assert place_of(told) == SlurmPlace("main", "lab", 7200, 4 * 2**30, "ib0")
    assert place_of("dask://head:8786") == DaskPlace("head:8786")


@pytest.mark.parametrize(
    "text",
    [
        *("", "slurm:", "slurm,partition=x", "pbs", "dask://", "dask://head", "dask://:1"),
        *("dask://head:99999", "slurm:nodes=3", "slurm:partition", "slurm:partition="),
        *("slurm:partition=a b", "slurm:partition=x;rm", "slurm:time=0s", "slurm:memory=much"),
    ],
)
def test_what_names_no_place(text: str) -> None:
    with pytest.raises(ParameterError):
        place_of(text)
