"""Cycle sharing, simulated plainly from the written rules: the judge of the fast code.

Slow and obvious on purpose. A stay of a guest is walked second by second, forecasts are made by
counting, by Kaplan and Meier's product and by the recursion of the interval transition
probabilities, in plain floats. Work is in millionths of a second of a host of speed 1, times in
whole seconds of the jobs' clock, on which the host traces begin at -warm_up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from forestall.core.model.cycle import (
    FAR,
    MILLION,
    Fate,
    GuestDecisionKind,
    GuestEventKind,
    GuestReason,
    StayEnd,
)
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.core.streams import stream
from forestall.sharing.simulation.parameters import CycleParameters

Row = tuple[int, ...]
DAY = 86_400
MONDAY = 4 * DAY
TEN_YEARS = 3650 * DAY
S1, S2, S3, S4, S5 = range(5)
ENDED = {S3: StayEnd.CONTENTION, S4: StayEnd.THRASHING, S5: StayEnd.AWAY}
REASON = {S3: GuestReason.CONTENTION, S4: GuestReason.THRASHING, S5: GuestReason.AWAY}


class PlainOutcome(NamedTuple):
    """What happened, as tuples with the fields of FATE, STAY (without `promise`, which is made of
    the stays when the run is over), GuestEvent, GuestDecision and ESTIMATE in their order."""

    fates: list[Row]
    stays: list[Row]
    events: list[Row]
    decisions: list[Row]
    estimates: list[Row]


class Table(NamedTuple):
    """What is foreseen of one host from the slot's begin on, for S1 and S2 each: at 0, 1, ... steps
    the work without failures, and the work if failures end it; mean time alive within the horizon,
    and probability to be alive at its end, and at each step.

    Of the work, `work` and `expected` are the part that is known of the past; a share x of the host
    that a guest gets at present adds x times `present` and x times `present_expected`."""

    step: int
    work: Sequence[Sequence[float]]
    expected: Sequence[Sequence[float]]
    alive: Sequence[float]
    again: Sequence[float]
    present: Sequence[float]
    present_expected: Sequence[Sequence[float]]
    reliability: Sequence[Sequence[float]]


class Estimate(NamedTuple):
    jct: int
    mttf: int
    etl: int
    jctf: int
    chance: int = 0


Forecasts = Callable[[int], Sequence[Table]]
"""From a slot to the tables of all hosts."""

# ------------------------------------------------------------------------------- the hosts


def states_of(load: Sequence[float], memory: Sequence[float] | None, p: CycleParameters, period):
    """Return the state of each sample, from itself and those before it."""
    out, heavy, gap, shown = [], 0, 0, None
    for k, x in enumerate(load):
        gap = gap + 1 if math.isnan(x) else 0
        if gap * period > p.hold:
            shown = None  # whatever was seen before the gap holds no longer
            heavy = 0
            out.append(S5)
            continue
        if gap == 0:
            shown = k
        if shown is None:  # a gap that begins the samples
            out.append(S5)
            continue
        heavy = heavy + 1 if load[shown] > p.th2 else 0
        if memory is not None and memory[shown] < p.guest_memory:
            out.append(S4)
        elif heavy * period > p.hold:
            out.append(S3)
        else:
            out.append(S1 if load[shown] <= p.th1 else S2)
    return out


def rates_of(load: Sequence[float], states: Sequence[int], speed: float, p: CycleParameters):
    """Return the work that each sample allows a guest in each second, in millionths."""
    out = []
    for x, state in zip(load, states, strict=True):
        if state >= S3 or math.isnan(x) or (p.spikes == "stop" and x > p.th2):
            out.append(0)
        else:
            out.append(round(1e6 * speed * (1 - min(max(x, 0.0), 1.0))))
    return out


class World:
    """The hosts' states and rates at each second."""

    def __init__(self, hosts: HostTraces, p: CycleParameters) -> None:
        self.hosts, self.p, self.period = hosts, p, hosts.period
        self.load = [[float(x) for x in row] for row in hosts.load]
        self.speed = [float(v) for v in hosts.speed]
        self.begin = -p.warm_up
        self.end = self.begin + hosts.samples * hosts.period
        self.states, self.rates = [], []
        self.alive: dict[int, list[list[list[float]]]] = {}
        for h, load in enumerate(self.load):
            memory = None if hosts.free_memory is None else hosts.free_memory[h].tolist()
            states = states_of(load, memory, p, hosts.period)
            self.states.append(states)
            self.rates.append(rates_of(load, states, self.speed[h], p))

    def sample(self, t: int) -> int:
        return (t - self.begin) // self.period

    def state(self, host: int, t: int) -> int:
        return self.states[host][self.sample(t)]

    def rate(self, host: int, t: int) -> int:
        return self.rates[host][self.sample(t)]

    def share(self, host: int, t: int) -> float:
        return self.rate(host, t) / (1e6 * self.speed[host])

    def changes(self, first: int) -> list[tuple[int, int, int]]:
        """Return (second, host, new state) of the changes after `first`."""
        out = []
        for h, states in enumerate(self.states):
            for k in range(1, len(states)):
                t = self.begin + k * self.period
                if states[k] != states[k - 1] and t > first:
                    out.append((t, h, states[k]))
        return sorted(out)

    def rank(self, host: int, t: int) -> int:
        """Return what Condor likes a host for."""
        if self.p.rank == "speed":
            return round(1e6 * self.speed[host])
        return self.rate(host, t)

    def walk(self, host: int, start: int, left: int, saved: int, asked: int | None = None) -> Walk:
        """Walk a stay second by second, until the work is done, the host leaves, the traces end, or
        the guest has been saved to move.

        left : work to do; saved : work that was saved before; asked : when it is to move
        """
        p = self.p
        checkpoints = p.restart == "checkpoint"
        interval = p.checkpoint_interval if checkpoints else None
        still = p.restart_overhead if checkpoints and saved > 0 else 0  # s to go, no progress
        pause, ran, work, kept, at_pause, taken = False, 0, 0, 0, 0, 0
        t = start
        rests: set[int] = set()
        while work < left:
            if not pause and still == 0 and ran == interval:
                pause, still, at_pause = True, p.checkpoint_overhead, work
            if pause and still == 0:
                pause, ran, kept, taken = False, 0, at_pause, taken + 1
            moved = asked is not None and t == asked + p.checkpoint_overhead
            if moved:
                kept, taken = work, taken + 1
            if t == self.end:
                return Walk(t, StayEnd.UNFINISHED, work, saved + kept, taken, rests)
            state = self.state(host, t)
            if state >= S3:
                if checkpoints and p.checkpoint_at_end and state != S5:
                    kept, taken = work, taken + 1
                return Walk(t, ENDED[state], work, saved + kept, taken, rests)
            if moved:
                return Walk(t, StayEnd.MOVED, work, saved + kept, taken)
            if asked is not None and t >= asked:
                pass
            elif still > 0:
                rests.add(t)
                still -= 1
            else:
                work += self.rate(host, t)
                ran += 1
            t += 1
        return Walk(t, StayEnd.COMPLETED, left, saved + left, taken, rests)


class Walk(NamedTuple):
    """How a stay ends, and the seconds in which the guest was saved or restored on the way."""

    end: int
    ended: StayEnd
    work: int
    saved: int
    checkpoints: int
    rests: Set[int] = frozenset()

    @property
    def done(self) -> bool:
        return self.ended == StayEnd.COMPLETED


# ------------------------------------------------------------------------------- forecasts


def plain_forecasts(world: World) -> Forecasts:
    """Return the forecasts of each slot, made once."""
    made: dict[int, list[Table]] = {}

    def tables(slot: int) -> list[Table]:
        if slot not in made:
            made[slot] = [foresee(world, h, slot) for h in range(len(world.states))]
        return made[slot]

    return tables


def foresee(world: World, host: int, slot: int) -> Table:
    """Return what is foreseen of a host at the begin of a slot."""
    p = world.p
    f, step, n = grid(world)
    past = slot * p.predict_every
    coarse = coarse_states(world, host, slot)
    origin = MONDAY if world.hosts.origin is None else world.hosts.origin
    alive = alive_of(world, slot)[host]
    begins = window_begins(past, n * step, len(coarse) * step, origin, p.history)
    speed = world.speed[host]
    fades = [fading(0 if slides(p) else p.load_memory, step, j) for j in range(n)]
    means = [[(tr[j] + tr[j + 1]) / 2 for j in range(n)] for tr in alive]
    work, expected, present_expected = [], [], []
    for s in (S1, S2):
        alike = [begin for begin in begins if slides(p) or coarse[begin // step] == s]
        usual = mean_shares(world, host, past, f, n, alike or begins)
        share = [(1 - w) * g for w, g in zip(fades, usual, strict=True)]
        work.append(_summed(speed * step * g for g in share))
        expected.append(_summed(speed * step * g * m for g, m in zip(share, means[s], strict=True)))
        present_expected.append(
            _summed(speed * step * w * m for w, m in zip(fades, means[s], strict=True))
        )
    present = _summed(speed * step * w for w in fades)
    lasting, again = [step * sum(mean) for mean in means], [tr[n] for tr in alive]
    return Table(step, work, expected, lasting, again, present, present_expected, alive)


def slides(p: CycleParameters) -> bool:
    """Tell whether forecasts are the slides': each host by its own past, the load to come the mean
    of all windows, whatever the host's state and load are now."""
    return p.scheduler == "falcon-slides"


def grid(world: World) -> tuple[int, int, int]:
    """Return the samples of a step, its seconds, and the steps of the horizon."""
    f = -(-world.p.predict_step // world.period)
    step = f * world.period
    return f, step, max(1, world.p.horizon // step)


def coarse_states(world: World, host: int, slot: int) -> list[int]:
    """Return the worst state of each whole step of a host that had passed as a slot began."""
    f, step, _ = grid(world)
    fine = world.states[host]
    steps = min(len(fine) // f, slot * world.p.predict_every // step)
    return [max(fine[k : k + f]) for k in range(0, steps * f, f)]


def alive_of(world: World, slot: int) -> list[list[list[float]]]:
    """Return [host][S1, S2][0..n]: the probability to stay available for 0, 1, ... steps."""
    if slot in world.alive:
        return world.alive[slot]
    p, (_, step, n), past = world.p, grid(world), slot * world.p.predict_every
    origin = MONDAY if world.hosts.origin is None else world.hosts.origin
    hosts = range(len(world.states))
    coarse = [coarse_states(world, host, slot) for host in hosts]
    own = [reliability(states, step, n, past, origin, p.history) for states in coarse]
    if p.pooling == "partial" and not slides(p) and len(own) > 1:
        windows = len(window_begins(past, n * step, len(coarse[0]) * step, origin, p.history))
        drawn = [drawn_together([host[s] for host in own], max(windows, 1)) for s in (S1, S2)]
        own = [[drawn[s][host] for s in (S1, S2)] for host in hosts]
    world.alive[slot] = own
    return own


def drawn_together(curves: Sequence[Sequence[float]], windows: int) -> list[list[float]]:
    """Return the chances of hosts from one state, drawn to their mean by how much of the way in
    which they differ is chance: that of a mean of so many windows, each kept or not."""
    between = chance = 0.0
    means = []
    for values in zip(*curves, strict=True):
        mean = sum(values) / len(values)
        between += sum((x - mean) ** 2 for x in values) / (len(values) - 1)
        chance += mean * (1 - mean) / windows
        means.append(mean)
    own = max(0.0, 1 - chance / between) if between > 0 else 1.0
    return [[own * x + (1 - own) * m for x, m in zip(one, means, strict=True)] for one in curves]


def fading(memory: int, step: int, j: int) -> float:
    """Return the mean weight of the present load in step j."""
    if memory == 0:
        return 0.0
    return memory / step * (math.exp(-j * step / memory) - math.exp(-(j + 1) * step / memory))


def _summed(values: Iterable[float]) -> list[float]:
    """Return the sums of the first 0, 1, ... values."""
    return [0.0, *accumulate(values)]


def window_begins(past: int, length: int, seen: int, origin: int, days: int | None) -> list[int]:
    """Return the seconds of the host traces at which the windows of the same clock time began on
    the most recent days of the same kind, latest first.

    past : seconds of the host traces before the window to be foretold; seen : those seen in all
    """

    def weekend(t: int) -> bool:
        return ((origin + t) // DAY + 3) % 7 >= 5

    found = []
    t = past - DAY
    while t >= 0:
        if t + length <= min(past, seen) and weekend(t) == weekend(past):
            found.append(t)
        t -= DAY
    return found if days is None else found[:days]


class Seen(NamedTuple):
    """A stay: in which state, the next one (None: not seen to end), steps."""

    state: int
    following: int | None
    steps: int


def stays_in(states: Sequence[int], begin: int, steps: int) -> list[Seen]:
    """Return the stays in the samples begin to begin + steps."""
    last = min(begin + steps, len(states) - 1)
    out, since = [], begin
    for k in range(begin + 1, last + 1):
        if states[k] != states[k - 1]:
            out.append(Seen(states[k - 1], states[k], k - since))
            since = k
    out.append(Seen(states[last], None, last - since))
    return out


Law = list[list[float]]
"""[j][m]: mass of a move to j after m steps."""


def law_of(state: int, seen: Sequence[Seen]) -> Law | None:
    """Return the law of the stays in a state; None where none was seen."""
    mine = [stay for stay in seen if stay.state == state]
    if not mine:
        return None
    longest = max((stay.steps for stay in mine if stay.following is not None), default=0)
    law = [[0.0] * (longest + 1) for _ in range(5)]
    left = 1.0
    for m in range(1, longest + 1):
        at_risk = sum(stay.steps >= m for stay in mine)
        moves = [0] * 5
        for stay in mine:
            if stay.steps == m and stay.following is not None:
                moves[stay.following] += 1
        for j in range(5):
            law[j][m] = left * moves[j] / at_risk
        left *= 1 - sum(moves) / at_risk
    return law


def reliability(
    states: Sequence[int], step: int, n: int, past: int, origin: int, days: int
) -> list[list[float]]:
    """Return [S1, S2][0..n]: the probability to stay available for 0, 1, ... steps."""
    seen = len(states) * step
    within: list[Seen] = []
    for begin in window_begins(past, n * step, seen, origin, days):
        for stay in stays_in(states, begin // step, n):
            if stay.state >= S3:
                break
            within.append(stay)
    laws = [law_of(state, within) for state in (S1, S2)]
    if None in laws:
        before = min(past, seen)
        if before < step:
            return [[1.0] * (n + 1)] * 2
        alike = [
            stay
            for begin in window_begins(past, DAY, seen, origin, None)
            for stay in stays_in(states, begin // step, DAY // step)
        ]
        whole = stays_in(states, 0, before // step - 1)
        never = [[0.0]] * 5
        for s in (S1, S2):
            laws[s] = laws[s] or law_of(s, alike) or law_of(s, whole) or never
    return recursion(laws[S1], laws[S2], n)


def recursion(law1: Law, law2: Law, n: int) -> list[list[float]]:
    """Return TR by the interval transition probabilities, step by step."""

    def mass(law: Law, j: int, m: int) -> float:
        return law[j][m] if m < len(law[j]) else 0.0

    entered: list[list[float]] = [[], []]
    direct = [0.0, 0.0]
    for m in range(n + 1):
        for i, law, other in ((S1, law1, S2), (S2, law2, S1)):
            direct[i] += sum(mass(law, j, m) for j in (S3, S4, S5))
            later = sum(mass(law, other, k) * entered[other][m - k] for k in range(1, m + 1))
            entered[i].append(direct[i] + later)
    return [[1 - min(1.0, max(p[: m + 1])) for m in range(n + 1)] for p in entered]


def mean_shares(
    world: World, host: int, past: int, f: int, n: int, begins: Sequence[int]
) -> list[float]:
    """Return the mean share of the host that each step leaves to a guest."""

    def shares(first: int, last: int) -> list[float]:
        return [
            world.rates[host][k] / (1e6 * world.speed[host])
            for k in range(first, last)
            if world.states[host][k] < S3 and not math.isnan(world.load[host][k])
        ]

    step = f * world.period
    found = []
    for j in range(n):
        mine: list[float] = []
        for begin in begins:
            first = (begin // step + j) * f
            mine += shares(first, first + f)
        found.append(mine)
    every = [x for mine in found for x in mine]
    every = every or shares(0, min(past // step, len(world.load[host]) // f) * f)
    rest = sum(every) / len(every) if every else 1.0
    return [sum(mine) / len(mine) if mine else rest for mine in found]


def estimate(table: Table, state: int, work: float, x: float = 0.0) -> Estimate:
    """Return what Falcon knows of a host in S1 or S2, of which a guest gets the share x at present,
    for `work` seconds of a host of speed 1."""
    curve = [c + x * d for c, d in zip(table.work[state], table.present, strict=True)]
    expected = [
        c + x * d for c, d in zip(table.expected[state], table.present_expected[state], strict=True)
    ]
    alive, q = table.alive[state], table.again[state]
    horizon = table.step * (len(curve) - 1)
    mttf = alive / (1 - q) if q < 1 else math.inf
    if mttf > TEN_YEARS:
        mttf = math.inf
    if curve[-1] == 0:
        etl = 0.0
    elif mttf == math.inf:
        etl = math.inf
    else:
        passed = math.floor(mttf / horizon)
        etl = passed * curve[-1] + _at(curve, table.step, mttf - passed * horizon)
    jct = _whole(_reached(curve, table.step, work, 1.0), math.ceil)
    chance = 0
    if jct < FAR:
        passed, rest = divmod(jct, horizon)
        chance = round(1e6 * (q**passed * _at(table.reliability[state], table.step, rest)))
    return Estimate(
        jct,
        _whole(mttf, math.floor),
        _whole(etl, math.floor),
        _whole(_reached(expected, table.step, work, q), math.ceil),
        chance,
    )


def slides_estimate(table: Table, state: int, work: float) -> Estimate:
    """Return the same by the slides' formulas: with L(T) the mean load over the next T seconds,
    JCT = TL / (CR (1 - L(TL))); JCTF is the least T at which CR (1 - L(T)) integral_0^T TR is TL.
    """
    curve, tr, step, q = table.work[state], table.reliability[state], table.step, table.again[state]
    steps = len(curve) - 1
    horizon = step * steps
    there = [0.0, *accumulate(step * (tr[k] + tr[k + 1]) / 2 for k in range(steps))]

    def rate(t: float) -> float:
        """CR (1 - L(t))."""
        passed = math.floor(t / horizon)
        return (passed * curve[-1] + _at(curve, step, t - passed * horizon)) / t

    def sure(t: float) -> float:
        """The integral of TR."""
        passed = math.floor(t / horizon)
        before = sum(q**k for k in range(passed)) if q < 1 else passed
        return before * there[-1] + q**passed * _at(there, step, t - passed * horizon)

    def done(t: float) -> bool:
        return rate(t) * sure(t) >= work * (1 - 1e-12)

    def ends() -> float:
        """Return by when it is done: step by step, and then by halves."""
        turn = 0
        while turn * horizon <= TEN_YEARS and curve[-1] > 0:
            most = (turn + 1) * curve[-1] / (turn * horizon) if turn else math.inf
            if q < 1 and most * there[-1] / (1 - q) < work * (1 - 1e-12):
                return math.inf  # no more than that is done by any later time
            if most * sure((turn + 1) * horizon) >= work * (1 - 1e-12):
                for k in range(steps):
                    low = turn * horizon + k * step
                    if done(low + step):
                        return _halved(done, low, low + step)
            turn += 1
        return math.inf

    plain = estimate(table, state, work)
    usual = rate(work) if work <= TEN_YEARS else 0.0
    jct = _whole(work / usual if usual > 0 else math.inf, math.ceil)
    chance = 0
    if jct < FAR:
        passed, rest = divmod(jct, horizon)
        chance = round(1e6 * (q**passed * _at(tr, step, rest)))
    return Estimate(jct, plain.mttf, plain.etl, _whole(ends(), math.ceil), chance)


def _halved(done: Callable[[float], bool], low: float, high: float) -> float:
    """Return where something begins to hold that holds at `high`."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if done(middle) else (middle, high)
    return high


def _at(curve: Sequence[float], step: int, t: float) -> float:
    """Return a curve that is linear between steps at t, which is within it."""
    j = min(int(t // step), len(curve) - 2)
    return curve[j] + (curve[j + 1] - curve[j]) * (t - j * step) / step


def _reached(curve: Sequence[float], step: int, wanted: float, q: float) -> float:
    """Return when the curve is at `wanted`, where each horizon adds q times what the last did."""
    horizon = step * (len(curve) - 1)
    gone, left, scale = 0, wanted, 1.0
    if q < 1 and wanted > curve[-1] / (1 - q) * (1 + 1e-12):
        return math.inf  # all that will ever be done is less
    if q == 1 and curve[-1] > 0:  # the same, without a sum that goes wrong in the last places
        passed = max(0, math.ceil(wanted / curve[-1]) - 1)
        gone, left = passed * horizon, wanted - passed * curve[-1]
    while gone <= TEN_YEARS and scale > 0 and curve[-1] > 0:
        for j in range(len(curve) - 1):
            low, high = scale * curve[j], scale * curve[j + 1]
            if high >= left:
                return gone + j * step + step * (left - low) / (high - low)
        left -= scale * curve[-1]
        gone += horizon
        scale *= q
    return math.inf


def _whole(t: float, turn: Callable[[float], int]) -> int:
    if t == math.inf:
        return FAR
    whole = round(t) if abs(t - round(t)) <= 1e-9 * t else turn(t)
    return FAR if whole > TEN_YEARS else whole


def choose(estimates: Sequence[Estimate]) -> tuple[int, GuestReason]:
    """Return which host Falcon takes, and why."""
    lives = [k for k, e in enumerate(estimates) if e.jct <= e.mttf and e.jct < FAR]
    if not lives:
        order = sorted(range(len(estimates)), key=lambda k: (-estimates[k].etl, -estimates[k].mttf))
        return order[0], GuestReason.LONGEST_LEFT
    order = sorted(lives, key=lambda k: (estimates[k].jctf, -estimates[k].mttf))
    return order[0], GuestReason.ENDS_FIRST


# ------------------------------------------------------------------------------- the play


@dataclass
class _Job:
    position: int
    submit: int
    work: int
    at: int | None = None  # when it is tried next
    host: int | None = None
    begun: int = 0  # its present stay
    chance: int = -1  # that it would end it there, as was said
    walk: Walk | None = None
    asked: int = -1  # when it was decided that it moves, and where to
    target: int = -1
    saved: int = 0
    tries: int = 0
    misses: int = 0
    start: int = -1
    finish: int = -1
    outcome: Fate = Fate.UNFINISHED
    all_tries: int = 0
    failures: int = 0
    lost: int = 0
    checkpoints: int = 0

    def fate(self) -> Row:
        return (
            self.start, self.finish, int(self.outcome),
            self.all_tries, self.failures, self.lost, self.checkpoints,
        )  # fmt: skip


def kept_jobs(jobs: Jobs, end: int, p: CycleParameters) -> list[tuple[int, int]]:
    """Return submit time and run time of the jobs that are simulated, in submit order."""
    out = []
    for submit, runtime in zip(jobs.submit.tolist(), jobs.runtime.tolist(), strict=True):
        runs = runtime if p.job_length is None else p.job_length
        if runs > 0 and submit < end:
            out.append((submit, runs))
    return out


def play(
    jobs: Jobs, hosts: HostTraces, parameters: CycleParameters, forecasts: Forecasts | None = None
) -> PlainOutcome:
    """Return what happens to the jobs, by the rules.

    `forecasts` gives the tables of each slot; None: those of this module.
    """
    return _Play(jobs, hosts, parameters, forecasts).run()


class _Play:
    def __init__(self, jobs: Jobs, hosts: HostTraces, p: CycleParameters, forecasts) -> None:
        self.p, self.world = p, World(hosts, p)
        self.forecasts = forecasts or plain_forecasts(self.world)
        rows = kept_jobs(jobs, self.world.end, p)
        self.jobs = [
            _Job(k, submit, MILLION * runs, at=submit) for k, (submit, runs) in enumerate(rows)
        ]
        first = rows[0][0]
        self.state = [self.world.state(h, first) for h in range(len(hosts))]
        self.changes = self.world.changes(first)
        self.guest: list[_Job | None] = [None] * len(hosts)
        self.draws = stream(p.seed, "cycle", "condor")
        self.now, self.looked = first, (first, -1)
        self.out = PlainOutcome([], [], [], [], [])

    def run(self) -> PlainOutcome:
        while any(job.at is not None or job.walk is not None for job in self.jobs):
            coming = list(self.coming())
            if not coming:
                break
            self.now, kind, key = min(coming)
            if kind == GuestEventKind.GUEST_ENDED:
                self.event(kind, key)
                self.guest_ended(self.jobs[key])
            elif kind == GuestEventKind.HOST_STATE:
                _, _, state = self.changes.pop(0)
                self.event(kind, key, state)
                self.host_state(key, state)
            elif kind == GuestEventKind.GUEST_AT_RISK:
                self.looked = self.now, key
                self.look(self.jobs[key])
            elif kind == GuestEventKind.GUEST_SAVED:
                self.event(kind, key)
                self.guest_saved(self.jobs[key])
            else:
                self.event(kind, key)
                self.try_job(self.jobs[key])
        for job in list(self.guest):
            if job is not None:
                assert job.walk.ended == StayEnd.UNFINISHED
                self.close(job)
        self.out.fates.extend(job.fate() for job in self.jobs)
        return self.out

    def coming(self) -> Iterator[tuple[int, GuestEventKind, int]]:
        """List all that can come next: (second, kind, job or host)."""
        end = self.world.end
        for job in self.jobs:
            if job.walk is not None and job.walk.done:
                yield job.walk.end, GuestEventKind.GUEST_ENDED, job.position  # also at the end
            if job.walk is not None and job.walk.ended == StayEnd.MOVED:
                yield job.walk.end, GuestEventKind.GUEST_SAVED, job.position
            if job.walk is not None and self.p.moves and (at := self.next_look(job)) < end:
                yield at, GuestEventKind.GUEST_AT_RISK, job.position
            if job.at is not None and job.at < end:
                yield job.at, GuestEventKind.TRY, job.position
        if self.changes:
            t, host, _ = self.changes[0]
            yield t, GuestEventKind.HOST_STATE, host

    def next_look(self, job: _Job) -> int:
        """Return when a job is looked at next."""
        every, begin = self.p.look_every, self.world.begin
        at = begin + -(-(self.now - begin) // every) * every
        return at if (at, job.position) > self.looked else at + every

    def event(self, kind: GuestEventKind, key: int, state: int = -1) -> None:
        self.out.events.append((self.now, int(kind), key, state))

    def decide(
        self,
        kind: GuestDecisionKind,
        reason: GuestReason,
        job: _Job,
        host: int = -1,
        at: int = -1,
        candidates: int = 0,
        figures: Sequence[int] = (0, 0, 0, 0, 0, 0),
    ) -> None:
        what = self.now, int(kind), int(reason), job.position
        tries = 0 if kind == GuestDecisionKind.MOVE else job.tries
        self.out.decisions.append((*what, host, at, tries, candidates, *figures))

    # --------------------------------------------------------------------------- what happens

    def guest_ended(self, job: _Job) -> None:
        job.finish, job.outcome = self.now, Fate.COMPLETED
        self.close(job)

    def host_state(self, host: int, state: int) -> None:
        self.state[host] = state
        job = self.guest[host]
        if state < S3 or job is None:
            return
        job.failures += 1
        job.tries = job.misses = 0
        self.decide(GuestDecisionKind.END, REASON[state], job, host)
        self.close(job)
        job.at = self.now

    def look(self, job: _Job) -> None:
        """Look at a guest that worked in the second before, and let it move where its host may
        leave and Falcon would rather have it elsewhere, to end earlier."""
        p, own = self.p, job.host
        if job.asked >= 0 or self.now == job.begun or self.now - 1 in job.walk.rests:
            return
        tables, _ = self.foreseen(job)
        table, state = tables[own], self.state[own]
        chances = table.reliability[state]
        passed, rest = divmod(p.look_ahead, table.step * (len(chances) - 1))
        stays = round(1e6 * (table.again[state] ** passed * _at(chances, table.step, rest)))
        if stays >= round(1e6 * p.move_below):
            return
        moving = self.walk(job, own, self.now)
        left = (job.work - job.saved - moving.work) / MILLION
        claimed = {other.target for other in self.jobs if other.asked >= 0}
        hosts = [
            h for h, guest in enumerate(self.guest)
            if h == own or (guest is None and self.state[h] < S3 and h not in claimed)
        ]  # fmt: skip
        cost = p.checkpoint_overhead + p.restart_overhead
        found = []
        for h in hosts:
            told = self.estimate_of(tables[h], h, left)
            ends = [e if h == own or e == FAR else e + cost for e in (told.jct, told.jctf)]
            chance = stays if h == own else told.chance
            found.append(Estimate(ends[0], told.mttf, told.etl, ends[1], chance))
        figures = [(e.jct, e.mttf, e.etl, e.jctf, 0, e.chance) for e in found]
        self.event(GuestEventKind.GUEST_AT_RISK, job.position)
        self.out.estimates.extend((h, *row) for h, row in zip(hosts, figures, strict=True))
        k, _ = choose(found)
        if found[k].jctf < found[hosts.index(own)].jctf:
            kind, why = GuestDecisionKind.MOVE, GuestReason.AT_RISK
            self.decide(kind, why, job, hosts[k], candidates=len(hosts), figures=figures[k])
            job.asked, job.target, job.walk = self.now, hosts[k], moving

    def guest_saved(self, job: _Job) -> None:
        job.tries = job.misses = 0
        self.close(job)
        job.at = self.now

    def close(self, job: _Job) -> None:
        """Write the job's stay down, and free its host."""
        walk, host = job.walk, job.host
        assert walk.ended == StayEnd.UNFINISHED or walk.end == self.now
        lost = 0
        if walk.ended not in (StayEnd.COMPLETED, StayEnd.UNFINISHED):
            lost = job.saved + walk.work - walk.saved
        what = job.position, host, int(walk.ended), walk.checkpoints
        did = walk.work, walk.saved, lost
        self.out.stays.append((*what, job.begun, walk.end, *did, job.chance))
        job.asked = job.target = -1
        job.saved = walk.saved
        job.lost += lost
        job.checkpoints += walk.checkpoints
        self.guest[host], job.host, job.walk = None, None, None

    def try_job(self, job: _Job) -> None:
        job.at = None
        job.tries += 1
        job.all_tries += 1
        free = [h for h, guest in enumerate(self.guest) if guest is None and self.state[h] < S3]
        if free:
            getattr(self, self.p.scheduler.replace("-", "_"))(job, free)
            return
        job.misses += 1
        if job.start < 0 and job.misses > self.p.retries:
            job.outcome = Fate.UNSCHEDULED
            self.decide(GuestDecisionKind.GIVE_UP, GuestReason.TRIED_ENOUGH, job)
        else:
            self.wait(job, GuestReason.NO_HOST, 0)

    def wait(self, job: _Job, reason: GuestReason, candidates: int) -> None:
        job.at = self.now + self.p.retry
        self.decide(GuestDecisionKind.WAIT, reason, job, at=job.at, candidates=candidates)

    def start(self, job: _Job, host: int, reason: GuestReason, free: int, figures) -> None:
        self.decide(GuestDecisionKind.START, reason, job, host, candidates=free, figures=figures)
        job.host, job.begun = host, self.now
        job.walk = self.walk(job, host)
        self.guest[host] = job
        if job.start < 0:
            job.start = self.now

    def walk(self, job: _Job, host: int, asked: int | None = None) -> Walk:
        begun = self.now if asked is None else job.begun
        made = self.world.walk(host, begun, job.work - job.saved, job.saved, asked)
        if self.p.restart == "scratch" and not made.done:
            assert made.saved == 0
        return made

    # --------------------------------------------------------------------------- schedulers

    def falcon(self, job: _Job, free: list[int]) -> None:
        tables, left = self.foreseen(job)
        self.take_best(job, free, [self.estimate_of(tables[h], h, left) for h in free])

    falcon_slides = falcon

    def estimate_of(self, table: Table, host: int, left: float) -> Estimate:
        if slides(self.p):
            return slides_estimate(table, self.state[host], left)
        return estimate(table, self.state[host], left, self.world.share(host, self.now))

    def foreseen(self, job: _Job) -> tuple[Sequence[Table], float]:
        tables = self.forecasts((self.now + self.p.warm_up) // self.p.predict_every)
        return tables, (job.work - job.saved) / MILLION

    def take_best(self, job: _Job, free: list[int], found: list[Estimate]) -> None:
        figures = [(e.jct, e.mttf, e.etl, e.jctf, 0, e.chance) for e in found]
        self.out.estimates.extend((h, *row) for h, row in zip(free, figures, strict=True))
        k, reason = choose(found)
        self.start(job, free[k], reason, len(free), figures[k])
        job.chance = found[k].chance

    def condor(self, job: _Job, free: list[int]) -> None:
        ranks = [self.world.rank(h, self.now) for h in free]
        self.out.estimates.extend((h, 0, 0, 0, 0, r, 0) for h, r in zip(free, ranks, strict=True))
        best = max(ranks)
        tied = [h for h, rank in zip(free, ranks, strict=True) if rank == best]
        host = tied[math.floor(float(self.draws.random()) * len(tied))]
        self.start(job, host, GuestReason.BEST_RANK, len(free), (0, 0, 0, 0, best, 0))

    def omniscient(self, job: _Job, free: list[int]) -> None:
        walks = {h: self.walk(job, h) for h in free}
        ends = {h: walk.end - self.now for h, walk in walks.items() if walk.done}
        figures = {h: (0, 0, w.work // MILLION, ends.get(h, FAR), 0, 0) for h, w in walks.items()}
        self.out.estimates.extend((h, *figures[h]) for h in free)
        if ends:
            host, reason = min(free, key=lambda h: ends.get(h, FAR)), GuestReason.TRUE_END
        elif self.p.restart == "scratch":
            self.wait(job, GuestReason.DOOMED, len(free))
            return
        else:
            host, reason = max(free, key=lambda h: figures[h][2]), GuestReason.TRUE_LONGEST
        self.start(job, host, reason, len(free), figures[host])
