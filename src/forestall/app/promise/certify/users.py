"""What `users.csv` says of users who bargain, held against the jobs and the summary of the run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl

from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sheet import NONE, Bool, Int, Reals, Rows, Sheet, Summary
from forestall.app.kit.certify.sums import differences
from forestall.app.promise.certify.files import JobRows, Texts
from forestall.model.units import MAX_SECONDS

TOLERANCE: Final = 1e-9


def _amount(sheet: Sheet, name: str) -> Reals:
    """Return numbers from 0 up, 0 where a field is empty."""
    numbers = sheet.frame[name].fill_null("0").str.strip_chars().cast(pl.Float64, strict=False)
    good = numbers.is_finite() & (numbers >= 0)
    sheet.refuse(~good.fill_null(value=False), name, "a number from 0 up")
    return numbers.to_numpy()


@dataclass(frozen=True)
class UserRows(Rows):
    """`users.csv`; `row`, `deadline` NONE and `probability`, `worth` 0 where the user left."""

    FILE: ClassVar = "users.csv"
    name: Int = read.number_of_job()
    submit: Int = read.seconds()
    size: Int = read.whole(1, read.MAX_NODES)
    runtime: Int = read.whole(1, MAX_SECONDS)
    kind: Texts = read.column(lambda sheet, name: sheet.frame[name].fill_null("").to_numpy())
    least: Reals = read.column(_amount)
    value: Reals = read.column(_amount)
    soonest: Int = read.seconds()
    latest: Int = read.seconds()
    asked: Int = read.whole(1, 1000)
    shown: Int = read.whole(0, 1000)
    row: Int = read.whole(1, 1000, empty=True)
    deadline: Int = read.seconds(empty=True)
    probability: Reals = read.column(_amount)
    worth: Reals = read.column(_amount)

    @property
    def took(self) -> Bool:
        """Whether an offer was taken."""
        took: Bool = self.row != NONE
        return took


@dataclass(frozen=True)
class WantedRows(Rows):
    """What `events.csv` says of the probabilities that users took: `job` NONE, `wanted` 0 where an
    event is no submission."""

    FILE: ClassVar = "events.csv"
    job: Int = read.whole(1 - MAX_SECONDS, MAX_SECONDS, empty=True)
    wanted: Reals = read.column(_amount)
    told: Bool = read.column(lambda sheet, _: ~sheet.empty("wanted"), there=False)
    submitted: Bool = read.column(
        lambda sheet, _: (sheet.frame["event"] == "submitted").fill_null(value=False).to_numpy(),
        there=False,
    )


@dataclass(frozen=True)
class Bargained:
    """Users who bargained, and what the summary and, if there, the event log say of them."""

    users: UserRows
    said: Summary
    logged: WantedRows | None = None

    @classmethod
    def of(cls, folder: Path) -> Bargained | None:
        """Return what a folder says of users who bargain; None where none do."""
        said = Summary.of(folder)
        if "users" not in said.held and not (folder / UserRows.FILE).exists():
            return None
        logged = (folder / WantedRows.FILE).exists()
        return cls(UserRows.read(folder), said, WantedRows.read(folder) if logged else None)

    def check(self, jobs: JobRows, finding: Finding) -> str:
        """Find what cannot be."""
        users = self.users
        took, ids = users.took, users.name
        text = "job {0} was accepted with probability {1}, below its user's minimum, {2}"
        low = took & (users.probability < users.least)
        finding.where(low, text, ids, users.probability, users.least)
        late = took & ((users.deadline > users.latest) | (users.deadline < users.soonest))
        finding.where(late, "job {0} was accepted for {1}, outside its user's patience", ids,
                      users.deadline)  # fmt: skip
        off = took & ((users.row > users.shown) | (users.deadline == NONE))
        finding.where(off, "job {0} accepted an offer that was not shown", ids)
        self._worth(finding)
        self._jobs(jobs, finding)
        self._sums(jobs, finding)
        self._wanted(finding)
        left = int((~took).sum())
        return f"{len(ids) - left} of {len(ids)} accepted an offer, {left} left"

    def _worth(self, finding: Finding) -> None:
        """The value of a job falls evenly to 0 as patience ends."""
        users = self.users
        slack = np.maximum(users.latest - users.soonest, 1)
        here = users.value * (1.0 - (users.deadline - users.soonest) / slack)
        off = users.took & (np.abs(here - users.worth) > TOLERANCE * np.maximum(users.value, 1))
        text = "job {0} is worth {1} at its deadline, {2} recomputed"
        finding.where(off, text, users.name, users.worth, here)

    def _jobs(self, jobs: JobRows, finding: Finding) -> None:
        """Those that took are the jobs, with what they took as promise."""
        users = self.users.take(self.users.took)
        if users.name.tolist() != jobs.name.tolist():
            finding.all(["the jobs of users who accepted an offer differ from jobs.csv"])
            return
        for what, mine, theirs in (
            ("submission", users.submit, jobs.submit),
            ("number of nodes", users.size, jobs.size),
            ("run time", users.runtime, jobs.runtime),
            ("deadline", users.deadline, jobs.deadline),
            ("promise", users.probability, jobs.promise),
        ):
            text = "job {0}: " + what + " is {1} in users.csv, {2} in jobs.csv"
            finding.where(mine != theirs, text, jobs.name, mine, theirs)

    def _wanted(self, finding: Finding) -> None:
        """Each submission in the event log has the probability that the job's user took."""
        if self.logged is None:
            return
        rows = self.logged
        odd = np.flatnonzero(rows.told != rows.submitted)
        finding.all(
            [
                f"line {row + 2} of {rows.FILE}: wanted is set without a submission, or missing"
                for row in odd
            ]
        )
        users = self.users.take(self.users.took)
        here = dict(zip(users.name.tolist(), users.probability.tolist(), strict=True))
        mine = rows.wanted[rows.submitted]
        theirs = np.array([here.get(job, -1.0) for job in rows.job[rows.submitted].tolist()])
        text = "job {0} was submitted with {1} in events.csv, {2} in users.csv"
        finding.where(mine != theirs, text, rows.job[rows.submitted], mine, theirs)

    def _sums(self, jobs: JobRows, finding: Finding) -> None:
        """The sums of all users, and of each kind."""
        users, said = self.users, self.said.value("users", (dict,), "measures of users")
        kinds = sorted(set(users.kind.tolist()))
        every = np.ones(len(users), dtype=np.bool_)
        by_kind = {k: self._of(jobs, users.kind == k) for k in kinds}
        here: dict[str, Any] = {**self._of(jobs, every), "kinds": by_kind}
        told = dict(said)
        empty = self._of(jobs, ~every)
        if isinstance(told.get("kinds"), dict):  # kinds that no user was of are told, too
            none = {k: empty for k in told["kinds"] if k not in kinds}
            here["kinds"] = {**by_kind, **none}
        finding.all(differences("users", told, here, TOLERANCE))
        below = int((users.probability < users.least)[users.took].sum())
        told_below = self.said.held.get("promises_below_wanted")
        finding.all(differences("promises_below_wanted", told_below, below, TOLERANCE))

    def _of(self, jobs: JobRows, mine: Bool) -> dict[str, Any]:
        """Return the measures of some of the users."""
        users = self.users.take(mine)
        took = users.took
        kept = set(jobs.name[jobs.finish <= jobs.deadline].tolist())
        held = took & np.array([one in kept for one in users.name.tolist()], dtype=np.bool_)
        count = int(took.sum())
        return {
            "jobs": len(users),
            "took": count,
            "left": len(users) - count,
            "asked": int(users.asked.sum()),
            "asked_again": int((users.asked > 1).sum()),
            "took_first": int((users.row == 1).sum()),
            "taken_mean": math.fsum(users.probability[took]) / count if count else None,
            "value": math.fsum(users.value),
            "value_left": math.fsum(users.value[~took]),
            "value_promised": math.fsum((users.probability * users.worth)[took]),
            "value_kept": math.fsum(users.worth[held]),
        }
