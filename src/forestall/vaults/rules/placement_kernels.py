"""The rule of `placement`, compiled: of all choices of m + k of a few hosts the one of least cost
less benefit, what was seen of the hosts at several moments being whether they were up or not."""

from __future__ import annotations

from forestall.core._compile import kernel


@kernel
def least_loss(cost, up, weight, gain, data, pieces, count, scratch, counts, chosen):
    """Write the best choice of `pieces` of the first `count` hosts into `chosen`, in order of
    their numbers; return its cost less its benefit. All choices are looked at; of equal ones the
    first by the hosts' numbers is taken.

    Parameters
    ----------
    cost : float64[hosts], s that a piece takes to each
    up : int8[hosts, moments], 1 where a host could be read from; weight : float64[moments]
    gain : s of work that are saved where enough of them are up
    data, pieces : m, and m + k
    scratch : int64[pieces], counts : int8[pieces + 1, moments], both to write in
    """
    moments = len(weight)
    best = 1e300
    depth = 0
    scratch[0] = -1
    for k in range(moments):
        counts[0, k] = 0
    while depth >= 0:
        scratch[depth] += 1
        # The hosts still to come have to leave room for the places still to fill.
        if scratch[depth] > count - (pieces - depth):
            depth -= 1
            continue
        mine, before, after = up[scratch[depth]], counts[depth], counts[depth + 1]
        for k in range(moments):
            after[k] = before[k] + mine[k]
        if depth + 1 < pieces:
            scratch[depth + 1] = scratch[depth]
            depth += 1
            continue
        benefit, price = 0.0, 0.0
        for k in range(moments):
            if after[k] >= data:
                benefit += weight[k]
        for j in range(pieces):
            price += cost[scratch[j]]
        loss = price - gain * benefit
        if loss < best:
            best = loss
            for j in range(pieces):
                chosen[j] = scratch[j]
    return best


@kernel
def shortlist(cost, mean, gain, data, count, most, order):
    """Write the `most` hosts with the least cost less their own part of the benefit into `order`,
    in order of their numbers; return how many there are.

    `cost` : float64[hosts] s; `mean` : float64[hosts], the chance that each is up; `gain` : s of
    work that are saved where enough are up; the first `count` hosts are looked at.
    """
    if count <= most:
        for k in range(count):
            order[k] = k
        return count
    held = 0
    for k in range(count):
        loss = cost[k] - gain * mean[k] / data
        place = held
        # Insertion into the few best ones: equal ones stay in order of their numbers.
        while place > 0 and loss < cost[order[place - 1]] - gain * mean[order[place - 1]] / data:
            place -= 1
        if place >= most:
            continue
        held = min(held + 1, most)
        for j in range(held - 1, place, -1):
            order[j] = order[j - 1]
        order[place] = k
    for k in range(1, held):
        one, place = order[k], k
        while place > 0 and order[place - 1] > one:
            order[place] = order[place - 1]
            place -= 1
        order[place] = one
    return held
