"""What is free of each node of a shared machine over time: a list of steps a node."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import inlined, kernel
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.rules import fit_kernels as fits


@inlined
def new_step(profile, time, after, free):
    """Return a spare step with these contents; the caller has made room."""
    profile.spares[0] -= 1
    step = profile.spare[profile.spares[0]]
    profile.time[step], profile.after[step] = time, after
    fits.copy_to(profile.free[step], free)
    return step


@kernel
def clear(profile, capacity, now):
    """Let all nodes be free from `now` on."""
    steps, nodes = len(profile.time), len(capacity)
    for node in range(nodes):
        profile.head[node] = node
        profile.time[node], profile.after[node] = now, -1
        fits.copy_to(profile.free[node], capacity[node])
    for i in range(steps - nodes):
        profile.spare[i] = steps - 1 - i
    profile.spares[0] = steps - nodes


@kernel
def advance(profile, now):
    """Forget steps that are over before `now`."""
    for node in range(len(profile.head)):
        step = profile.head[node]
        while profile.after[step] >= 0 and profile.time[profile.after[step]] <= now:
            profile.spare[profile.spares[0]] = step
            profile.spares[0] += 1
            step = profile.after[step]
        profile.head[node] = step


@inlined
def split(profile, node, time):
    """Return the step of a node that begins at `time`, made where there is none."""
    step = profile.head[node]
    while profile.after[step] >= 0 and profile.time[profile.after[step]] <= time:
        step = profile.after[step]
    if profile.time[step] >= time:  # a node's first step stands for all the time before it
        return step
    fresh = new_step(profile, time, profile.after[step], profile.free[step])
    profile.after[step] = fresh
    return fresh


@kernel
def change(profile, kinds, k, capacity, node, units, first, end, sign):
    """Take units of a kind from a node over [first, end) (`sign` -1), or give them back (1)."""
    step = split(profile, node, first)
    past = split(profile, node, end)
    while step != past:
        fits.take_units(kinds, k, capacity[node], profile.free[step], units, sign)
        step = profile.after[step]


@kernel
def close(profile, node, first, end):
    """Take all of a node over [first, end), in which it is down."""
    step = split(profile, node, first)
    past = split(profile, node, end)
    while step != past:
        for r in range(profile.free.shape[1]):
            profile.free[step, r] = -1
        step = profile.after[step]


@kernel
def units_over(profile, kinds, k, capacity, node, first, end, least):
    """Return how many units of a kind fit on a node throughout [first, end); the least that is
    free of it in that time is left in its row of `least`."""
    if not kinds.allowed[kinds.table[k].nodes, node]:
        return np.int64(0)
    step = profile.head[node]
    while profile.after[step] >= 0 and profile.time[profile.after[step]] <= first:
        step = profile.after[step]
    fits.copy_to(least[node], profile.free[step])
    step = profile.after[step]
    while step >= 0 and profile.time[step] < end:
        for r in range(least.shape[1]):
            least[node, r] = min(least[node, r], profile.free[step, r])
        step = profile.after[step]
    return fits.units_within(kinds, k, capacity[node], least[node])


@kernel
def opening(profile, kinds, k, capacity, node, first, length, limit):
    """Return (opens, closes): the first stretch of starts, none before `first`, from which a unit
    fits on a node for `length` s; FAR twice where there is none up to `limit`, and `closes` FAR for
    one without end."""
    if not kinds.allowed[kinds.table[k].nodes, node]:
        return FAR, FAR
    step, opens = profile.head[node], np.int64(-1)
    while step >= 0 and (opens >= 0 or profile.time[step] <= limit):
        after = profile.after[step]
        ends = profile.time[after] if after >= 0 else FAR
        if ends > first:
            if fits.units_within(kinds, k, capacity[node], profile.free[step]) > 0:
                if opens < 0:
                    opens = max(first, profile.time[step])
                if after < 0:
                    return opens, FAR
            elif opens >= 0:
                last = profile.time[step] - length
                if last >= opens:
                    return opens, last
                opens = np.int64(-1)
        step = after
    return FAR, FAR


@kernel
def earliest(profile, kinds, k, capacity, up_at, now, length, wanted, room):
    """Return the earliest start from `now` on from which `wanted` units fit for `length` s. Nodes
    that are down count from their return on, int64[nodes] `up_at`."""
    if kinds.table[k].cap > 1:
        return earliest_spread(profile, kinds, k, capacity, up_at, now, length, wanted, room.least)
    nodes, limit = len(capacity), FAR
    for node in range(nodes):
        room.opens[node], room.until[node] = opening(
            profile, kinds, k, capacity, node, max(now, up_at[node]), length, limit
        )
        if wanted == 1:  # no other node matters that opens later
            limit = min(limit, room.opens[node])
    time = now
    while True:
        count, later = 0, FAR
        for node in range(nodes):
            if room.until[node] < time:
                room.opens[node], room.until[node] = opening(
                    profile, kinds, k, capacity, node, max(time, up_at[node]), length, FAR
                )
            if room.opens[node] <= time:
                count += 1
            else:
                later = min(later, room.opens[node])
        if count >= wanted:
            return time
        assert later < FAR, "a job was let in that fits nowhere"
        time = later


@kernel
def earliest_spread(profile, kinds, k, capacity, up_at, now, length, wanted, least):
    """Return the earliest start for tasks that are spread: it is now, where a step begins, or when
    a node is back."""
    time = now
    while True:
        count, later = np.int64(0), FAR
        for node in range(len(capacity)):
            if up_at[node] > time:
                later = min(later, up_at[node])
            else:
                count += units_over(profile, kinds, k, capacity, node, time, time + length, least)
            step = profile.head[node]
            while step >= 0 and profile.time[step] <= time:
                step = profile.after[step]
            if step >= 0:
                later = min(later, profile.time[step])
        if count >= wanted:
            return time
        assert later < FAR, "a job was let in that fits nowhere"
        time = later
