"""Falcon's choice as a rank in HTCondor: an expression of what machines publish, made for a job.

With C(t) the work that a machine does in t seconds where it stays, and TR(t) the probability that
it does, the expression computes for each machine, as `sharing.rules.falcon` does,

    JCT: C(JCT) = TL    ETL = C(MTTF)    JCTF: integral of TR dC = TL    lives: JCT <= MTTF

S. Bagchi et al., slides, "How to integrate failure prediction" and "Falcon Scheduler". Machines
publish the mean load and the reliability for a few horizons only. Between two of them the load is
taken as constant and the reliability as a straight line, so that the integral is a parabola, which
is solved exactly. Beyond the last horizon (a day) everything goes on as from now, as in Falcon.

The figures are attributes of the job that ask for the machine's, and the rank names them. (In a
nested record, which would need no such attributes, the negotiator of HTCondor 23.9 does not find
the machine, while its tools do.) ClassAds compute an attribute anew wherever it is named, so they
are few, and what is needed rarely stands where it is rarely looked at. Reals are written with a
point: ClassAds divide whole numbers as whole numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.sharing.adapters.condor.attributes import (
    AVAILABLE,
    HOURS,
    MTTF,
    SPEED,
    VAULT,
    expected_load,
    reliability,
)
from forestall.sharing.adapters.condor.expressions import MAX_AGE, MOST_HOURS, fresh

LIVES: Final = 1_000_000_000.0
"""A machine that is expected to outlive the job ranks this divided by its JCTF in seconds."""
MOST: Final = 400_000_000.0
"""Seconds that an ETL or MTTF counts for at most in a rank."""
_SLACK: Final = 1e-9
"""By so much of it a time may be above a whole second and still be that; as in Falcon's rules."""
MOST_TURNS: Final = 60
"""Days after which a job that is not expected to have ended is taken never to end."""
FIGURES: Final = ("jct", "mttf", "etl", "jctf", "rank")
_SPAN: Final = (0.0, *(3600.0 * hours for hours in HOURS))
_LAST: Final = len(HOURS)
_DAY: Final = _SPAN[-1]


@dataclass(frozen=True)
class JobNeeds:
    """What a job needs.

    Attributes
    ----------
    hours : that it takes on a machine of speed 1 that nobody else uses
    checkpoint : bytes of a checkpoint that is fetched before it goes on and saved while it runs; 0:
        it has none

    Raises ParameterError for what no job can need.
    """

    hours: float
    checkpoint: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.hours <= MOST_HOURS:
            raise ParameterError("hours", self.hours, f"more than 0, at most {MOST_HOURS}")
        if not 0 <= self.checkpoint < 1e18:
            raise ParameterError("checkpoint_size", self.checkpoint, "bytes, 0 or more")


def falcon_attributes(needs: JobNeeds, max_age: int = MAX_AGE) -> dict[str, str]:
    """Return the attributes of a job by which HTCondor takes the machine that Falcon would; the
    last one, `RANK`, is its rank.

    A machine that is expected to outlive the job ranks `LIVES` / JCTF (JCTF in s, of equal ones the
    more the longer the MTTF); where failures keep it from ever being expected to end, 1 to 9, the
    more the longer it lives. The others rank by their ETL (s), and then MTTF, / `LIVES`, which is
    less than 1, so that they count only where there is none that outlives the job. 0 where the
    machine is not available, or not everything is known, or known for longer than `max_age` s.
    """
    fields = _rank_fields(needs, max_age)
    known = re.compile(rf"\b({'|'.join(name for name, _ in fields)})\b")
    return {
        _attribute(name): known.sub(lambda one: f"MY.{_attribute(one[0])}", _of_machine(value))
        for name, value in fields
    }


def _attribute(field: str) -> str:
    return f"ForestallFalcon{field.capitalize()}"


RANK: Final = _attribute("rank")


def _of_machine(expression: str) -> str:
    return re.sub(r"\bForestall\w+", r"TARGET.\g<0>", expression)


def falcon_record(needs: JobNeeds, name: str, max_age: int = MAX_AGE) -> str:
    """Return the same for a machine alone, as `condor_status -af` computes it: one of `FIGURES`.

    jct, jctf, mttf and etl are in s; -1 stands for never. Undefined where something is missing.
    """
    if name not in FIGURES:
        raise ParameterError("name", name, ", ".join(FIGURES))
    fields = _rank_fields(needs, max_age) if name == "rank" else _fields(needs, "-1.0")
    return "[" + "; ".join(f"{field} = {value}" for field, value in fields) + f"].{name}"


def _rank_fields(needs: JobNeeds, max_age: int) -> list[tuple[str, str]]:
    all_known = " + ".join(f"{reliability(hours)} + {expected_load(hours)}" for hours in HOURS)
    known = f"({fresh(max_age)} && {AVAILABLE} && mttf >= 0 && {all_known} >= 0) =?= true"
    never = f"{LIVES} / (1.0 + min({{mttf, 80000000.0}}) / 10000000.0)"
    # Whole seconds, as in Falcon, and less than one of them by the MTTF: so it settles ties alone.
    tie = f"min({{mttf, {MOST}}}) / {2 * MOST}"
    rank = (
        f"ifThenElse({known}, ifThenElse(jct >= 0 && jct <= mttf, "
        f"{LIVES} / (ceiling(jctf * {1 - _SLACK!r}) - {tie}), "
        f"(1.0 + floor(min({{etl, {MOST}}}) * {1 + _SLACK!r}) + {tie}) / {LIVES}), 0.0)"
    )
    return [*_fields(needs, never), ("rank", rank)]


def _fields(needs: JobNeeds, never: str) -> list[tuple[str, str]]:
    """Return the figures in order: tl, the work (s at speed 1), fetch (s before it begins), and
    the figures; `never` is the JCTF of a job that is not expected to end."""
    return [
        ("c", f"ifThenElse({SPEED} =?= undefined, 1.0, 1.0 * {SPEED})"),
        ("mttf", f"1.0 * {MTTF}"),
        *_work(needs), *_without_failures(), *_with_failures(needs, never),
    ]  # fmt: skip


def _work(needs: JobNeeds) -> list[tuple[str, str]]:
    """Return the fields of the work to be done: where checkpoints go over the network, saves add to
    it as Young's interval has them, and the first one has to be fetched."""
    task = repr(float(needs.hours) * 3600)
    if needs.checkpoint == 0:
        return [("tl", task), ("fetch", "0.0")]
    size = repr(float(needs.checkpoint))
    return [
        ("fetch", f"ifThenElse(({VAULT} > 0) =?= true, {size} / {VAULT}, 0.0)"),
        ("tl", f"{task} * (1.0 + ifThenElse(mttf > 0, min({{pow(fetch / (2.0 * mttf), 0.5), 1.0}})"
               ", 1.0))"),
    ]  # fmt: skip


def _alive(k: int) -> str:
    """Return the reliability at the k-th horizon; the 0th is now."""
    return "1.0" if k == 0 else reliability(HOURS[k - 1])


def _work_by(k: int) -> str:
    """Return the work done by the k-th horizon, where the machine stays."""
    return "0.0" if k == 0 else f"c * {_SPAN[k]} * (1.0 - {expected_load(HOURS[k - 1])})"


def _rate(k: int) -> str:
    """Return the work a second in the interval that ends at the k-th horizon."""
    return f"(({_work_by(k)} - {_work_by(k - 1)}) / {_SPAN[k] - _SPAN[k - 1]})"


def _sure(k: int) -> str:
    """Return what that interval brings, weighed with the chance that the machine is still there."""
    return f"({_work_by(k)} - {_work_by(k - 1)}) * ({_alive(k - 1)} + {_alive(k)}) / 2.0"


def _first(value: str, bounds: Sequence[str], results: Sequence[str], last: str) -> str:
    """Return the result that belongs to the first bound that a value is not above, else the
    last."""
    text = last
    for bound, result in zip(reversed(bounds), reversed(results), strict=True):
        text = f"ifThenElse({value} <= {bound}, {result}, {text})"
    return text


def _without_failures() -> list[tuple[str, str]]:
    whole = _work_by(_LAST)
    bounds = [_work_by(k) for k in range(1, _LAST)]
    ends = [f"{_SPAN[k - 1]} + (jr - {_work_by(k - 1)}) / {_rate(k)}" for k in range(1, _LAST + 1)]
    done = [f"{_work_by(k - 1)} + (lr - {_SPAN[k - 1]}) * {_rate(k)}" for k in range(1, _LAST + 1)]
    spans = [str(span) for span in _SPAN[1:_LAST]]
    return [
        ("jn", f"ceiling(tl / ({whole})) - 1.0"),
        ("jr", f"tl - jn * {whole}"),
        ("jct", f"ifThenElse({whole} > 0, fetch + jn * {_DAY} + "
                f"{_first('jr', bounds, ends[:-1], ends[-1])}, -1.0)"),
        ("ln", f"floor(mttf / {_DAY})"),
        ("lr", f"mttf - ln * {_DAY}"),
        ("etl", f"ln * {whole} + {_first('lr', spans, done[:-1], done[-1])}"),
    ]  # fmt: skip


def _with_failures(needs: JobNeeds, never: str) -> list[tuple[str, str]]:
    """Return the fields of JCTF: g, the sure work by each horizon; the place in the first day; and,
    for jobs that take longer, whole days first, each of which brings `alive` times as much as the
    one before it."""
    alive = _alive(_LAST)
    sums = [(f"g{k}", " + ".join(_sure(j) for j in range(1, k + 1))) for k in range(1, _LAST + 1)]

    def days(count: str) -> str:
        return f"ifThenElse({alive} < 1, (1.0 - pow({alive}, {count})) / (1.0 - {alive}), {count})"

    def within(work: str, before: str, last: str) -> str:
        bounds = [f"g{k}" for k in range(1, _LAST + 1)]
        ends = [f"{before} + {_place(k, work)}" for k in range(1, _LAST + 1)]
        return _first(work, bounds, ends, last)

    most = min(MOST_TURNS, math.ceil(8 * needs.hours / HOURS[-1]) + 7)
    bounds = [f"g{_LAST} * {days(f'{k}.0')}" for k in range(2, most + 1)]
    turns = _first("tl", bounds, [f"{k}.0" for k in range(1, most)], "-1.0")
    whole = f"fetch + fn * {_DAY}"
    return [
        *sums,
        ("fn", turns),
        ("fr", f"(tl - g{_LAST} * {days('fn')}) / pow({alive}, fn)"),
        ("late", f"ifThenElse(fn < 0, {never}, {within('fr', whole, f'{whole} + {_DAY}')})"),
        ("jctf", within("tl", "fetch", "late")),
    ]  # fmt: skip


def _place(k: int, work: str) -> str:
    """Return when the sure work reaches so much, in the interval that ends at the k-th horizon.

    There s r t - s (r - r') t^2 / (2 width) = what is left, with s the rate and r, r' the chances
    at both ends; solved so that r = r' divides by no zero.
    """
    left = f"({work} - g{k - 1})" if k > 1 else work
    width = _SPAN[k] - _SPAN[k - 1]
    full = f"{_rate(k)} * {_alive(k - 1)}"
    less = f"2.0 * {_rate(k)} * ({_alive(k - 1)} - {_alive(k)}) / {width} * {left}"
    root = f"pow(max({{pow({full}, 2) - {less}, 0.0}}), 0.5)"
    return f"{_SPAN[k - 1]} + 2.0 * {left} / ({full} + {root})"
