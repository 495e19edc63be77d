"""The jobs of promises: as the controller submits them, and as their owners do: the tag and the
options that their `sbatch` gets, and whether the job that comes is the one that was promised.

A tag is sealed with a key that only the controller has, names one promise of one owner, and is good
for the first job that carries it.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from forestall.core.model.errors import InputError
from forestall.core.model.hostlist import compress
from forestall.core.model.live.desk import JobOrder
from forestall.core.model.marks import tagged
from forestall.core.model.units import exact_duration, format_duration
from forestall.core.show.words import counted
from forestall.live.ledger.rows import OfferRow, PromiseRow
from forestall.live.slurm.quoting import wanted_job
from forestall.live.slurm.scripts import OddLineError, lines_of
from forestall.slurm.cluster.actions import Submit
from forestall.slurm.cluster.nouns import ClusterJob, ClusterView

BY_OWNER: Final = "owner"
"""In a promise's row: its owner submits its job."""
_OWN_START: Final = {
    "Dependency": "it waits for another job",
    "DependencyNeverSatisfied": "it waits for another job",
    "BeginTime": "it may not begin before a time of its own",
}
"""What Slurm says of jobs whose start was never the controller's to promise."""


class Seals:
    """Seals tags.

    key : at least 16 bytes that nobody else has
    """

    def __init__(self, key: bytes) -> None:
        assert len(key) >= 16, "a short key can be guessed"
        self._key = key

    def of(self, promise: str, owner: str) -> str:
        """Return the seal of a promise of an owner, 32 hexadecimal digits."""
        text = f"{promise}\0{owner}".encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:32]


class OwnerJob(NamedTuple):
    """The job of a promise that its owner submits: the seal of its tag, and its number, 0 until it
    was seen."""

    seal: str
    number: int = 0


def claims_of(
    promises: Mapping[str, PromiseRow], numbers: Mapping[str, int], seals: Seals
) -> dict[str, OwnerJob]:
    """Return which jobs may carry the promises whose owners submit them."""
    return {
        name: OwnerJob(seals.of(name, one.owner), numbers.get(name, 0))
        for name, one in promises.items()
        if one.job == BY_OWNER
    }


def sbatch_options(
    promise: PromiseRow, offer: OfferRow, seal: str, reservation: str, excluded: Sequence[str]
) -> tuple[str, ...]:
    """Return the options with which the owner's `sbatch` submits the job of a promise."""
    wanted = wanted_job(offer)
    options = {
        "comment": tagged(promise.id, seal=seal),
        "nodes": str(offer.size),
        "time": str(math.ceil(offer.length / 60)),
        "partition": wanted.partition,
        "constraint": wanted.features,
        "reservation": reservation,
        "exclude": compress(excluded) if excluded else "",
    }
    return tuple(f"--{name}={value}" for name, value in options.items() if value)


def check_probability(offer: OfferRow, job: JobOrder, usual: float) -> None:
    """Raise InputError for an offer below the probability that was wanted (`usual` where nobody
    named one), unless its owner takes it all the same."""
    wanted = float(offer.question.get("least", usual))
    if offer.probability < wanted and not job.below:
        told, least = (f"{100 * one:.3g} %" for one in (offer.probability, wanted))
        raise InputError(
            f"offer {offer.id} has a probability of {told}, below the {least} that was wanted; "
            "to take it all the same, say so (the option below)"
        )


def order_of(offer: OfferRow, job: JobOrder, at: int) -> Submit:
    """Return what submits the job of an offer. Raises ParameterError for what cannot be one."""
    wanted = wanted_job(offer, job.partition)
    return Submit(
        offer.id, job.script, offer.size, offer.length, job.name, at, job.words, wanted.partition,
        features=wanted.features, requeue=_requeue(job.script), output=job.output,
        user=offer.asked_by,
    )  # fmt: skip


def _requeue(script: str) -> str:
    """Return how a job is queued again: an option of the command would overrule what its script
    says of expedited requeues."""
    try:
        asked = lines_of(script).asked
    except OddLineError:  # sbatch will say so
        return "yes"
    return "expedite" if asked.get("requeue", "").startswith("expedite") else "yes"


def mismatch(job: ClusterJob, offer: OfferRow) -> str:
    """Return in words why a job is not the one that was promised, "" where it is."""
    return next(_differences(job, offer), "")


def _differences(job: ClusterJob, offer: OfferRow) -> Iterator[str]:
    wanted = wanted_job(offer)
    limit = math.ceil(offer.length / 60) * 60
    if job.array:
        yield "it is an array, and a promise covers one job"
    if job.node_count != offer.size:
        asked, offered = counted(job.node_count, "node"), counted(offer.size, "node")
        yield f"it asks for {asked}; the offer is for {offered}"
    if job.limit is None or job.limit > limit:
        has = "no time limit" if job.limit is None else f"a limit of {exact_duration(job.limit)}"
        yield f"it has {has}; the offer is for {exact_duration(limit)}"
    if wanted.partition and job.partition != wanted.partition:
        yield f"it is in partition {job.partition}; the offer is for {wanted.partition}"
    if job.features != wanted.features:
        asked = job.features or "no features"
        yield f"it asks for {asked}; the offer is for {wanted.features or 'no features'}"
    if job.waits and job.reason in _OWN_START:
        yield f"{_OWN_START[job.reason]}; the offer counted on its start"
    if job.held:
        yield "it is held, and a held job cannot keep a deadline"
    if job.submit is not None and not job.restarts and job.submit > offer.expires:
        late = format_duration(job.submit - offer.expires)
        yield f"it was submitted {late} after the offer expired"


def stray_tags(
    seen: ClusterView, carried: Mapping[str, ClusterJob], closed: Mapping[str, str]
) -> dict[int, str]:
    """Return for each job with a tag that carries no promise why it carries none.

    closed : what became of promises that are over, in words, by their ids
    """
    carrying = {job.id for job in carried.values()}
    found: dict[int, str] = {}
    for number, job in seen.jobs.items():
        name = job.mark.promise
        if not name or number in carrying:
            continue
        if name in closed:
            found[number] = f"promise {name} is over: {closed[name]}"
        elif name in carried:
            found[number] = f"promise {name} is job {carried[name].id}'s; a tag is good once"
        else:
            found[number] = f"tag {name} is no open promise of {job.user}'s, or was changed"
    return found
