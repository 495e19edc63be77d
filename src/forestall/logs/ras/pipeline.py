"""From an event log to failures: filters one after the other, and what each of them took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.ras import RasLog, Severity
from forestall.logs.ras import causes, filters
from forestall.logs.ras.causes import CauseRules
from forestall.logs.ras.filters import Mask, Rule
from forestall.logs.ras.places import at_level, check_level

STEPS: Final = ("severity", "alerts", "temporal", "spatial", "causal", "clusters")
DEFAULT_STEPS: Final = ("severity", "temporal", "spatial", "causal")


@dataclass(frozen=True)
class FilterSettings:
    """What the filters do.

    Attributes
    ----------
    steps : which, of `STEPS`, in this order; None: severity (of a log that tells none: alerts,
        where it has labels), temporal, spatial, causal
    severity : the least that counts; None: FATAL
    temporal, spatial, causal, clusters : thresholds, s
    rule : what a record is measured against, see `filters`
    within : the part of the machine over which spatial and clusters merge, a level
    support, confidence, lift : of the rules of causes
    """

    steps: tuple[str, ...] | None = None
    severity: Severity | None = None
    temporal: int = filters.THRESHOLD
    spatial: int = filters.THRESHOLD
    causal: int = filters.THRESHOLD
    clusters: int = filters.THRESHOLD
    rule: Rule = "seen"
    within: str = "system"
    support: int = causes.SUPPORT
    confidence: float = causes.CONFIDENCE
    lift: float = causes.LIFT

    def __post_init__(self) -> None:
        for name in self.steps or ():
            if name not in STEPS:
                raise ParameterError("steps", name, f"some of {', '.join(STEPS)}")
        if self.steps is not None and len(set(self.steps)) < len(self.steps):
            raise ParameterError("steps", ",".join(self.steps), "each step once")
        check_level(self.within, "within")
        filters.check_rule(self.rule)

    def steps_for(self, log: RasLog) -> tuple[str, ...]:
        """Return the steps for a log: those asked for, or the default ones that it can bear."""
        if self.steps is not None:
            return self.steps
        if bool(np.any(log.severity > 0)) or len(log) == 0:
            return DEFAULT_STEPS
        first = ("alerts",) if log.alert is not None else ()
        return (*first, *DEFAULT_STEPS[1:])


@dataclass(frozen=True)
class FilterStep:
    """What one filter did.

    Attributes
    ----------
    name : of the step
    threshold : s, None where it has none
    before, after : records
    removed : int64[kinds], records that went, by kind
    """

    name: str
    threshold: int | None
    before: int
    after: int
    removed: npt.NDArray[np.int64]

    @property
    def share(self) -> float:
        """Share of the records before the step that it removed; 0 of none."""
        return (self.before - self.after) / self.before if self.before else 0.0

    @property
    def ratio(self) -> float:
        """Records before over records after (compression); inf where none is left of some."""
        if self.after:
            return self.before / self.after
        return float("inf") if self.before else 1.0


@dataclass(frozen=True)
class FilteredLog:
    """What is left of a log, and how.

    Attributes
    ----------
    log : the records that are left; places and kinds are those of the whole log
    kept : int64[n], their positions in the whole log, ascending
    steps : in order
    rules : of causes, None where that step was not taken
    """

    log: RasLog
    kept: npt.NDArray[np.int64]
    steps: tuple[FilterStep, ...]
    rules: CauseRules | None = None

    def failures(self, level: str = "node") -> Failures:
        """Return what is left as failures of the places at a level."""
        return to_failures(self.log, level)


def pipeline(log: RasLog, settings: FilterSettings | None = None) -> FilteredLog:
    """Return a log filtered step by step. Raises ParameterError."""
    how = FilterSettings() if settings is None else settings
    kept = np.arange(len(log))
    steps: list[FilterStep] = []
    rules: CauseRules | None = None
    left = log
    for name in how.steps_for(log):
        if name == "causal":
            rules = causes.mine_rules(
                left,
                how.causal,
                support=how.support,
                confidence=how.confidence,
                lift=how.lift,
            )
        keep = _mask(name, left, how, rules)
        gone = left.kind[~keep]
        removed = np.bincount(gone, minlength=len(log.kinds)).astype(np.int64)
        threshold = None if name in {"severity", "alerts"} else int(getattr(how, name))
        kept = kept[keep]
        steps.append(FilterStep(name, threshold, len(left), len(kept), removed))
        left = left.take(keep)
    return FilteredLog(left, kept, tuple(steps), rules)


def to_failures(log: RasLog, level: str = "node") -> Failures:
    """Return every record as a failure of its place at a level, in order of (time, node).

    Nodes are the places at that level in sorted order, those that reported nothing severe included;
    a place that is coarser than the level is one of them. How long nodes were down is not told.
    """
    part = at_level(log, level)
    order = np.lexsort((part.place, part.time))
    kinds = np.array(part.kinds, dtype=object)[part.kind[order]]
    return Failures(
        part.time[order],
        part.place[order].astype(np.int64),
        np.full(len(part), -1, dtype=np.int64),
        np.full(len(part), np.nan),
        kind=tuple(kinds.tolist()),
        span=log.span,
        nodes=len(part.places),
        names=part.places,
        source=log.source,
        cleaning=log.cleaning,
        origin=log.origin,
    )


def _mask(name: str, log: RasLog, how: FilterSettings, rules: CauseRules | None) -> Mask:
    if name == "severity":
        return filters.severe(log, Severity.FATAL if how.severity is None else how.severity)
    if name == "alerts":
        return filters.labelled(log)
    if name == "temporal":
        return filters.temporal(log, how.temporal, how.rule)
    if name == "spatial":
        return filters.spatial(log, how.spatial, how.rule, how.within)
    if name == "causal":
        assert rules is not None
        return causes.causal(log, rules, how.causal)
    found = filters.clusters(log, how.clusters, how.rule, how.within)
    first = np.zeros(len(log), dtype=np.bool_)
    first[np.unique(found, return_index=True)[1]] = True
    return first
