"""Results as text: Markdown for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from studies.kit.claims import Claim


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a Markdown table; columns in `right` are aligned to the right."""
    marks = ["---:" if k in right else "---" for k in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows)) + "\n"


def claims_section(
    head: Sequence[str], claims: Iterable[Claim], fields: Sequence[str], why: str = ""
) -> str:
    """Return claims as a table of these fields and, in bold, their verdicts; below it `why`."""
    rows = [(*(getattr(c, field) for field in fields), f"**{c.verdict}**") for c in claims]
    return table(head, rows) + (f"\nWhy:\n\n{why}\n" if why else "")


def whys(claims: Iterable[Claim]) -> str:
    """Return why claims came out as they did, a line each; once for all tests of one claim."""
    told = {c.claim: c.why for c in claims if c.why}
    return "\n".join(f"- *{claim}*: {why}" for claim, why in told.items())


def share(value: float, digits: int = 1) -> str:
    """Return a share as text, in per cent."""
    return f"{100 * value:.{digits}f} %"


def page(title: str, lead: str, sections: Mapping[str, str]) -> str:
    """Return a whole report as Markdown."""
    parts = [f"# {title}\n\n{lead}\n", *(f"## {k}\n\n{body}" for k, body in sections.items())]
    return "\n".join(parts)


def images(names: Iterable[str], captions: Mapping[str, str] | None = None) -> str:
    """Return figures for Markdown, each with its caption where it has one."""
    told = captions or {}
    return "\n".join(
        f"![{told.get(name, name)}]({name})\n" + (f"\n{told[name]}\n" if name in told else "")
        for name in names
    )


def as_json(value: Mapping[str, Any]) -> str:
    """Return valid JSON: no NaN."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
