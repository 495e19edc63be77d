"""Calibration of many promises: the distribution of past scores, and debts that are paid.

A score is where a turnaround lies in the law that was told when the job was submitted. Were all
laws right, scores would be even on (0, 1). What they are is estimated from the latest jobs, those
not done yet censored (Kaplan and Meier); a promise with probability p gets the deadline whose score
has it. What is still owed, probabilities said less promises kept in a decile, then moves p: little
while it is small, without bound as it nears the share that is allowed (the saturated integrator of
Angelopoulos, Candes and Tibshirani, "Conformal PID control for time series prediction", NeurIPS
2023). Promises whose end is not known count with their present chance, so what is paid already is
not paid again while its outcome is awaited.
"""

from __future__ import annotations

import math

from forestall.core._compile import kernel
from forestall.prediction.models.ordered_kernels import below, up_to
from forestall.site.learning.turnaround.book_state import (
    ALIKE,
    BINS,
    BLEND,
    BY_DEADLINE,
    BY_LEVEL,
    COHORT,
    DONE,
    ITSELF,
    LOST,
    OPEN,
    OWING,
    PENDING,
    RUNNING,
    VOID,
)
from forestall.site.learning.turnaround.law_kernels import put, score_of

GAPS = (701, 301, 132, 57, 23, 10, 4, 1)
"""Ciura's gaps for Shell's method."""
_FIRST = 30.0
"""Scores before which the plain law is taken as it is."""
_FEW = 100.0
"""Promises that a decile is taken to have at least, so that its first ones are not all steered."""
_EDGE = 1e-4
_CHEAP, _DEAR = 2.0, 20.0
"""What it costs to owe more in a decile that owes all that is allowed, in distances from what is
believed: of named deadlines, and of those at the floor, whose deciles nobody else may fill."""


@kernel
def depth_of(group):
    """Return how many of the latest jobs calibrate a group."""
    return COHORT if group == 0 else COHORT // 2


@kernel
def join_cohort(book, group, k):
    """Let a job be the latest of a group; the oldest leaves it. Return its number there."""
    own, depth = book.groups[group], depth_of(group)
    number = own.pushed
    place = number % depth
    # The ring is full: this place holds the oldest. Its score stands among the sorted ones only if
    # it is known.
    if number >= depth:
        old = book.jobs[own.cohort[place]]
        if old.status in (DONE, LOST):
            ordered = own.ordered
            for i in range(below(ordered, 0, own.held, old.score), own.held - 1):
                ordered[i] = ordered[i + 1]
            own.held -= 1
    own.cohort[place] = k
    own.pushed = number + 1
    own.stale += 1
    return number


@kernel
def add_score(book, group, number, score):
    """Add the score of a job that is done, where it is still among the latest of a group."""
    own = book.groups[group]
    if own.pushed - number <= depth_of(group):
        put(own.ordered, own.held, score)
        own.held += 1
        own.stale += 1


@kernel
def sort(values, count):
    """Sort the first `count` numbers (Shell's method)."""
    for gap in GAPS:
        for i in range(gap, count):
            value, j = values[i], i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value


@kernel
def estimate(book, group):
    """Make the distribution of scores anew: product-limit estimate over the cohort."""
    own, jobs = book.groups[group], book.jobs
    # Open jobs are censored at the score that they have reached; what came to nothing is too, for
    # ever.
    waiting, count = book.desk[0].scratch, 0
    for i in range(min(own.pushed, depth_of(group))):
        job = jobs[own.cohort[i]]
        if job.status in (PENDING, RUNNING, VOID):
            waiting[count] = job.score
            count += 1
    sort(waiting, count)
    held, ordered, score, reached = own.held, own.ordered, own.score, own.below
    # One more at risk than there are jobs: the largest score seen is not taken for the largest of
    # all, and nobody is promised certainty.
    alive, left, c, steps = 1.0, float(held + count) + 1.0, 0, 0
    for i in range(held):
        while c < count and waiting[c] < ordered[i]:
            c += 1
            left -= 1.0
        alive *= 1.0 - 1.0 / left
        left -= 1.0
        # Equal scores are one jump.
        if steps > 0 and score[steps - 1] == ordered[i]:
            reached[steps - 1] = 1.0 - alive
        else:
            score[steps], reached[steps] = ordered[i], 1.0 - alive
            steps += 1
    own.steps, own.stale, own.tail = steps, 0, 0.1
    # Beyond the last score the law goes on exponentially; its scale is the distance of the upper 10
    # and 2.5 % over log 4.
    if held >= 20:
        upper, most = ordered[held - held // 10 - 1], ordered[held - 1 - held // 40]
        own.tail = min(max((most - upper) / math.log(4.0), 0.05), 1.0)


@kernel
def chance_of(book, group, score):
    """Return the calibrated probability of a score of at most `score`."""
    if group == ITSELF:
        return min(max(score, 0.0), 1.0)
    own = book.groups[group]
    steps = own.steps
    if steps == 0 or own.held < _FIRST:
        return min(max(score, 0.0), 1.0)
    scores, reached = own.score, own.below
    at = up_to(scores, steps, score)
    if at == steps:
        beyond = (score - scores[steps - 1]) / own.tail
        return 1.0 - (1.0 - reached[steps - 1]) * math.exp(-min(beyond, 50.0))
    if at == 0:
        return reached[0] * max(score, 0.0) / max(scores[0], 1e-12)
    low, high = scores[at - 1], scores[at]
    part = (score - low) / (high - low)
    # Half a step at most between two scores: where many have the same one, it is a jump.
    return reached[at - 1] + part * min(reached[at] - reached[at - 1], 1.0 / steps)


@kernel
def score_for(book, group, chance):
    """Return the least score with this calibrated probability."""
    if group == ITSELF:
        return chance
    own = book.groups[group]
    steps = own.steps
    if steps == 0 or own.held < _FIRST:
        return chance
    scores, reached = own.score, own.below
    at = below(reached, 0, steps, chance)
    if at == steps:
        beyond = math.log((1.0 - reached[steps - 1]) / max(1.0 - chance, 1e-9))
        return scores[steps - 1] + own.tail * max(beyond, 0.0)
    if at == 0:
        return scores[0] * chance / reached[0]
    step = reached[at] - reached[at - 1]
    part = (chance - reached[at - 1]) / step
    # A jump of many equal scores: only its end reaches the probability.
    if step > 1.5 / steps:
        return scores[at]
    return scores[at - 1] + part * (scores[at] - scores[at - 1])


@kernel
def levels_of(question):
    """Return how many calibrations serve a question. Those of sizes serve deadlines only:
    probabilities of named ones hold worse with them, for their deciles fill unevenly."""
    return ALIKE if question == BY_LEVEL else OWING


@kernel
def group_of(book, question, job):
    """Return which calibration a job gets: that of its size in its partition, of its partition, or
    of all jobs; the narrowest that rests on enough. A law that came corrected needs none."""
    if job.told:
        return ITSELF
    for level in range(levels_of(question) - 1, 0, -1):
        if book.groups[job.groups[level]].held >= book.desk[0].enough:
            return job.groups[level]
    return 0


@kernel
def allowed(desk, question):
    """Return the share of its promises that a decile may be off."""
    return desk.allowed if question == BY_LEVEL else desk.allowed_named


@kernel
def owed(book, question, group, decile):
    """Return what is owed in a decile as a share of what is allowed, -1 to 1."""
    own, desk = book.groups[group], book.desk[0]
    # At +-1 the tangent would be infinite: the debt is kept just inside.
    count = max(own.made[question, decile], _FEW)
    share = own.debt[question, decile] / (count * allowed(desk, question))
    return min(max(share, -0.99), 0.99) * desk.steer


@kernel
def pressure(book, question, job, decile):
    """Return the logits for all debts of a decile: those of everybody, and half of those of the
    partition where it is one of several."""
    gain, part = book.desk[0].gain, job.groups[1]
    # The saturated integrator: tan(pi / 2 x debt) is nearly linear for small debts and has no
    # bound.
    total = gain * math.tan(0.5 * math.pi * owed(book, question, 0, decile))
    made = book.groups[part].made[question, decile]
    # A partition of its own debts, unless it is too small to tell or all there is.
    if 200.0 <= made < 0.9 * book.groups[0].made[question, decile]:
        total += 0.5 * gain * math.tan(0.5 * math.pi * owed(book, question, part, decile))
    return total


@kernel
def moved(chance, logits):
    """Return a probability moved by so many logits."""
    chance = min(max(chance, _EDGE), 1.0 - _EDGE)
    return 1.0 / (1.0 + (1.0 - chance) / chance * math.exp(-min(max(logits, -40.0), 40.0)))


@kernel
def decile_of(chance):
    """Return the decile of a probability said; 1 is in the last."""
    return min(int(chance * BINS), BINS - 1)


@kernel
def say(book, question, job, chance):
    """Return the probability to say where `chance` is believed.

    It moves within its decile, so as to pay what is owed there. Another decile within reach is
    taken where that costs less: what is owed in a decile makes it dear to those who would owe still
    more and cheap to those who pay, and the open promises of the same user make it dear, since they
    are likely to be kept or missed together.
    """
    best, said, own = math.inf, chance, decile_of(chance)
    everybody, desk, user = book.groups[0], book.desk[0], book.users[job.user]
    for decile in range(BINS):
        # Just below the next decile, so that what is said is counted where it was weighed.
        low, high = max(decile / BINS, 0.001), min((decile + 1) / BINS - 1e-9, 0.999)
        pushed = moved(chance, -pressure(book, question, job, decile))
        pushed = min(max(pushed, low), high)
        way = abs(pushed - chance)
        if way > desk.reach and decile != own:
            continue
        debt = owed(book, question, 0, decile)
        paid = (chance - pushed) if debt > 0 else (pushed - chance)
        room = max(everybody.made[question, decile], _FEW) * allowed(desk, question)
        together, dear = 0.0, _DEAR
        if question == BY_DEADLINE:
            together, dear = min(user.exposed[decile] / room, 2.0), _CHEAP
        # The square makes small debts nearly free; who pays more than 0.05 makes a decile cheaper.
        cost = way + dear * debt * debt * (0.05 - paid) + desk.spread * together
        if cost < best:
            best, said = cost, pushed
    return said


@kernel
def owing(promise, question):
    """Return the probability that counts for debts: what is said; of named deadlines what would be,
    so that moving them is judged as if it had always been done."""
    return promise.stated if question == BY_LEVEL else promise.aim


@kernel
def owe(book, which, job, sign):
    """Enter a promise into the debts (1), or take it out (-1)."""
    promise = book.promises[which]
    # Promises of job k stand at 2 k + question.
    question, decile = which % 2, promise.bin
    for level in range(OWING):
        own = book.groups[job.groups[level]]
        own.debt[question, decile] += sign * (owing(promise, question) - promise.chance)
        own.made[question, decile] += sign


@kernel
def reassess(book, which, job, chance):
    """Give an open promise, or one whose end is known (0 or 1), its present chance."""
    promise = book.promises[which]
    change = promise.chance - chance
    promise.chance = chance
    if promise.counted:
        question, decile = which % 2, promise.bin
        for level in range(OWING):
            book.groups[job.groups[level]].debt[question, decile] += change


@kernel
def look_at_open(book, now):
    """Bring the scores of open jobs, and the chances of their promises, up to now."""
    for i in range(book.desk[0].open):
        k = book.open_jobs[i]
        job = book.jobs[k]
        law, age = book.laws[job.slot], float(now - job.submit)
        job.score = score_of(law.grid, law.top, age) if age >= 1 else 0.0
        for question in range(2):
            promise = book.promises[2 * k + question]
            if promise.state == OPEN:
                group = group_of(book, question, job)
                past = chance_of(book, group, job.score)
                by = chance_of(book, group, promise.mark)
                # P(score <= mark, given that it has not ended by its present score).
                chance = (by - past) / (1.0 - past) if past < 1.0 else by
                reassess(book, 2 * k + question, job, min(max(chance, 0.0), 1.0))


@kernel
def curve_seen(book, group, chance, kept):
    """Learn what became of a named deadline: counts fade, so that the curve follows."""
    seen, fading = book.groups[group].seen, book.desk[0].fading
    b = min(int(chance * BLEND), BLEND - 1)
    seen[b, 0] = fading * seen[b, 0] + 1.0
    seen[b, 1] = fading * seen[b, 1] + chance
    seen[b, 2] = fading * seen[b, 2] + kept


@kernel
def bend(book, group):
    """Make the rising curve of kept shares anew, by pooling neighbours that fall."""
    own, count = book.groups[group], 0
    seen, curve = own.seen, own.curve
    # scratch: weight, sum said, sum kept of each pool
    pools = book.desk[0].scratch
    for b in range(BLEND):
        if seen[b, 0] < 1.0:
            continue
        # Drawn towards what was said, as if some more outcomes had agreed with it.
        said = seen[b, 1] / seen[b, 0]
        weight = seen[b, 0] + book.desk[0].prior
        pools[3 * count] = weight
        pools[3 * count + 1] = said * weight
        pools[3 * count + 2] = seen[b, 2] + book.desk[0].prior * said
        count += 1
        # Pool adjacent violators (Ayer et al. 1955): shares kept must rise with what was said.
        while count > 1:
            a, z = 3 * (count - 2), 3 * (count - 1)
            if pools[a + 2] * pools[z] <= pools[z + 2] * pools[a]:
                break
            for c in range(3):
                pools[a + c] += pools[z + c]
            count -= 1
    for b in range(count):
        curve[b, 0] = pools[3 * b + 1] / pools[3 * b]
        curve[b, 1] = pools[3 * b + 2] / pools[3 * b]
    own.bent = count


@kernel
def bent(book, group, chance):
    """Return a probability on the curve: straight between its points, and to 0 and 1."""
    own = book.groups[0 if group == ITSELF else group]
    curve, count = own.curve, own.bent
    x0, y0 = 0.0, 0.0
    for b in range(count):
        x1, y1 = curve[b, 0], curve[b, 1]
        if chance < x1:
            return y0 + (y1 - y0) * (chance - x0) / max(x1 - x0, 1e-12)
        x0, y0 = x1, y1
    return y0 + (1.0 - y0) * (chance - x0) / max(1.0 - x0, 1e-12)
