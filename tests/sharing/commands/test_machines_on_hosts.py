"""`forestall machines` with a fleet of hosts: wrong input, and hosts of which none answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.commands.calls import call

pytest.importorskip("libvirt", reason="libvirt-python is not installed")
NOBODY = "qemu+tcp://127.0.0.1:1/system"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    hosts = "".join(
        f'[hosts.{name}]\nuri = "{NOBODY}"\nprocessors = 2\nmemory = "1G"\ncluster = "a"\n'
        for name in ("h1", "h2")
    )
    (tmp_path / "fleet.toml").write_text(f"patience = 2\n{hosts}")
    (tmp_path / "kernel").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("start", "vm", "--kernel", "K", "--node", "h9"), 2, "--node: 'h9' is not allowed"),
        (("start", "vm", "--kernel", "K", "--after-loss", "x"), 2, "one of checkpoint, boot"),
        (("start", "vm", "--kernel", "K", "--qemu", "-snapshot"), 2, "give a domain"),
        (("start", "vm", "--kernel", "K", "--domain", "K"), 2, "give --kernel FILE, or with"),
        (("start", "vm", "--domain", "K"), 2, "is not XML"),
        (("start", "vm", "--domain", "nothing"), 2, "nothing: cannot be read"),
        (("start", "vm", "--kernel", "K"), 1, "no node has room for 1 processors and 128 MiB"),
        (("start", "vm", "--kernel", "K", "--node", "h1"), 1, "h1: does not answer"),
        (("migrate", "vm", "--to", "h1"), 2, "machine: 'vm' is not allowed"),
        (("stop", "vm"), 2, "one of the fleet: there is none yet"),
        (("checkpoint", "vm"), 2, "machine: 'vm' is not allowed"),
        (("dead", "h9"), 2, "node: 'h9' is not allowed; expected one of the fleet: h1, h2"),
        (("drain", "h9"), 2, "node: 'h9' is not allowed"),
        (("foresee", "h9", "--in", "1h"), 2, "node: 'h9' is not allowed"),
        (("watch", "--level", "rack:a", "--for", "1s"), 2, "one of system, cluster:a, node:h1"),
    ],
)
def test_wrong_input(
    fleet: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    given = [str(fleet / "kernel") if word == "K" else word for word in arguments]
    done = call(capsys, "machines", *given, "--fleet", fleet)
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert told in done.err


def test_nobody_answers(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listing = json.loads(call(capsys, "machines", "list", "--json", "--fleet", fleet).out)
    assert [one["state"] for one in listing["nodes"]] == ["silent", "silent"]
    assert "Connection refused" in listing["nodes"][0]["says"]
    done = call(capsys, "machines", "dead", "h1", "--fleet", fleet)
    assert "counts as switched off" in done.out
    assert "fenced" in call(capsys, "machines", "list", "--fleet", fleet).out
    done = call(capsys, "machines", "watch", "--for", "1s", "--quiet", "--fleet", fleet)
    assert done.code == 0
    assert "node silent" in (fleet / "ledger.jsonl").read_text()


def test_what_needs_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fleet.toml").write_text("[nodes]\na = 1\n")
    for words in (("checkpoint", "vm"), ("dead", "a"), ("start", "vm", "--domain", "x")):
        done = call(capsys, "machines", *words, "--fleet", tmp_path)
        assert done.code == 2
        assert "has no [hosts]" in done.err
    done = call(capsys, "machines", "watch", "--level", "node:a", "--fleet", tmp_path)
    assert "only a fleet of hosts has others" in done.err
