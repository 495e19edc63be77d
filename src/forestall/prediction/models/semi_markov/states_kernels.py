"""One pass over the samples of a host: in which of the five states it was."""

from __future__ import annotations

import math

from forestall.core._compile import entry

S1, S2, S3, S4, S5 = 0, 1, 2, 3, 4


@entry
def classify(load, memory, levels, slots, need, causal, out):
    """Write the state of each sample.

    Parameters
    ----------
    load : float64[n], CPU load from 0 to 1, nan where there is no sample
    memory : float64[n], free memory, nan where it is not known (taken as enough); float64[0] where
        it is known of no sample
    levels : (Th1, Th2)
    slots : samples that fit into the hold time; a heavy load or a gap of more is S3 or S5
    need : free memory that the guest needs
    causal : whether a sample's state may depend on itself and those before it alone
    out : int8[n], written
    """
    low, high = levels
    n = load.shape[0]
    watched = memory.shape[0] > 0
    heavy, gap = 0, 0  # samples under way of a heavy load, and without a value
    last = S5  # state of the last sample that had a value, heavy loads as S2
    was_heavy, known = False, False
    for i in range(n):
        x = load[i]
        if math.isnan(x):
            gap += 1
            # Longer than the hold time: the host is away, from the gap's begin on where the past
            # may still be rewritten. Shorter gaps go on with the last state.
            if gap > slots:
                if gap == slots + 1 and not causal:
                    for k in range(i - slots, i):
                        out[k] = S5
                    # What made the load before it last was this gap alone.
                    before = heavy - slots
                    if was_heavy and before <= slots:
                        for k in range(i - slots - before, i - slots):
                            if out[k] == S3:
                                out[k] = S2
                out[i] = S5
                heavy, was_heavy = 0, False
                continue
            state = last
        else:
            state = S1 if x <= low else S2
            was_heavy = x > high
            if watched and memory[i] < need:
                state = S4
            # A short gap at the very begin takes the first state that is seen.
            if not known and not causal and gap <= slots:
                for k in range(i - gap, i):
                    out[k] = state
            gap, last, known = 0, state, True
        if not was_heavy:
            heavy = 0
        else:
            heavy += 1
            # A load that lasts becomes contention, with the samples that led to it where they may
            # be rewritten; S4, too little memory, stays S4.
            if heavy > slots:
                if heavy == slots + 1 and not causal:
                    for k in range(i - slots, i):
                        if out[k] == S2:
                            out[k] = S3
                if state == S2:
                    state = S3
        out[i] = state
