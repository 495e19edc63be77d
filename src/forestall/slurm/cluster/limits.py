"""What QOS and associations allow a job, as Slurm's accounting keeps it.

Slurm looks for each limit in the QOS of the partition, then in that of the job, then in the
association of its user; the first that has it counts. Limits of a group (``Grp...``) are those of
every account above as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

LEAST: Final = "MinTRES"
"""The limit that says what a job must ask for at least."""
_USUAL: Final = "normal"
_OTHERWISE: Final = {"MaxJobsPU": "MaxJobs"}
"""Limits of a QOS that have another name in an association."""


class Limit(NamedTuple):
    """A limit: its name in Slurm (``MaxWall``), of what (``time`` in s, ``jobs``, or a trackable
    resource: ``node``, ``gres/gpu``), and how much, at most (`LEAST`: at least)."""

    name: str
    of: str
    value: int

    @property
    def key(self) -> tuple[str, str]:
        """The same limit, wherever it stands."""
        return _OTHERWISE.get(self.name, self.name), self.of


class QosLimits(NamedTuple):
    """A QOS: its limits, and its flags as Slurm spells them."""

    limits: tuple[Limit, ...]
    flags: frozenset[str] = frozenset()


class Association(NamedTuple):
    """What somebody may do in an account, or all of an account may.

    Attributes
    ----------
    parent : the account above, "" where that is the account itself, or there is none
    usual : QOS of jobs that name none, "" where none is told
    qos : those that its jobs may have
    """

    parent: str
    usual: str
    qos: tuple[str, ...]
    limits: tuple[Limit, ...]

    @property
    def default(self) -> str:
        """The QOS that Slurm gives to a job that names none."""
        return self.qos[0] if len(self.qos) == 1 else self.usual or _USUAL


class WhoseLimit(NamedTuple):
    """A limit, and whose it is, in words."""

    whose: str
    limit: Limit


class Claim(NamedTuple):
    """Under which names a job runs; "" for an account or a QOS: its user's default."""

    user: str
    partition: str = ""
    account: str = ""
    qos: str = ""


@dataclass(frozen=True)
class ClusterLimits:
    """All of them that Slurm enforces; empty where it enforces none.

    Attributes
    ----------
    qos : by name
    associations : by account, user ("": of the whole account) and partition ("": of all)
    accounts : default account of users
    """

    qos: Mapping[str, QosLimits] = field(default_factory=dict)
    associations: Mapping[tuple[str, str, str], Association] = field(default_factory=dict)
    accounts: Mapping[str, str] = field(default_factory=dict)

    def flags(self, job: Claim) -> frozenset[str]:
        """Return the flags of a job's QOS."""
        known = self.qos.get(self._qos_of(job))
        return frozenset() if known is None else known.flags

    def on(self, job: Claim, of_partition: str) -> Iterator[WhoseLimit]:
        """Yield the limits that count for a job; those of unknown users are only those of QOS.

        of_partition : the QOS of its partition, "" where it has none
        """
        seen = set[tuple[str, str]]()
        own = self._qos_of(job)
        order = [own, of_partition] if "OverPartQOS" in self.flags(job) else [of_partition, own]
        for name in order:
            found = self.qos.get(name, QosLimits(())).limits
            yield from (WhoseLimit(f"QOS {name}", one) for one in found if one.key not in seen)
            seen.update(one.key for one in found)
        for whose, limits in self._of_accounts(job):
            yield from (WhoseLimit(whose, one) for one in limits if one.key not in seen)

    def _account(self, job: Claim) -> str:
        return job.account or self.accounts.get(job.user, "")

    def _association(self, job: Claim) -> Association | None:
        account = self._account(job)
        mine = self.associations.get((account, job.user, job.partition)) if job.user else None
        return mine or (self.associations.get((account, job.user, "")) if job.user else None)

    def _qos_of(self, job: Claim) -> str:
        mine = self._association(job)
        return job.qos or ("" if mine is None else mine.default)

    def _of_accounts(self, job: Claim) -> Iterator[tuple[str, tuple[Limit, ...]]]:
        """Yield whose limits count beside those of QOS: its user's, which Slurm tells with what
        they have from the accounts above, and of each account those of the group."""
        mine, account = self._association(job), self._account(job)
        if mine is None:
            return
        yield f"user {job.user} in account {account}", mine.limits
        passed = set[str]()
        while account not in passed and (one := self.associations.get((account, "", ""))):
            yield f"account {account}", tuple(two for two in one.limits if two.name[:3] == "Grp")
            passed.add(account)
            account = one.parent
