"""A result as a report: sections of facts, tables, figures and notes, and what was read for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from forestall.core.model.cleaning import Cleaning
from forestall.core.show.blocks import Block, Figure, Table
from forestall.core.show.facts import Fact, Untold


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes
    ----------
    key : its name in JSON, and its place on the page
    title : of the section
    lead : one or two sentences that say the most important thing, with its numbers
    facts : numbers shown as cards and in JSON and OpenMetrics
    body : tables, bars, figures, sentences, things to do: in the order in which they are shown
    series : numbers that the tables show already: in JSON and OpenMetrics, not shown again
    notes : assumptions and rules in words
    untold : what could not be told; collected in a section of its own
    """

    key: str
    title: str
    lead: str = ""
    facts: tuple[Fact, ...] = ()
    body: tuple[Block, ...] = ()
    series: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    untold: tuple[Untold, ...] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        """Its tables."""
        return tuple(one for one in self.body if isinstance(one, Table))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its figures."""
        return tuple(one for one in self.body if isinstance(one, Figure))

    @property
    def tells(self) -> bool:
        """Whether it says more than what stands among what could not be told."""
        return bool(self.facts or self.body or not self.untold)


@dataclass(frozen=True)
class Scene:
    """Headline figures that rest on one assumption: what `assumes` says of jobs or nodes, as the
    end of a sentence, and the facts under it."""

    assumes: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Report:
    """All that a result says; every renderer takes one.

    Attributes
    ----------
    title : of the page
    headline : what was looked at, in a line below the title
    sections : in the order of the report
    verdict : what was found, in plain paragraphs
    top : the facts that matter most, as cards; one that a section has too leads to it
    scenes : the same figures under each of several assumptions, of which a page shows one at a
        time; `top` is that of the first
    sources : what was read
    cleaning : what was left out, changed or found odd in it
    parameters : what was chosen
    versions : what made it
    closing : sections at the end of the page: what was read, parameters, versions. None: made of
        `sources`, `cleaning`, `parameters` and `versions` (module `closing`)
    contents : whether the page has links to its sections
    about : facts on the report itself, such as its window: in OpenMetrics before all others
    labels : of every series in OpenMetrics, such as the cut that was asked for
    currency : of facts in money
    """

    title: str
    headline: str
    sections: tuple[Section, ...]
    verdict: tuple[str, ...] = ()
    top: tuple[Fact, ...] = ()
    scenes: tuple[Scene, ...] = ()
    sources: tuple[str, ...] = ()
    cleaning: Cleaning = field(default_factory=Cleaning)
    parameters: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    closing: tuple[Section, ...] | None = None
    contents: bool = False
    about: tuple[Fact, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    currency: str = ""

    def section(self, key: str) -> Section | None:
        """Return the section of that key, None where there is none."""
        return next((one for one in self.sections if one.key == key), None)

    def facts(self) -> list[tuple[Section, Fact]]:
        """Return every fact of a section with it, those that tables show as well."""
        return [(part, one) for part in self.sections for one in (*part.facts, *part.series)]

    def untold(self) -> list[tuple[str, Untold]]:
        """Return what could not be told, each with the key of its section."""
        return [(part.key, one) for part in self.sections for one in part.untold]

    def home_of(self, fact: Fact) -> Section | None:
        """Return the section that has a fact, None where none has it."""
        return next((part for part in self.sections if fact in part.facts), None)
