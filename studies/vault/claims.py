"""The slides' claims on checkpoints in a shared grid, as tests of what was found."""

from __future__ import annotations

import math
from typing import Final

import polars as pl

from studies.kit.claims import CONFIRMED, FOLLOWS, UNTESTED, Claim, Finding
from studies.kit.means import Mean
from studies.kit.text import share
from studies.vault.found import Found, Measured
from studies.vault.plan import GIB, PARTS, REMOTE, SERVER, SUBMITTER, VAULT

SHORTER: Final = (0.11, 0.44)
TIME_LOST: Final = 0.12
PROGRAMS: Final = ("solver", "search")
MEASURED: Final = "real daemons in network namespaces"
MIB: Final = 2**20
SEEDS: Final = "simulated runs of three to five seeds; 95 % intervals over seeds"
ONE_RUN: Final = "one run on one busy machine of two cores, real daemons"
GAINED: Final = (
    "what is gained is the time that checkpoints are on the far path: it grows with their size and "
    "with how often they are taken, and there is none where the server is near. Of the programs "
    "there is one run each, of about a minute: chance has a large part in them"
)


CONTRIBUTE: Final = (
    *("vault, not compressed", "vault, each version whole", "vault, hosts by number"),
    "vault, one copy on a shared host",
)
"""Ways that lack compression, shared chunks, the choice of hosts, and the code."""


def points(mean: Mean) -> str:
    """Return a share with its interval, in per cent."""
    if math.isinf(mean.low) or math.isnan(mean.mean):
        return share(mean.mean)
    return f"{share(mean.mean)} ({100 * mean.low:.1f} to {100 * mean.high:.1f})"


def gib(size: int) -> str:
    """Return bytes as GiB."""
    return f"{size / GIB:g} GiB"


def evaluate(found: Found) -> tuple[Claim, ...]:
    """Return all claims with what was found."""
    made = [
        *(_shorter(found, name) for name in found.sets),
        *(_programs(found.measured) if found.measured.there else ()),
        *(_time_lost(found, name) for name in found.sets),
        *_sizes(found),
        *(_shared(found, name) for name in found.sets),
        *(_submitter(found, name) for name in found.sets),
    ]
    if found.measured.there:
        made += [_clients(found.measured), _failures(found.measured)]
    if found.plan.parts:
        made.append(_parts(found))
    return tuple(made)


def _claim(name: str, claim: str, where: str, finding: Finding, why: str = "") -> Claim:
    rests = ONE_RUN if MEASURED in where else SEEDS
    return Claim(name, claim, *finding, where=where, why=why, rests=rests)


def _shorter(found: Found, name: str) -> Claim:
    """Mean makespans with the vault beside a dedicated remote server, simulated."""
    told, inside = [], []
    for size in sorted(found.plan.sizes):
        gain = found.shorter(name, VAULT, REMOTE, size)
        if not math.isnan(gain.mean):
            told.append(f"{points(gain)} at {gib(size)}")
            inside.append(SHORTER[0] <= gain.mean <= SHORTER[1])
    near = found.shorter(name, VAULT, SERVER, found.plan.sizes[0])
    text = f"{'; '.join(told)}; beside a server in the same network {points(near)}"
    return _claim(
        "run times", "applications take 11 to 44 % less time than with a dedicated remote server",
        f"{name}, simulated", Finding(text, CONFIRMED.of(inside)),
        GAINED,
    )  # fmt: skip


def _programs(measured: Measured) -> list[Claim]:
    """Makespans of the two programs under evictions, measured."""
    made = []
    for program in PROGRAMS:
        of = {one: measured.mean("seconds", test="program", layout=one, program=program)
              for one in ("none", VAULT, REMOTE, SERVER, SUBMITTER, "local")}  # fmt: skip
        gain = 1 - of[VAULT] / of[REMOTE]
        mine = measured.rows.filter(program=program)
        answers = set(mine["answer"].drop_nulls().to_list())
        stopped = set(mine.filter(~pl.col("done"))["layout"].to_list())
        told = ", ".join(
            f"{one} {'not done after' if one in stopped else ''} {value:.0f} s".replace("  ", " ")
            for one, value in of.items()
            if one != "none"
        )
        least = "at least " if REMOTE in stopped else ""
        text = f"{least}{share(gain)} ({told}; undisturbed {of['none']:.0f} s); "
        text += "the same answer each time" if len(answers) == 1 else "ANSWERS DIFFER"
        verdict = CONFIRMED.of([SHORTER[0] <= gain <= SHORTER[1]])
        if REMOTE in stopped and gain <= SHORTER[1]:
            verdict = UNTESTED  # a run that never ended tells only the least that is gained
        made.append(_claim(
            "run times", "applications take 11 to 44 % less time than with a dedicated remote "
            "server", f"{program}, {MEASURED}", Finding(text, verdict), GAINED,
        ))  # fmt: skip
    return made


def _time_lost(found: Found, name: str) -> Claim:
    """The share of guests' time that is spent on the path to a remote server."""
    shares = {size: found.mean(name, REMOTE, size, "time_share").mean for size in found.plan.sizes}
    told = [f"{share(shares[s])} at {gib(s)}" for s in sorted(shares) if not math.isnan(shares[s])]
    usual = shares[found.plan.sizes[0]]
    near = found.mean(name, SERVER, found.plan.sizes[0], "time_share").mean
    vault = found.mean(name, VAULT, found.plan.sizes[0], "time_share").mean
    text = f"{'; '.join(told)}; a near server {share(near)}, the vault {share(vault)}"
    if math.isnan(usual) or not any(value > 0 for value in shares.values()):
        verdict = UNTESTED
    else:
        good = TIME_LOST / 1.5 <= usual <= TIME_LOST * 1.5
        verdict = FOLLOWS if good else CONFIRMED.fails
    return _claim(
        "time lost", "transfers between campuses take 12 % of the time", f"{name}, simulated",
        Finding(text, verdict),
        "the size of checkpoints, the interval and the path are inputs of the study and give any "
        "share: near 12 % (within a factor of 1.5) at the usual size, far from it at others",
    )  # fmt: skip


def _sizes(found: Found) -> list[Claim]:
    """Storing takes less with the vault at each size."""
    made, name = [], found.sets[0]
    claim = "storing and recovery take less than with a dedicated remote server at every size"
    rows, good = [], []
    for size in sorted(found.plan.sizes):
        for what in ("save_seconds", "restore_seconds"):
            one, two = (found.mean(name, x, size, what).mean for x in (VAULT, REMOTE))
            rows.append(f"{'save' if 'save' in what else 'restore'} {gib(size)}: {one:.0f} against "
                        f"{two:.0f} s")  # fmt: skip
            good.append(one < two)
    made.append(
        _claim("overhead", claim, f"{name}, simulated", Finding("; ".join(rows),
                                                                CONFIRMED.of(good)))
    )  # fmt: skip
    measured = found.measured
    if measured.there:
        rows, good = [], []
        for size in sorted(set(measured.rows.filter(test="size")["bytes"].to_list())):
            for what in ("save", "restore"):
                one, two = (measured.mean(what, test="size", layout=x, bytes=size)
                            for x in (VAULT, REMOTE))  # fmt: skip
                rows.append(f"{what} {size // MIB} MiB: {one:.2f} against {two:.2f} s")
                good.append(one < two)
        finding = Finding("; ".join(rows), CONFIRMED.of(good))
        made.append(_claim("overhead", claim, MEASURED, finding))
    return made


def _shared(found: Found, name: str) -> Claim:
    """Bytes of a job that go over paths between sites."""
    size = found.plan.sizes[0]
    one, two = (found.mean(name, x, size, "bytes_between_sites").mean for x in (VAULT, REMOTE))
    text = f"{one / GIB:.2f} against {two / GIB:.2f} GiB a job"
    return _claim(
        "shared bandwidth", "the vault uses less of the network between campuses than a remote "
        "server", f"{name}, simulated", Finding(text, CONFIRMED.of([one < two])),
    )  # fmt: skip


def _submitter(found: Found, name: str) -> Claim:
    """A slow line to the submitting machine costs guests more time than every other way."""
    size = found.plan.sizes[0]
    lost, other = (found.mean(name, x, size, "unfinished").mean for x in (SUBMITTER, VAULT))
    busy = found.mean(name, SUBMITTER, size, "time_share").mean
    text = f"{share(busy)} of guests' time is spent on the line; {share(lost)} of jobs are not "
    text += f"done when the traces end ({share(other)} with the vault)"
    others = {x: found.mean(name, x, size, "time_share").mean for x in (REMOTE, SERVER, VAULT)}
    next_most = max(others, key=lambda x: others[x])
    text += f"; next is {next_most} with {share(others[next_most])} of the time"
    verdict = CONFIRMED.of([busy > others[next_most]])
    if not any(value > 0 for value in (busy, *others.values())):
        verdict = UNTESTED
    return _claim(
        "submitting machine", "checkpoints on a submitting machine behind a slow line cost most",
        f"{name}, simulated", Finding(text, verdict),
    )  # fmt: skip


def _clients(measured: Measured) -> Claim:
    """Guests that save at once."""
    counts = sorted(int(one) for one in set(measured.values("clients", test="clients")))
    told, slower = [], {}
    for layout in (VAULT, SERVER, REMOTE):
        at = [measured.mean("save", test="clients", layout=layout, clients=n) for n in counts]
        told.append(f"{layout} {' '.join(f'{one:.2f}' for one in at)} s")
        slower[layout] = at[-1] / at[0]
    text = f"a save with {', '.join(map(str, counts))} at once: {'; '.join(told)}"
    good = [slower[VAULT] < slower[SERVER], slower[VAULT] < slower[REMOTE]]
    return _claim(
        "simultaneous clients", "simultaneous clients slow a single server down more than the "
        "vault", MEASURED, Finding(text, CONFIRMED.of(good)),
        "all hosts of the test share the cores of one machine, so that clients also wait for each "
        "other's processors; the vault has the most work there, on both sides",
    )  # fmt: skip


def _failures(measured: Measured) -> Claim:
    """Storage hosts that are gone."""
    rows = measured.rows.filter(test="failures")
    told, good = [], []
    for layout, down, same in rows.select("layout", "down", "same").iter_rows():
        told.append(f"{layout}, {down} gone: {'recovered' if same else 'no checkpoint available'}")
        good.append(bool(same) == (layout == VAULT and down <= 2))
    return _claim(
        "storage failures", "a copy on one shared host is lost with the host; with 3 + 2 pieces "
        "any two hosts may be gone", MEASURED, Finding("; ".join(told), CONFIRMED.of(good)),
    )  # fmt: skip


def _parts(found: Found) -> Claim:
    """What each part of the vault contributes."""
    name, size = found.sets[0], found.plan.sizes[0]
    told, good = [], []
    for part in PARTS:
        gain = found.shorter(name, VAULT, part, size)
        told.append(f"{part}: {points(gain)}")
        if part in CONTRIBUTE:
            good.append(gain.above)
    return _claim(
        "components", "compression, erasure code and the choice of hosts each contribute",
        f"{name}, simulated",
        Finding("makespan with all parts, shorter than with " + "; ".join(told),
                CONFIRMED.of(good)),
        "the code costs time, as copies do: it buys survival of checkpoints, which matters where "
        "hosts go away (Grid'5000) and not where owners merely use them",
    )  # fmt: skip
