"""What the pages of all runs have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forestall.core.model.settings import told
from forestall.core.show import closing
from forestall.core.show import words as say_
from forestall.core.show.blocks import Block, Prose
from forestall.core.show.facts import Fact
from forestall.core.show.report import Report, Section
from forestall.core.show.words import Summary


def run_report(
    summary: Summary,
    kind: type,
    *,
    parameters: Mapping[str, object] | None = None,
    how: Sequence[str] = (),
    **said: Any,
) -> Report:
    """Return the report of a run: what is `said`, and at its end what was left out, `how` to read
    it, parameters with their units, and what made it.

    Parameters
    ----------
    kind : the class that declares the parameters
    parameters : where those that are shown are not those of the summary
    said : of `forestall.core.show.report.Report`
    """
    given = dict(summary.get("parameters") or {}) if parameters is None else parameters
    reading = Section("how", "How to read this page", body=tuple(Prose(text) for text in how))
    return Report(
        parameters=given,
        versions={name: str(value) for name, value in versions(summary).items()},
        closing=(
            closing.left_out(summary.get("skipped") or {}),
            *((reading,) if how else ()),
            closing.parameters(told(kind, given)),
            closing.made_with(versions(summary), "Version"),
        ),
        **said,
    )


def versions(summary: Summary) -> dict[str, object]:
    """Return what made the run, the seed included."""
    return {**(summary.get("versions") or {}), "seed": summary.get("seed")}


def part(
    key: str, title: str, body: Callable[[Any], tuple[Block, ...]]
) -> Callable[[Any], Section]:
    """Return a section of a report, as a function of the run, by what its body is made with."""
    return lambda run: Section(key, title, body=body(run))


def measures_by(facts: Callable[[Summary], tuple[Fact, ...]]) -> Callable[[Any], Section]:
    """Return the section of the measures that the terminal shows; a page has them in other
    places."""
    return lambda run: Section("measures", "Measures", series=facts(run.summary))


def hours_of(value: object, unit: str = "") -> str:
    """Return seconds, of processors or of hosts, as hours with this unit, or without any."""
    text = say_.node_hours(value)
    return text.removesuffix(say_.NODE_HOURS) + (unit if text != say_.NOTHING else "")


def listed(parts: Sequence[str]) -> str:
    """Return parts of a sentence: ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def measured(
    key: str,
    label: str,
    value: object,
    unit: str,
    meaning: str,
    tell: Callable[[object], str],
) -> Fact:
    """Return a measure of a run, `value` in `unit`, as a fact that is written as `tell` does; one
    that the run does not have is a dash."""
    plain = value if isinstance(value, int) else say_.number(value)
    why = meaning if plain is None else ""
    return Fact(key, label, plain, unit, why=why, meaning=meaning, shown=tell(value))
