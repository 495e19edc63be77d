"""What a machine consists of: names that become folders, memory, and the one command line."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.vaults.adapters.qemu_guest import (
    MIB,
    Guest,
    checked_name,
    command_line,
    parse_memory,
)

GUEST = Guest("vm1", "/boot/vmlinux", "/boot/initrd", memory=256 * MIB, processors=2, append="a b")


@pytest.mark.parametrize("name", ["a", "vm-1", "node_7.rack3", "0", "x" * 64])
def test_names(name: str) -> None:
    assert checked_name(name, "machine") == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "-rf", ".hidden", "a b", "a\n", "é", "x" * 65, "dot.", "a,b", 7]
)
def test_names_that_cannot_be_folders(name: str) -> None:
    with pytest.raises(ParameterError, match=r"machine: .*letters, digits"):
        checked_name(name, "machine")


@given(st.text(max_size=80))
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    try:
        checked_name(name, "machine")
    except ParameterError:
        return
    assert Path("/fleet", name).parent == Path("/fleet")
    assert Path("/fleet", name).resolve() == Path("/fleet", name)


@pytest.mark.parametrize(
    ("text", "mib"),
    [("128M", 128), ("4G", 4096), ("128", 128), (" 1g ", 1024), ("512MiB", 512), ("2GB", 2048)],
)
def test_memory(text: str, mib: int) -> None:
    assert parse_memory(text) == mib * MIB


@pytest.mark.parametrize("text", ["", "0", "-1M", "1.5G", "M", "128K", "1T", "9" * 30])
def test_memory_that_is_none(text: str) -> None:
    with pytest.raises(ParameterError, match=r"memory: .*128M or 4G"):
        parse_memory(text)


def test_command_line() -> None:
    words = command_line(GUEST, "n1")
    assert words[0] == "qemu-system-x86_64"
    asked = dict(itertools.pairwise(words))
    assert asked["-m"] == "256M"
    assert asked["-smp"] == "2"
    assert asked["-machine"] == "q35,accel=tcg"
    assert asked["-append"] == "a b"
    assert "-incoming" not in words
    assert "-S" not in words


def test_a_target_differs_only_in_that_it_waits() -> None:
    """A guest can only go on in a machine of the same form."""
    plain = command_line(GUEST, "n1")
    waiting = command_line(GUEST, "n1", incoming=True)
    assert waiting == [*plain, "-S", "-incoming", "defer"]


def test_what_is_not_there_is_not_passed_on() -> None:
    words = command_line(replace(GUEST, initrd="", append="", accel="kvm", more=("-s",)), "n1")
    assert "-initrd" not in words
    assert "-append" not in words
    assert "q35,accel=kvm" in words
    assert words[-1] == "-s"


def test_nothing_listens_on_the_network() -> None:
    words = " ".join(command_line(GUEST, "n1", incoming=True))
    assert "tcp" not in words
    assert "-nodefaults" in words  # no network card either
    assert "vnc" not in words


def test_it_comes_back_from_json() -> None:
    guest = replace(GUEST, more=("-smbios", "type=0"))
    assert Guest.from_json(json.loads(json.dumps(guest.to_json()))) == guest


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "../x"),
        ("kernel", "/no/such/kernel"),
        ("kernel", ""),
        ("initrd", "/no/such/file"),
        ("processors", 0),
        ("memory", MIB + 1),
        ("memory", 0),
        ("machine", "q35 -s"),
        ("cpu", ""),
        ("accel", "tcg,,"),
    ],
)
def test_bad_guests(tmp_path: Path, field: str, value: object) -> None:
    kernel = tmp_path / "kernel"
    kernel.touch()
    good = replace(GUEST, kernel=str(kernel), initrd=str(kernel))
    assert good.checked() == good
    with pytest.raises(ParameterError):
        replace(good, **{field: value}).checked()
