"""Domains as text: what is written of a machine is read again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.machines.adapters.libvirt.domains import (
    definition_of,
    domain_of,
    from_xml,
    identity_of,
    to_xml,
    writable_disks,
)
from forestall.machines.rules.sizes import Size
from forestall.vaults.adapters.qemu_guest import MIB, Guest

GUEST = Guest("vm1", "/boot/vmlinux", "/boot/initrd", 256 * MIB, 2, "quiet <&>")
DISK = """<domain type='kvm'><name>vm2</name><memory unit='GiB'>2</memory><vcpu>4</vcpu>
<metadata><other xmlns='urn:o'/></metadata><devices>
<disk type='file' device='disk'><target dev='vda'/></disk>
<disk type='file' device='disk'><readonly/><target dev='vdb'/></disk>
<disk type='file' device='cdrom'><target dev='sda'/></disk></devices></domain>"""


def test_what_is_written_is_read_again() -> None:
    made = definition_of(
        domain_of(GUEST, "/c/console.log"), "vm1", runtime=60, deadline=99, begun=7,
        after_loss="boot", generation=3,
    )  # fmt: skip
    assert made.size == Size(2, 256 * MIB)
    name, found, size, barred, console = from_xml(to_xml(made), "h1")
    assert (name, found, size, barred, console) == (
        "vm1", made, made.size, False, "/c/console.log",
    )  # fmt: skip
    assert from_xml(to_xml(replace(made, runtime=None, deadline=None)), "h1")[1] == replace(
        made, runtime=None, deadline=None
    )


def test_a_barred_one_has_its_identity_and_another_name() -> None:
    made = definition_of(domain_of(GUEST, "/c"), "vm1")
    text = to_xml(made, barred=True)
    assert "<name>vm1.barred</name>" in text
    assert identity_of(text) == identity_of(to_xml(made)) != ""
    name, found, _, barred, _ = from_xml(text, "h1")
    assert (name, barred) == ("vm1", True)
    assert found is not None
    assert found.machine == "vm1"


def test_strangers_are_none_of_ours() -> None:
    name, found, size, barred, _ = from_xml(DISK, "h1")
    assert (name, found, size, barred) == ("vm2", None, Size(4, 2 * 2**30), False)


def test_what_a_guest_writes_to() -> None:
    assert writable_disks(DISK) == ["vda"]
    made = definition_of(DISK, "vm2.xml")
    assert "urn:o" in to_xml(made)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<domain>", "is not XML"),
        ("<network/>", "not a domain of libvirt, but <network>"),
        ("<domain><name>a b</name><memory>1</memory></domain>", "its name 'a b' is not allowed"),
        ("<domain><name>a</name></domain>", "it has no memory"),
        (
            "<domain><name>a</name><memory unit='x'>1</memory></domain>",
            "size of this domain is unknown",
        ),
    ],
)
def test_what_is_no_domain(text: str, told: str) -> None:
    with pytest.raises(TraceError, match=r"vm\.xml") as error:
        definition_of(text, "vm.xml")
    assert told in str(error.value)


def test_qemu_words_are_refused() -> None:
    with pytest.raises(ParameterError, match="give a domain"):
        domain_of(replace(GUEST, more=("-snapshot",)), "/c")
