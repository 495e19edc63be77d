"""Falcon's rules for a guest's host, from curves of what the hosts will bring.

Source: S. Bagchi et al., slides "How to integrate failure prediction" and "Falcon Scheduler". With
C(t) the work that a host does in t seconds where it stays, and TR(t) the chance that it does,

    JCT: C(JCT) = TL    MTTF = integral of TR    ETL = C(MTTF)    JCTF: integral of TR dC = TL

and, as the slides write it, by mean loads, with L(T) the mean of the load over the next T seconds,

    JCT = TL / (CR (1 - L(TL)))    JCTF: CR (1 - L(JCTF)) x integral of TR up to JCTF = TL

Curves are given for the time up to a horizon H, linear between steps; beyond it everything goes on
as from its start.
"""

from __future__ import annotations

import math

import numpy as np

from forestall.core._compile import inlined, kernel
from forestall.core.model.cycle import FAR, MILLION, GuestReason

_FAR = np.int64(FAR)
_LONGEST = 10 * 365.25 * 86_400
"""Seconds above which a time counts as never."""
_SLACK = 1e-9
_EVEN = 1 - 1e-12
"""Of two products of sums that are the same, one may be less by so much."""
_MOST_TURNS = 1_000_000

_ENDS_FIRST = np.int64(GuestReason.ENDS_FIRST)
_LONGEST_LEFT = np.int64(GuestReason.LONGEST_LEFT)


@inlined
def point(curve, k):
    """Return the value of a curve (usual, present, share) at step k: that of the usual load, and
    what the present one adds where a guest gets `share` of the host now."""
    usual, present, share = curve
    return usual[k] + share * present[k]


@kernel
def inverse(curve, step, amount):
    """Return when a rising curve reaches an amount that is at most its last value, s."""
    low, high = 0, len(curve[0]) - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if point(curve, middle) < amount:
            low = middle
        else:
            high = middle
    start = point(curve, low)
    rise = point(curve, high) - start
    share = (amount - start) / rise if rise > 0 else 1.0
    return step * (low + share)


@inlined
def value(curve, step, time):
    """Return a curve's value at a time within it."""
    place = time / step
    k = min(int(place), len(curve[0]) - 2)
    start = point(curve, k)
    return start + (place - k) * (point(curve, k + 1) - start)


@kernel
def last(curve):
    """Return the last value of a curve, and the number of its steps."""
    steps = len(curve[0]) - 1
    return point(curve, steps), steps


@kernel
def up(time):
    """Return a time as whole seconds, rounded up; one within a billionth of them is them."""
    if not time <= _LONGEST:
        return _FAR
    near = round(time)
    if abs(time - near) <= _SLACK * max(1.0, abs(near)):
        return np.int64(near)
    return np.int64(math.ceil(time))


@kernel
def down(time):
    """The same, rounded down."""
    if not time <= _LONGEST:
        return _FAR
    near = round(time)
    if abs(time - near) <= _SLACK * max(1.0, abs(near)):
        return np.int64(near)
    return np.int64(math.floor(time))


@kernel
def completion(curve, step, work):
    """Return when the work is done where the host stays, s (inf: never)."""
    whole, steps = last(curve)
    if whole <= 0:
        return math.inf
    # Whole horizons first; the rest lies within one, its very end included.
    turns = math.ceil(work / whole) - 1.0
    rest = work - turns * whole
    return turns * step * steps + inverse(curve, step, min(rest, whole))


@kernel
def completion_if_sure(curve, step, alive, work):
    """Return when the work is done by expectation, failures considered, s (inf: never)."""
    whole, steps = last(curve)
    horizon = step * steps
    if whole <= 0:
        return math.inf
    if alive >= 1:
        return completion(curve, step, work)
    chance, rest = 1.0, work
    # Turn after turn brings `alive` times as much as the one before it.
    for turn in range(_MOST_TURNS):
        if rest <= whole * chance:
            return turn * horizon + inverse(curve, step, rest / chance)
        rest -= whole * chance
        chance *= alive
        # The geometric sum of all turns to come is less than what is left: it never ends.
        if rest > chance * whole / (1 - alive) or turn * horizon > _LONGEST:
            break
    return math.inf


@kernel
def completion_by_mean(curve, step, work):
    """Return when the work is done where the host stays, by the mean load over as long as it would
    take without any, s (inf: never)."""
    done = done_by(curve, step, work)
    return work * work / done if 0 < done < math.inf else math.inf


@kernel
def rising(gain, more, work, start, step):
    """Return when, within a step, (C + c x) (R + r x) first reaches the work times (T + x), where
    it is less at the step's begin; `gain` = (C, c), `more` = (R, r), T = `start`."""
    a = gain[1] * more[1]
    b = gain[0] * more[1] + gain[1] * more[0] - work
    c = gain[0] * more[0] - work * start
    # Convex and below 0 at x = 0: one root, in the form that subtracts nothing that is alike.
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    if b > 0:
        found = -2 * c / (b + root)
    else:
        found = (root - b) / (2 * a) if a > 0 else step
    return min(max(found, 0.0), step)


@kernel
def completion_by_means(curve, reliability, step, alive, work):
    """Return the least T by which mean load and mean time available say that the work is done:
    C(T) / T x integral of TR up to T, s (inf: never)."""
    whole, steps = last(curve)
    horizon, lasting = step * steps, 0.0
    for k in range(steps):
        lasting += step * (reliability[k] + reliability[k + 1]) / 2
    life, since, chance = mean_life(lasting, alive), 0.0, 1.0
    for turn in range(_MOST_TURNS):
        start = turn * horizon
        # Within a turn neither factor is more than these; so most turns need no look at steps.
        most = (turn + 1) * whole * (since + chance * lasting)
        if turn == 0 or most >= work * start * _EVEN:
            sure = since
            for k in range(steps):
                more = chance * step * (reliability[k] + reliability[k + 1]) / 2
                before, after = turn * whole + point(curve, k), turn * whole + point(curve, k + 1)
                begin = start + k * step
                if after * (sure + more) >= work * (begin + step) * _EVEN:
                    gain, rate = (before, (after - before) / step), (sure, more / step)
                    return begin + rising(gain, rate, work, begin, step)
                sure += more
        since += chance * lasting
        chance *= alive
        late = start > _LONGEST or whole == 0  # `life` may be inf
        if late or (turn + 2) * whole * life < work * (turn + 1) * horizon:
            break
    return math.inf


@kernel
def mean_life(lasting, alive):
    """Return the mean time to failure, s (inf: none is expected)."""
    # The integral of TR over one horizon, and as often as the host lasts: 1 / (1 - TR(H)) turns.
    return lasting / (1 - alive) if alive < 1 else math.inf


@kernel
def done_by(curve, step, time):
    """Return the work done by a time, s of a host of speed 1."""
    whole, steps = last(curve)
    if not time <= _LONGEST:
        return math.inf if whole > 0 else 0.0
    horizon = step * steps
    turns = math.floor(time / horizon)
    return turns * whole + value(curve, step, time - turns * horizon)


@kernel
def alive_by(reliability, step, alive, time):
    """Return the chance that a host is still there at a time."""
    horizon = step * (len(reliability) - 1)
    turns = math.floor(time / horizon)
    return alive**turns * value((reliability, reliability, 0.0), step, time - turns * horizon)


@kernel
def estimate(out, forecast, host, state, work, present):
    """Write what is expected of a job on a host into an ESTIMATE.

    Parameters
    ----------
    out : one record of ESTIMATE
    forecast : `prediction.models.semi_markov.forecast.HostCurves`, drawn for this host and state
    host, state : number of the host; 0 (S1) or 1 (S2)
    work : what is left of the job, millionths of a second
    present : share of the host that a guest would get now
    """
    step, work = forecast.step, work / MILLION
    whole = (forecast.work[host, state], forecast.present_work[host], present)
    sure = (forecast.sure[host, state], forecast.present_sure[host, state], present)
    # Ends are rounded up and lives down: no host looks better than it is.
    out.jct = up(completion(whole, step, work))
    out.jctf = up(completion_if_sure(sure, step, forecast.alive[host, state], work))
    describe(out, forecast, host, state, whole)


@inlined
def looked_at(forecast, time):
    """Return how many steps of curves `ends_later` looks at."""
    steps = forecast.sure.shape[2] - 1
    return min(steps, np.int64((time + 1) / forecast.step) + 1)


@inlined
def ends_later(forecast, host, state, work, present, time):
    """Return whether a job surely ends later on a host than at a time, failures considered: less
    than its work is to be expected by a second after it, which no rounding of ends can bridge."""
    step, steps = forecast.step, forecast.sure.shape[2] - 1
    if time + 1 >= step * steps:
        return False
    sure = (forecast.sure[host, state], forecast.present_sure[host, state], present)
    return value(sure, step, time + 1.0) < work / MILLION


@inlined
def rule_out(out):
    """Write of a host that another one is better: nothing is said of it, and it is not taken."""
    out.jct, out.jctf = _FAR, _FAR


@kernel
def estimate_by_means(out, forecast, host, state, work):
    """The same by mean loads, as the slides write it; the present load counts for nothing."""
    step, work = forecast.step, work / MILLION
    usual = (forecast.work[host, state], forecast.present_work[host], 0.0)
    chances, alive = forecast.reliability[host, state], forecast.alive[host, state]
    out.jct = up(completion_by_mean(usual, step, work))
    out.jctf = up(completion_by_means(usual, chances, step, alive, work))
    describe(out, forecast, host, state, usual)


@kernel
def describe(out, forecast, host, state, whole):
    """Write the rest of an ESTIMATE, whose JCT is known; `whole` is the curve of the work."""
    step, alive = forecast.step, forecast.alive[host, state]
    life = mean_life(forecast.lasting[host, state], alive)
    out.host = host
    out.mttf = down(life)
    out.etl = down(done_by(whole, step, life))
    out.chance = 0
    if out.jct < _FAR:
        chance = alive_by(forecast.reliability[host, state], step, alive, float(out.jct))
        out.chance = np.int64(round(MILLION * chance))


@kernel
def better(one, other, first_ends):
    """Return whether one estimate goes before another, which stands earlier in host order."""
    if first_ends:
        if one.jctf != other.jctf:
            return one.jctf < other.jctf
    elif one.etl != other.etl:
        return one.etl > other.etl
    return one.mttf > other.mttf


@kernel
def lives(one):
    """Return whether a host is expected to stay until the job ends there: a host that stays for
    ever and never ends it is none."""
    return one.jct <= one.mttf and one.jct < _FAR


@kernel
def choose(estimates, count):
    """Return which of the first `count` (at least one) estimates is chosen, and the reason."""
    some = False
    # Where any host is expected to outlive the job, only those are looked at, and the soonest end
    # wins; else the one on which most work is done before it leaves.
    for k in range(count):
        some = some or lives(estimates[k])
    best = -1
    for k in range(count):
        if some and not lives(estimates[k]):
            continue
        if best < 0 or better(estimates[k], estimates[best], some):
            best = k
    return best, _ENDS_FIRST if some else _LONGEST_LEFT


@kernel
def choose_rank(estimates, count, draw):
    """Return which has the best rank; ties by a draw from 0 to 1."""
    top = estimates[0].rank
    for k in range(1, count):
        top = max(top, estimates[k].rank)
    tied = 0
    for k in range(count):
        tied += estimates[k].rank == top
    # A draw of nearly 1 may round up to one too many.
    wanted = min(int(draw * tied), tied - 1)
    for k in range(count):
        if estimates[k].rank == top:
            if wanted == 0:
                return k
            wanted -= 1
    return -1


@kernel
def choose_true(estimates, count):
    """Return which host truly ends the job first (jctf not FAR), -1 where none does; and on which
    most work is done (`etl`)."""
    first, longest = -1, 0
    for k in range(count):
        if estimates[k].jctf < _FAR and (first < 0 or estimates[k].jctf < estimates[first].jctf):
            first = k
        if estimates[k].etl > estimates[longest].etl:
            longest = k
    return first, longest
