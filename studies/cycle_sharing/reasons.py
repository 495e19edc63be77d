"""Why claims do not hold, as the runs that tell why have shown. Keys: claim, hosts, restart."""

from __future__ import annotations

from typing import Final

_ALIKE: Final = (
    "one host is as good as another: all owners do heavy work at the same hours, and nobody knows "
    "which of them will today. Even forecasts from the law of each host, learned from 28 other "
    "weeks, do not get ahead of Condor-style; from a host's own record Falcon even learns "
    "something false: sessions alternate among owners, so a host with a good record is due. With "
    "the future known the same rule comes within half a percent of the omniscient scheduler: the "
    "forecasts are the limit, not the rule"
)
_SAVED: Final = (
    "a failure costs almost nothing where all work is saved as the owner comes back, but the rule "
    "counts it as a loss: Falcon passes over idle hosts to avoid failures; as if no host ever "
    "left, it is behind by less. And the present load, Condor-style's criterion, predicts much "
    "here: without it Falcon is behind by more"
)
_SHORT: Final = (
    "short jobs seldom lose their host, so there is little to gain with them; and the slides' rule "
    "ignores a host's present load, and sends them to hosts in use"
)
_HOURLY: Final = (
    "a failure costs an hour of work at most, so there is little to gain by avoiding it: see what "
    "the omniscient scheduler gains"
)
_RARE: Final = (
    "nodes fail about twice in three months, not 430 times: a handful of jobs in a thousand lose "
    "their host, and foresight of failures can gain almost nothing; the omniscient scheduler gains "
    "well under 1 % from scratch"
)
_FULL: Final = (
    "only where the pool is full: there a scheduler that loses less work leaves more hosts free. "
    "The omniscient scheduler makes a job wait rather than start in vain, which does not count as "
    "a failed try"
)
_GRID: Final = (
    "nodes leave some 40 times in three months, not 430 times, and are idle while they are up: the "
    "omniscient scheduler itself gains less than 5 % from scratch and little more than 1 % from "
    "checkpoints"
)
_SLICES: Final = (
    "slices hardly ever leave and are mostly idle: the omniscient scheduler itself gains less than "
    "2 %, and Falcon's gain comes from its forecast of their load"
)

WHY: Final[dict[str, str]] = {
    "thresholds": "today's kernels share a core evenly from the first millisecond on, while the "
    "slides' kernel favored processes that sleep much: an owner who works and rests loses to a "
    "guest at normal priority at any load, and less than then to one at lowest priority",
    "made": "the generator is built to give this; the states are derived again from its samples",
    "other hosts": "these are not machines of a student laboratory: nodes of a cluster are up or "
    "down, without an owner; PlanetLab's slices were chosen because they were always there",
    "accuracy": "where owners come at the same hour on nine of ten workdays, hosts hardly ever "
    "stay throughout windows over that hour, and the relative error of a small probability is "
    "large",
    "between, alike, scratch": _ALIKE,
    "between, alike, hourly": _ALIKE,
    "between, alike, checkpoint": _SAVED,
    "between, own hours, checkpoint": _SAVED,
    "between, LANL": _RARE,
    "between, PlanetLab": _SLICES,
    "improved, alike, scratch": _ALIKE,
    "improved, alike, hourly": _ALIKE,
    "improved, alike, checkpoint": _SAVED,
    "improved, own hours, checkpoint": _SAVED,
    "improved, own hours, scratch": _SHORT,
    "improved, own hours, hourly": _HOURLY,
    "improved, Grid'5000": _GRID,
    "improved, LANL": _RARE,
    "improved, PlanetLab": _SLICES,
    "grows, LANL": _RARE,
    "grows, PlanetLab": _SLICES,
    "unscheduled, own hours": _FULL,
    "unscheduled, alike": _FULL,
    "unscheduled, Grid'5000": _FULL,
    "failures, alike": _ALIKE,
    "failures, LANL": _RARE,
    "failures, PlanetLab": _SLICES,
    "promises, alike": "the forecast is far too optimistic here, because a host with a good record "
    "is due; the correction by the record removes that, and a little more",
}
