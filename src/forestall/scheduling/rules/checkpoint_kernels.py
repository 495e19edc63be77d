"""When to checkpoint, and how long a job that may checkpoint is given."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import kernel

CHECKPOINT_NONE, CHECKPOINT_RISK, CHECKPOINT_ALL = map(np.int64, range(3))

PERFORM, SKIP_RISK, SKIP_DEADLINE = map(np.int64, range(3))


@kernel
def requests(work, interval):
    """Return K(w) = ceil(w / I) - 1, the checkpoint requests of `work` seconds of progress: none at
    its very end, where there is nothing left to lose."""
    return (work + interval - 1) // interval - 1


@kernel
def reservation_length(work, interval, overhead, policy):
    """Return E = w + K(w) C, or w where checkpointing is switched off."""
    if policy == CHECKPOINT_NONE:
        return work
    return work + requests(work, interval) * overhead


@kernel
def answer_request(risk, intervals, interval, overhead, left, time, deadline):
    """Return PERFORM, SKIP_RISK or SKIP_DEADLINE (Oliner et al., DSN 2005, Equation 1).

    Perform iff p_f d I >= C; skip it even then where it would make a job late that is otherwise in
    time. `deadline` is -1 where nothing was promised.
    """
    if risk * intervals * interval < overhead:  # the work at stake, s, against the pause
        return SKIP_RISK
    # The pause makes it late, and without it (and any later one) it would be in time.
    if time + overhead + left > deadline >= time + left:
        return SKIP_DEADLINE
    return PERFORM
