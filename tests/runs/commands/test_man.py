"""Manual pages have every command and every option, and groff reads them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from core.commands.calls import call
from core.commands.test_help import ALL, PLAINS
from forestall.runs.commands.man import _roff, pages


def test_every_command_and_option_has_its_place() -> None:
    made = pages()
    assert set(made) == {f"{'-'.join(('forestall', *path))}.1" for path in ALL}
    for path, command in ALL.items():
        text = made[f"{'-'.join(('forestall', *path))}.1"]
        for one in command.params:
            if one.param_type_name == "option" and "--help-all" not in one.opts:
                assert all(_roff(name) in text for name in (*one.opts, *one.secondary_opts))
        for name, inner in getattr(command, "commands", {}).items():
            assert inner.hidden or path in PLAINS or f"\\fB{_roff(name)}\\fR" in text
    assert "EXIT STATUS" in made["forestall.1"]


def test_roff_is_escaped() -> None:
    assert _roff(".so it is\n a-b \\ c") == "\\&.so it is a\\-b \\e c"


def test_pages_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "man1"
    told = json.loads(call(capsys, "man", "--out", folder, "--json").out)
    assert told == {"folder": str(folder), "pages": sorted(pages())}
    assert (folder / "forestall-quote.1").read_text() == pages()["forestall-quote.1"]
    (tmp_path / "file").write_text("")
    refused = call(capsys, "man", "--out", tmp_path / "file")
    assert (refused.code, refused.err[:17]) == (2, "forestall: --out:")


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_groff_has_nothing_to_say() -> None:
    text = "".join(pages().values())
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-Kutf8", "-ww"], input=text, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stderr == ""
