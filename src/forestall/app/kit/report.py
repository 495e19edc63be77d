"""What the pages of all runs have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forestall.model.settings import told
from forestall.show import closing
from forestall.show import words as say_
from forestall.show.blocks import Prose
from forestall.show.facts import Fact
from forestall.show.report import Report, Section
from forestall.show.words import Summary


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
    said : of `forestall.show.report.Report`
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
