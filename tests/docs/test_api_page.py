"""The page on the API says what there is: routes, fields, settings with their defaults."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.live import desk
from forestall.core.web.access import Access
from forestall.core.web.tokens import TokenStore
from forestall.live.serving.settings import (
    TABLES,
    ServeTable,
    SlurmTable,
    WardenProcess,
    read_live_settings,
)
from forestall.live.web.api.asked import JobAsked, QuoteAsked, WordAsked
from forestall.live.web.site import site

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
HOW_TO = ROOT / "docs" / "how-to" / "live" / "serve-a-cluster.md"
PARTS = dict(re.findall(r"^#+ (.*)\n((?:(?!^#).*\n?)*)", PAGE, flags=re.MULTILINE))


def names(heading: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", PARTS[heading]))


def test_every_route(tmp_path: Path) -> None:
    nobody: Any = None
    app = site(nobody, Access(TokenStore(tmp_path / "tokens")), mounts=())
    paths = app.openapi()["paths"]
    there = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert there == set(
        re.findall(r"^\| `((?:GET|POST|DELETE) \S+)`", PARTS["Routes"], re.MULTILINE)
    )


@pytest.mark.parametrize(
    ("heading", "kinds"),
    [
        ("The cluster", [desk.ClusterTold]),
        ("A node", [desk.NodeTold]),
        ("A job", [desk.JobTold]),
        ("A quote", [desk.QuoteTold, desk.OfferTold, desk.RecordTold]),
        ("A promise", [desk.PromiseTold, desk.ActTold]),
        ("A proposal", [desk.ProposalTold]),
        ("The records", [desk.DecileTold, desk.PredictorTold, desk.CostTold]),
    ],
)
def test_every_field_of_an_answer(heading: str, kinds: list[Any]) -> None:
    wanted = {one.name for kind in kinds for one in fields(kind)}
    assert wanted <= names(heading), wanted - names(heading)


@pytest.mark.parametrize("kind", [QuoteAsked, JobAsked, WordAsked])
def test_every_field_of_a_question(kind: Any) -> None:
    assert set(kind.model_fields) <= names("Questions")


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return f"{value:,}" if isinstance(value, int) else value or "none"


@pytest.mark.parametrize(
    ("heading", "table"),
    [
        ("Table serve", ServeTable()),
        ("Table slurm", SlurmTable()),
        ("Keys of table warden that name its process", WardenProcess()),
    ],
)
def test_settings_and_their_defaults(heading: str, table: Any) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PARTS[heading], re.MULTILINE))
    assert rows == {one.name: shown(getattr(table, one.name)) for one in fields(table)}


def test_every_table_is_named() -> None:
    text = PARTS["Settings"] + "".join(heading for heading in PARTS if "able" in heading)
    for name in TABLES:
        assert name in text


def test_the_example_is_settings(tmp_path: Path) -> None:
    [block] = re.findall(r"```toml\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "forestall.toml"
    path.write_text(block)
    read = read_live_settings(path)
    assert read.serve.socket
    assert read.guard.warden.switch == "off"
