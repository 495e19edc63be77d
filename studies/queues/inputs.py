"""The failure log of the paper's system, and the rules by which its years can be counted.

The paper divides the failures of each node into years of operation and does not say where a year
begins. The public log has 7,104 records of this system; calendar years are not the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import forestall as fs
from forestall import systems
from studies.kit.files import found_in
from studies.kit.means import Floats

LANL_FILE: Final = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"
SYSTEM: Final = 2
"""LANL's number of the system with 49 nodes and 6,152 processors."""

HOUR: Final = 3600.0
YEAR: Final = 366
"""Days of a year, at most."""


@dataclass(frozen=True)
class Rule:
    """A rule by which years are counted.

    Attributes
    ----------
    name, text : in a word, and in a sentence
    years : as `History.years` takes it; or three dates, from which nodes 0 to 8, 9 to 16 and 17 to
        48 count (they came to the machine in these cohorts)
    without : a cause that is left out, or ""
    """

    name: str
    text: str
    years: str | tuple[str, str, str]
    without: str = ""


RULES: Final = (
    Rule(
        "cohorts",
        "years count from one date for each cohort of nodes, and failures of the facility "
        "(power, cooling) are left out; the three dates are chosen so that the numbers of failures "
        "come near the paper's",
        ("1996-12-10", "1997-06-08", "1998-04-04"),
        "Facilities",
    ),
    Rule(
        "cohorts, all causes",
        "cohorts with all causes, and the dates that suit them best",
        ("1997-06-08", "1997-08-07", "1998-01-24"),
    ),
    Rule("own", "each node's years count from its own first failure; nothing is chosen", "own"),
    Rule("age", "each node's years count from the month in which it went into production", "age"),
    Rule("calendar", "calendar years, from 1997", "calendar"),
)
"""The rules that are tried, the one that comes nearest first; figures are drawn by the first."""

COHORTS: Final = (9, 17)
"""First nodes of the second and third cohort."""


@dataclass(frozen=True)
class YearSample:
    """What one rule makes of the log.

    Attributes
    ----------
    rule : the rule
    labels : of the years
    counts : int64[nodes, years], failures of each node in each year
    node_days : float64[nodes, years], time in service in each year, at most a year
    gaps : hours between failures of one node, by the year in which they end; float64[n] each
    zeros : gaps of 0 h left out, by year
    """

    rule: Rule
    labels: tuple[int, ...]
    counts: npt.NDArray[np.int64]
    node_days: Floats
    gaps: tuple[Floats, ...]
    zeros: tuple[int, ...]


@dataclass(frozen=True)
class Inputs:
    """The log as it was read, and its years by every rule."""

    history: systems.History
    years: tuple[YearSample, ...]


def read_inputs(data: Path, plan: object = None) -> Inputs:
    """Read the log below the folder `data`; TraceError says which file was expected where."""
    log = fs.read_failures(found_in(data, LANL_FILE), system=SYSTEM)
    whole = systems.history(log, first="drop")
    return Inputs(whole, tuple(_years(whole, rule) for rule in RULES))


def _years(whole: systems.History, rule: Rule) -> YearSample:
    part = whole.without(rule.without) if rule.without else whole
    years: systems.YearRule = (
        _origins(part, rule.years) if isinstance(rule.years, tuple) else rule.years
    )
    labels = part.years(years).labels
    counted = part.node_years(years)
    gaps, zeros = [], []
    for label in labels:
        length, censored = part.sample("node", year=label, years=years)
        ended = length[~censored] / HOUR
        gaps.append(ended[ended > 0])
        zeros.append(int(np.count_nonzero(ended == 0)))
    days = np.minimum(counted.node_days, YEAR)  # service before an origin is in no year
    return YearSample(rule, labels, counted.failures, days, tuple(gaps), tuple(zeros))


def _origins(part: systems.History, dates: tuple[str, str, str]) -> npt.NDArray[np.int64]:
    """Return the second from which each node's years count, int64[nodes]."""
    assert part.origin is not None
    seconds = np.array(dates, dtype="datetime64[s]").astype(np.int64) - part.origin
    cohort = np.searchsorted(COHORTS, np.arange(len(part.start)), side="right")
    return seconds[cohort]
