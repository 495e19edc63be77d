"""Jobs as a run can take them; what is left out or changed is named."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.jobs import Jobs
from forestall.core.model.units import MAX_SECONDS


def check_times(name: str, times: npt.NDArray[np.int64], low: int) -> None:
    """Raise ParameterError for times that keys of events cannot hold, or -1 stands for in
    decisions."""
    bad = times[(times < low) | (times >= MAX_SECONDS)]
    if len(bad):
        raise ParameterError(name, int(bad[0]), f"{low} to {MAX_SECONDS - 1} s")


def sieve(jobs: Jobs, most: int, too_large: str) -> tuple[Cleaning, npt.NDArray[np.bool_]]:
    """Return what is left out, and which jobs are kept: not those without run time or size, nor
    those larger than `most`, which are called `too_large`."""
    cleaning = jobs.cleaning
    keep = np.ones(len(jobs), dtype=np.bool_)
    kinds = (
        ("no_run_time", "jobs without run time", jobs.runtime < 0),
        ("zero_run_time", "jobs that ran 0 s", jobs.runtime == 0),
        ("no_size", "jobs without size", jobs.size <= 0),
        ("larger_than_machine", too_large, jobs.size > most),
    )
    for kind, text, mask in kinds:
        fresh = mask & keep
        cleaning = cleaning.plus(kind, text, "left out", jobs.job[fresh].tolist())
        keep &= ~mask
    return cleaning, keep


def nothing_left(jobs: Jobs, cleaning: Cleaning) -> InputError:
    """Return the error that no job is left, with what became of them."""
    why = ", ".join(one.counted for one in cleaning.remarks if one.action == "left out")
    text = f"{jobs.source or 'jobs'}: no job can be simulated out of {len(jobs)}"
    return InputError(f"{text}: left out {why}" if why else text)


def raised(jobs: Jobs, least: int, cleaning: Cleaning) -> tuple[npt.NDArray[np.int64], Cleaning]:
    """Return run times of at least `least` s, and which were raised to that."""
    short = jobs.runtime < least
    text = f"jobs shorter than {least} s, raised to it"
    cleaning = cleaning.plus("raised_to_min_runtime", text, "changed", jobs.job[short].tolist())
    return np.maximum(jobs.runtime, least), cleaning
