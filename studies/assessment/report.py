"""The reproduction as text: Markdown for people, CSV for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from studies.assessment import paper
from studies.assessment.claims import Claim, Played
from studies.assessment.figures import NAMES

HEADS = ("Claim", "Section", "Paper", "Measured", "Verdict")


def claims_table(claims: Sequence[Claim]) -> pl.DataFrame:
    """Return ``name,claim,section,paper,measured,verdict,why``."""
    names = ("name", "claim", "section", "paper", "measured", "verdict", "why")
    return pl.DataFrame({name: [getattr(claim, name) for claim in claims] for name in names})


def machines_table(played: Played) -> pl.DataFrame:
    """Return one row for each generated machine."""
    rows = []
    groups = {
        "figures": (played.main,),
        "with": played.related,
        "without": played.unrelated,
        "small, without": played.nulls,
    }
    for name, machines in groups.items():
        for one in machines:
            first, second, third = one.periods.counts()
            rows.append(
                {
                    "machine": name,
                    "relation": one.relation,
                    "case_1": first,
                    "case_2": second,
                    "case_3": third,
                    "auc": one.area.auc,
                    "auc_low": one.area.low,
                    "auc_high": one.area.high,
                    "p_value": one.chance.p_value,
                    "auc_with_case_3": one.biased,
                    "part_at_20_percent": one.part,
                    "part_without_relation": one.blind_part,
                    "failed_jobs": one.truth.failed,
                    "killed_jobs": one.truth.killed,
                    "killed_found": one.truth.found,
                }
            )
    return pl.DataFrame(rows)


def beside_rows(played: Played) -> list[tuple[str, str, str]]:
    """Return (what, the paper's, ours) of the machine of the figures."""
    main = played.main
    value = main.periods.value[main.periods.considered]
    one, two, three = main.periods.counts()
    return [
        ("Case I", f"{paper.CASES[0]}", f"{one}"),
        ("Case II", f"{paper.CASES[1]}", f"{two}"),
        ("Case III", f"{paper.CASES[2]}", f"{three}"),
        ("Failed jobs", f"{paper.FAILED}", f"{main.truth.failed}"),
        ("Area", f"{paper.AREA}", f"{main.area.auc:.3f} ({main.area.low:.3f} to "
         f"{main.area.high:.3f})"),
        ("Random areas as high", f"{paper.EXCEED} of {paper.DRAWS}",
         f"{main.chance.exceed} of {main.chance.draws}"),
        ("Active memory in idle periods, mean", f"{paper.MEAN}", f"{value.mean():.3f}"),
        ("and its deviation", f"{paper.DEVIATION:.2f}", f"{value.std():.3f}"),
        ("Part of the gain at 20 %", f"about {paper.PART}", f"{main.part:.2f}"),
    ]  # fmt: skip


def verdict(played: Played, claims: Sequence[Claim]) -> str:
    """Return the whole reproduction as one page of Markdown."""
    lines = [
        f"# {paper.PAPER}",
        "",
        "The logs of the paper's machine are not public. Machines of its size were generated "
        "instead, whose nodes lose memory to some jobs; what was put in is known, so the method "
        "can be checked against it.",
        "",
        headline(claims),
        "",
        "## Claims",
        "",
        _table(HEADS, ((c.claim, c.section, c.paper, c.measured, f"**{c.verdict}**")
                       for c in claims)),
        "Why:",
        "",
        *(f"- *{claim.claim}*: {claim.why}" for claim in claims),
        "",
        "## The machine of the figures beside the paper's",
        "",
        _table(("", "Paper", "Ours"), beside_rows(played)),
        "The idle periods before a node's first job count, for a job follows them; those after its "
        "last job do not.",
        "",
        "## Figures",
    ]  # fmt: skip
    for name, text in NAMES.items():
        lines += ["", f"![{text}]({name})", "", text]
    return "\n".join(lines) + "\n"


def headline(claims: Sequence[Claim]) -> str:
    """Return how many claims held."""
    count = dict.fromkeys(("confirmed", "in part", "not confirmed"), 0)
    for claim in claims:
        count[claim.verdict] += 1
    return (
        f"Of {len(claims)} claims {count['confirmed']} are confirmed, {count['in part']} in part, "
        f"{count['not confirmed']} not."
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(r) for r in rows)]
    return "\n".join(f"| {line} |" for line in lines) + "\n"
