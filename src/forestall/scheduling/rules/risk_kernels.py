"""What a search asks of a prediction: the body of each question is chosen by the prediction's type.

The bodies stand beside this module, a file for each type: foreseen failures, these beside hazards
of a live cluster's nodes, hazards, a table of a learner's answers, and what Python is asked. A
function here is the body for types that need none.

A *risk* is the probability that a node, or any of a set, fails a job in [start, end): that it fails
within, or from `now` on but before `start` and is still down then.
"""

from __future__ import annotations

from forestall.core._compile import by_type, kernel, merged_by_type
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.rules.search_state import CHOSEN


@merged_by_type
def move_on(prediction, now):
    """Let the present moment be `now`."""


@merged_by_type
def learn(prediction, node, now):
    """Take note that a node failed."""


@merged_by_type
def told(prediction, search, what):
    """Return whether the prediction can answer this question now; if not, Python is asked it."""
    return True


@by_type
def note_risks(prediction, scratch, now, start, end):
    """Note each free node's risk, and mark those above 0 as risky; return how many these are."""
    return 0


@by_type
def risk_of_set(prediction, row, now, start, end):
    """Return the risk of a set of nodes."""
    return 0.0


@merged_by_type
def risk_of_chosen(prediction, scratch, now, start, end):
    """Return the risk of the chosen nodes, those of each being noted already."""
    return risk_of_set(prediction, scratch.rows[CHOSEN], now, start, end)


@by_type
def take_least_together(prediction, scratch, pool, now, start, end, size):
    """Make the chosen nodes, those of a row of least risk one by one, the ones of least risk
    together. Where the more nodes a set has, and the riskier each, the riskier it is, they are."""


@merged_by_type
def risk_beyond(prediction, scratch, now, start, end, most):
    """Return the probability that more than `most` of the chosen nodes fail in [start, end), none
    of them twice."""
    return 0.0


@merged_by_type
def success_with_spares(prediction, scratch, now):
    """Return the probability that the chosen nodes and spares bring a job to its end in time
    (`spare_kernels`). Where failures cannot be counted, that none of the nodes fails: no more."""
    return scratch.offer[0].probability


@merged_by_type
def mean_down(prediction, row, now):
    """Return how many of a set of nodes are expected to fail within an outage's length from now:
    N r D of a pool. 0 where nothing is known of that."""
    return 0.0


@merged_by_type
def first_failure(prediction, node, now, start, end):
    """Return when the foreseen failure is by which a node fails a job in [start, end), or -1."""
    return -1


@merged_by_type
def next_recovery(prediction, now, lower):
    """Return the earliest end >= `lower` of an outage that is foreseen from `now` on, or FAR."""
    return FAR


@merged_by_type
def is_spread(prediction, scratch, now, start, end):
    """Return whether the risk of the chosen nodes is one that no later start escapes, so that a job
    of which nobody said that it waits for a safer one does not."""
    return False


@merged_by_type
def period(prediction):
    """Return the seconds after which what is foreseen repeats for ever, or 0."""
    return 0


@kernel
def known(search, what):
    """Return whether Python has answered this question; if not, it is asked."""
    if search[0].known & what:
        return True
    search[0].asks = what
    return False
