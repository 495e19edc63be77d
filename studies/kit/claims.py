"""A claim of a paper beside what was measured."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

import forestall as fs


@dataclass(frozen=True)
class Claim:
    """What a paper says, and what was found; whatever returns one is a test that can fail.

    Attributes
    ----------
    name : in short
    claim : in words
    measured, verdict : what came out, and whether the claim holds
    brief : the figures of `measured` that decide, where that is long; all of them stand in it
    section : of the paper, where it says so; paper : its number, where it has one
    where : on which log or hosts it was tested, where there are several
    why : it came out so
    rests : on what the verdict rests: logs or generated machines, runs, seeds, intervals
    """

    name: str
    claim: str
    measured: str
    verdict: str
    brief: str = ""
    section: str = ""
    paper: str = ""
    where: str = ""
    why: str = ""
    rests: str = ""

    @property
    def place(self) -> str:
        """Where the paper says it, or else where it was tested."""
        said = f"; the paper: {self.paper}" if self.paper else ""
        return (self.section or self.where) + said


UNTESTED: Final = "cannot be tested here"
"""The verdict where nothing in the data could make a claim hold or fail."""
FOLLOWS: Final = "follows from the input"
"""The verdict where a claim holds, and what the study puts in leaves it no other way."""


class UntestableError(Exception):
    """Says what is missing to test a claim: no failure came, nothing was played."""


class Finding(NamedTuple):
    """What was measured, in words, and the verdict; `brief` as in `Claim`."""

    measured: str
    verdict: str
    brief: str = ""


@dataclass(frozen=True)
class Asked:
    """A claim to test: name, section, words, the paper's number, why it comes out as it does and on
    what it rests are those of `Claim`; `test` finds what was measured, or raises `UntestableError`.

    `follows` : verdicts of the test that the inputs of the study leave no other way: they become
    "follows from the input".
    """

    name: str
    section: str
    claim: str
    test: Callable[..., Finding]
    why: str = ""
    paper: str = ""
    rests: str = ""
    follows: str = ""

    def of(self, *found: Any, where: str = "") -> Claim:
        """Return the claim with what its test finds."""
        return Claim(
            self.name, self.claim, *finding_of(self.test, *found, follows=self.follows),
            section=self.section, paper=self.paper, where=where, why=self.why, rests=self.rests,
        )  # fmt: skip


def finding_of(test: Callable[..., Finding], *found: Any, follows: str) -> Finding:
    """Return what a test finds: `UNTESTED` where it has nothing to go by, `FOLLOWS` in the place of
    the verdict `follows`."""
    try:
        finding = test(*found)
    except UntestableError as missing:
        return Finding(str(missing), UNTESTED)
    return finding._replace(verdict=FOLLOWS) if finding.verdict == follows else finding


class Verdicts(NamedTuple):
    """The words of a study for a claim that holds, that holds in part, and that does not."""

    holds: str
    partly: str
    fails: str

    def of(self, good: Iterable[bool]) -> str:
        """Return the verdict on a claim of several parts; UntestableError where there is none."""
        parts = list(good)
        if not parts:
            raise UntestableError("nothing was measured")
        return self.holds if all(parts) else self.partly if any(parts) else self.fails


CONFIRMED = Verdicts("confirmed", "confirmed in part", "not confirmed")


def listed(
    claims: Iterable[Claim], fields: Sequence[str], names: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return these fields of claims as plain values, under other names where `names` has one."""
    called = names or {}
    rows = map(asdict, claims)
    return [{called.get(field, field): row[field] for field in fields} for row in rows]


def claims_table(claims: Iterable[Claim], fields: Sequence[str]) -> pl.DataFrame:
    """Return these fields of claims as a table of text."""
    return pl.DataFrame(listed(claims, fields), schema=dict.fromkeys(fields, pl.String))


FIELDS: Final = tuple(one.name for one in fields(Claim))
"""Of the table of claims that a study keeps."""


def kept_claims(path: Path) -> list[Claim]:
    """Return the claims of a table that a study wrote (`claims.csv`)."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [Claim(**row) for row in csv.DictReader(lines)]


def closing_rows(claims: Iterable[Claim]) -> list[tuple[str, str, str, str]]:
    """Return one row a claim, however many logs or hosts it was tested on: what the paper says and
    where, what was found, the verdict, and on what it rests."""
    tests: dict[tuple[str, str, str], list[Claim]] = {}
    for one in claims:
        tests.setdefault((one.claim, one.section, one.paper), []).append(one)
    rows = []
    for (claim, section, paper), found in tests.items():
        told = "; the paper: ".join(part for part in (section, paper) if part)
        by_verdict: dict[str, list[str]] = {}
        for one in found:
            by_verdict.setdefault(one.verdict, []).append(one.where)
        rows.append((
            f"{claim} ({told})" if told else claim,
            "; ".join(_at(one.where, one.brief or one.measured) for one in found),
            "; ".join(word if len(by_verdict) == 1 else f"{word}: {', '.join(places)}"
                      for word, places in by_verdict.items()),
            "; ".join(dict.fromkeys(one.rests for one in found)),
        ))  # fmt: skip
    return rows


def _at(where: str, found: str) -> str:
    return f"{where}: {found}" if where else found


def say_claims(claims: Iterable[Claim]) -> None:
    """Print claims, each with what was found on each log."""
    for (text, place), tests in groupby(claims, key=lambda one: (one.claim, one.place)):
        fs.screen.say(f"{text} ({place})")
        for one in tests:
            log = f"{one.where}: " if one.section and one.where else ""
            fs.screen.say(f"{log}{one.verdict}; {one.measured}", indent=2)
