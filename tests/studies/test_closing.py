"""Each study's pages have one row a claim, every figure of which is in the study's results."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from forestall.public.reports import markdown
from studies import STUDIES
from studies.kit.claims import FIELDS, Claim, claims_table, closing_rows, kept_claims
from studies.kit.text import CLOSING, closing_table, report, table

DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"


def figures(text: str) -> set[str]:
    """Return the numbers of a text as they are written."""
    return set(re.findall(r"\d[\d,]*(?:\.\d+)?|\.\d+", text))


def closing(claims: list[Claim]) -> str:
    """Return what a page of claims ends with."""
    whole = markdown(report("T", "L.", {CLOSING: closing_table(claims)}), figures=".png")
    return whole.split("L.\n\n", 1)[1]


def results(claims: list[Claim]) -> str:
    """Return the table of a study's first page: each claim, and in how many cases it holds."""
    tests: dict[tuple[str, str, str], list[str]] = {}
    for one in claims:
        tests.setdefault((one.claim, one.section, one.paper), []).append(one.verdict)
    rows = []
    for (claim, _, _), found in tests.items():
        count = Counter(found)
        said = [f"{word}: {n} of {len(found)}" if len(count) > 1 else word
                for word, n in count.items()]  # fmt: skip
        rows.append((claim, "; ".join(said)))
    short = table(("Claim", "Verdict"), rows)
    return markdown(report("T", "L.", {"R": short}), figures=".png").split("## R\n\n")[1]


def complaints(first: str, pages: list[str], claims: list[Claim]) -> list[str]:
    """Return what is wrong with a study's first page and with its pages of claims, given what the
    study found."""
    wrong = [f"{one.name}: does not say on what it rests" for one in claims if not one.rests]
    wrong += [
        f"{one.name}: {number} is not in what was measured"
        for one in claims
        for number in sorted(figures(one.brief) - figures(one.measured))
    ]
    if results(claims) not in first:
        wrong.append(f"the first page lacks\n{results(claims)}")
    title, head, rule, *ours = (line for line in closing(claims).splitlines() if line)
    shown: list[str] = []
    for page in pages:
        start, _, rows = page.partition(f"\n{title}\n\n{head}\n{rule}\n")
        if not rows:
            wrong.append(f"no table of claims: {start.splitlines()[0]}")
        shown += rows.splitlines()
    wrong += [f"not in the results: {line}" for line in shown if line not in ours]
    wrong += [f"twice: {line}" for line in ours if shown.count(line) > 1]
    return [*wrong, *(f"missing: {line}" for line in ours if line not in shown)]


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_pages_have_all_claims_as_they_were_found(name: str) -> None:
    claims = kept_claims(DOCS / name / "claims.csv")
    assert claims
    pages = [page.read_text("utf-8") for page in sorted((DOCS / name).glob("claims*.md"))]
    assert not complaints((DOCS / name / "index.md").read_text("utf-8"), pages, claims)


RAIN = Claim("rain", "It rains", "3 of 4 days, 12.5 mm in all", "holds", section="2",
             paper="5 days", where="Oslo", rests="4 days", brief="3 of 4 days")  # fmt: skip
DRY = replace(RAIN, measured="0 of 4 days", verdict="fails", where="Cairo", brief="")
SNOW = Claim("snow", "It snows", "never", "fails", rests="4 days | 1 town")


def test_one_row_a_claim() -> None:
    assert closing_rows([RAIN, SNOW, DRY]) == [
        ("It rains (2; the paper: 5 days)", "Oslo: 3 of 4 days; Cairo: 0 of 4 days",
         "holds: Oslo; fails: Cairo", "4 days"),
        ("It snows", "never", "fails", "4 days | 1 town"),
    ]  # fmt: skip


def test_pages_that_say_something_else_are_found_out(tmp_path: Path) -> None:
    kept = tmp_path / "claims.csv"
    kept.write_text(claims_table([RAIN, DRY, SNOW], FIELDS).write_csv())
    claims = kept_claims(kept)
    assert claims == [RAIN, DRY, SNOW]
    first = f"# Rain\n\n{results(claims)}"
    page = f"# Rain\n\n{closing(claims)}"
    lines = page.splitlines(keepends=True)
    assert not complaints(first, [page], claims)
    assert not complaints(first, ["".join(lines[:-1]), "".join([*lines[:-2], lines[-1]])], claims)
    assert complaints(first.replace("holds: 1 of 2", "holds"), [page], claims)
    assert complaints(first, [page, page], claims)
    for false in (
        page.replace("3 of 4", "4 of 4"),
        page.replace("holds", "fails"),
        page.replace(CLOSING, "Claims"),
        page + "\n## More\n",
        "".join(lines[:-1]),
    ):
        assert complaints(first, [false], claims)
    for wrong in (replace(RAIN, rests=""), replace(RAIN, brief="13 of 4 days")):
        assert complaints(f"# Rain\n\n{results([wrong])}", [f"# R\n\n{closing([wrong])}"], [wrong])
