"""Domains of libvirt as text: made from what a machine consists of, and read again.

What coordinators must know of a machine travels in the domain's metadata, on each host that it
comes to: so it is known again where every record of it is gone.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from xml.etree import ElementTree

from forestall.core.model.errors import ParameterError, TraceError
from forestall.machines.acting.hosts.pool import AFTER_LOSS, Definition
from forestall.machines.rules.sizes import Size
from forestall.vaults.adapters.qemu_guest import PROGRAM, Guest, checked_name

SPACE: Final = "urn:forestall:machine:1"
BARRED: Final = ".barred"
"""What the name of a domain ends with that only keeps a machine away."""
_TAG: Final = f"{{{SPACE}}}machine"
_UNITS: Final[Mapping[str, int]] = {
    "b": 1, "bytes": 1, "k": 2**10, "kib": 2**10, "m": 2**20, "mib": 2**20, "g": 2**30,
    "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9, "t": 2**40, "tib": 2**40, "tb": 10**12,
}  # fmt: skip

ElementTree.register_namespace("forestall", SPACE)


def domain_of(guest: Guest, console: str) -> str:
    """Return the domain of a guest that boots a kernel; what it prints is added to `console`.

    `guest.more`, words of QEMU's own command line, has no place in a domain.
    """
    if guest.more:
        allowed = "no QEMU options; with libvirt, give a domain (its XML) instead"
        raise ParameterError("qemu", " ".join(guest.more), allowed)
    root = ElementTree.Element("domain", type="qemu" if guest.accel == "tcg" else guest.accel)
    ElementTree.SubElement(root, "name").text = guest.name
    ElementTree.SubElement(root, "memory", unit="b").text = str(guest.memory)
    ElementTree.SubElement(root, "vcpu").text = str(guest.processors)
    system = ElementTree.SubElement(root, "os")
    ElementTree.SubElement(system, "type", arch="x86_64", machine=guest.machine).text = "hvm"
    for tag, text in (("kernel", guest.kernel), ("initrd", guest.initrd),
                      ("cmdline", guest.append)):  # fmt: skip
        if text:
            ElementTree.SubElement(system, tag).text = text
    cpu = ElementTree.SubElement(root, "cpu", mode="custom", match="exact", check="none")
    ElementTree.SubElement(cpu, "model", fallback="allow").text = guest.cpu
    devices = ElementTree.SubElement(root, "devices")
    ElementTree.SubElement(devices, "emulator").text = f"/usr/bin/{PROGRAM}"
    serial = ElementTree.SubElement(devices, "serial", type="file")
    ElementTree.SubElement(serial, "source", path=console, append="on")
    ElementTree.SubElement(devices, "controller", type="usb", model="none")
    ElementTree.SubElement(devices, "memballoon", model="none")
    return ElementTree.tostring(root, encoding="unicode")


def definition_of(text: str, source: str, **facts: Any) -> Definition:
    """Return what a domain's XML says that a machine consists of, with further fields.

    It gets an identity (uuid) where it has none. Raises TraceError, which names `source`.
    """
    root = _parsed(text, source)
    name = root.findtext("name") or ""
    try:
        checked_name(name, "machine")
    except ParameterError as error:
        raise TraceError(source, f"its name {name!r} is not allowed; {error.allowed}") from None
    if root.find("uuid") is None:
        identity = ElementTree.Element("uuid")
        identity.text = str(uuid.uuid4())
        root.insert(1, identity)
    _without_ours(root)
    made = ElementTree.tostring(root, encoding="unicode")
    return Definition(name, made, size_of(root, source), **facts)


def size_of(root: ElementTree.Element, source: str) -> Size:
    """Return the processors and bytes that a domain takes."""
    memory, processors = root.find("memory"), root.findtext("vcpu") or "1"
    try:
        if memory is None or memory.text is None:
            raise ValueError("it has no memory")
        unit = _UNITS[memory.get("unit", "KiB").lower()]
        return Size(float(int(processors)), float(int(memory.text) * unit))
    except (ValueError, KeyError) as error:
        raise TraceError(source, f"the size of this domain is unknown: {error}") from None


def to_xml(definition: Definition, *, barred: bool = False) -> str:
    """Return a domain as a host gets it: with what coordinators must know of it."""
    root = _parsed(definition.text, definition.machine)
    facts = {
        "generation": definition.generation, "runtime": definition.runtime,
        "deadline": definition.deadline, "begun": definition.begun,
        "after-loss": definition.after_loss,
    }  # fmt: skip
    holder = root.find("metadata")
    if holder is None:
        holder = ElementTree.SubElement(root, "metadata")
    told = {key: str(value) for key, value in facts.items() if value is not None}
    ElementTree.SubElement(holder, _TAG, told | ({"barred": "yes"} if barred else {}))
    if barred:
        name = root.find("name")
        assert name is not None
        name.text = f"{definition.machine}{BARRED}"
    return ElementTree.tostring(root, encoding="unicode")


def from_xml(text: str, node: str) -> tuple[str, Definition | None, Size, bool, str]:
    """Return of a domain on a host: name, what it consists of where it is ours, size, whether it is
    barred, and the file of its console."""
    root = _parsed(text, node)
    name, size = root.findtext("name") or "", size_of(root, node)
    ours = root.find(f"metadata/{_TAG}")
    source = root.find("devices/serial[@type='file']/source")
    console = "" if source is None else source.get("path", "")
    if ours is None:
        return name, None, size, False, console
    barred = ours.get("barred") == "yes"
    if barred:
        name = name.removesuffix(BARRED)
    try:
        definition = replace(
            definition_of(text, node), machine=name, generation=int(ours.get("generation", "1")),
            begun=int(ours.get("begun", "0")), runtime=_whole(ours.get("runtime")),
            deadline=_whole(ours.get("deadline")), after_loss=_way(ours.get("after-loss")),
        )  # fmt: skip
    except (ValueError, TraceError):
        return name, None, size, barred, console  # somebody wrote over it
    return name, definition, size, barred, console


def identity_of(text: str) -> str:
    """Return a domain's uuid."""
    return _parsed(text, "domain").findtext("uuid") or ""


def writable_disks(text: str) -> list[str]:
    """Return the disks of a domain that its guest may write: they are no part of its memory."""
    found = []
    for disk in _parsed(text, "domain").findall("devices/disk"):
        target = disk.find("target")
        if disk.find("readonly") is None and disk.get("device", "disk") in {"disk", "lun"}:
            found.append("disk" if target is None else target.get("dev", "disk"))
    return found


def _parsed(text: str, source: str) -> ElementTree.Element:
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise TraceError(source, f"is not XML: {error}") from None
    if root.tag != "domain":
        raise TraceError(source, f"not a domain of libvirt, but <{root.tag}>")
    return root


def _without_ours(root: ElementTree.Element) -> None:
    holder = root.find("metadata")
    if holder is None:
        return
    for one in holder.findall(_TAG):
        holder.remove(one)
    if len(holder) == 0:
        root.remove(holder)


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text)


def _way(text: str | None) -> str:
    return text if text in AFTER_LOSS else AFTER_LOSS[0]
