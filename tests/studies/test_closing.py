"""Each study's page ends with one row a claim, every figure of which is in the study's results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from forestall.public.reports import markdown
from studies import STUDIES
from studies.kit.claims import FIELDS, Claim, claims_table, closing_rows, kept_claims
from studies.kit.text import CLOSING, closing_table, report

DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"


def figures(text: str) -> set[str]:
    """Return the numbers of a text as they are written."""
    return set(re.findall(r"\d[\d,]*(?:\.\d+)?|\.\d+", text))


def closing(claims: list[Claim]) -> str:
    """Return what a page ends with."""
    whole = markdown(report("T", "L.", {CLOSING: closing_table(claims)}), figures=".png")
    return whole.split("L.\n\n", 1)[1]


def complaints(page: str, claims: list[Claim]) -> list[str]:
    """Return what is wrong with a page, given what its study found."""
    wrong = [f"{one.name}: does not say on what it rests" for one in claims if not one.rests]
    wrong += [
        f"{one.name}: {number} is not in what was measured"
        for one in claims
        for number in sorted(figures(one.brief) - figures(one.measured))
    ]
    at = f"\n## {CLOSING}\n"
    if at not in page:
        return [*wrong, f"the page has no section {CLOSING!r}"]
    ours, theirs = closing(claims).splitlines(), page[page.index(at) + 1 :].splitlines()
    for line in theirs[: len(ours)]:
        if line not in ours:
            wrong.append(f"not in the results: {line}")
    missing = [line for line in ours if line not in theirs]
    more = len(theirs) > len(ours)
    return [
        *wrong,
        *(f"missing: {one}" for one in missing),
        *(["it is not the end"] if more else []),
    ]


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_a_page_ends_with_its_claims(name: str) -> None:
    page = DOCS / f"{name}.md"
    claims = kept_claims(DOCS / name / "claims.csv")
    assert claims
    assert not complaints(page.read_text(encoding="utf-8"), claims)


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


def test_a_page_that_says_something_else_is_found_out(tmp_path: Path) -> None:
    kept = tmp_path / "claims.csv"
    kept.write_text(claims_table([RAIN, DRY, SNOW], FIELDS).write_csv())
    claims = kept_claims(kept)
    assert claims == [RAIN, DRY, SNOW]
    page = f"# Rain\n\n{closing(claims)}"
    assert not complaints(page, claims)
    assert complaints(page.replace("3 of 4", "4 of 4"), claims)
    assert complaints(page.replace("holds", "fails"), claims)
    assert complaints(page.replace(CLOSING, "Claims"), claims)
    assert complaints(page + "\n## More\n", claims)
    assert complaints("\n".join(page.splitlines()[:-1]), claims)
    for false in (replace(RAIN, rests=""), replace(RAIN, brief="13 of 4 days")):
        assert complaints(f"# Rain\n\n{closing([false])}", [false])
