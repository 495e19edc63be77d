"""Proposals as the terminal shows them: moments as dates, sizes with units, one name for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import forestall.live.web.page
from core.commands.calls import call
from forestall.live.commands.proposals import WORDS
from live.commands.client_cases import answering

NOW = 1_795_000_000
FIGURES = (
    '{"start": 1795003600.0, "time": 7200.0, "avoid contact1": 1795003600.0, "loss": 2100000000.0,'
    ' "said": 0.99, "free": 1795003600.0, "restarts": 1.0, "cost of nothing": 91000.0}'
)


def test_figures_are_told_in_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    one = (
        '{"id": "ab", "state": "proposed", "role": "keeper", "action": "requeue", "target": "7",'
        f' "reason": "why", "figures": {FIGURES}, "expires": {NOW + 60}}}'
    )
    answers = {
        "/api/v1/proposals?": f'{{"proposals": [{one}]}}', "/api/v1/cluster": f'{{"now": {NOW}}}',
    }  # fmt: skip
    told = {path.rstrip("?"): (200, text.encode()) for path, text in answers.items()}
    with answering(told) as address:
        done = call(capsys, "proposals", "--server", address)
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    for words in (
        "cost of nothing 25.3 node-hours", "expected loss in a failure 583,333 node-hours",
        "restarts so far 1", "stated probability 99.0 %", "reserved for 2.0 h", "avoids contact1",
    ):  # fmt: skip
        assert words in shown
    assert re.search(r"reserved from \w+ \d+ Nov \d\d:\d\d", shown)
    assert not re.search(r"\de\+|1795", shown)


def test_page_and_terminal_have_the_same_names() -> None:
    source = Path(forestall.live.web.page.__file__).parent / "browser" / "proposals.js"
    [table] = re.findall(r"const WORDS = \{(.*)\};", source.read_text())
    pairs = re.findall(r'(?:"([^"]+)"|(\w+)): "([^"]+)"', table)
    assert {quoted or plain: words for quoted, plain, words in pairs} == WORDS
