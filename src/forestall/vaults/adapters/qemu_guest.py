"""What a virtual machine consists of, and the command line that starts it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from forestall.core.files.records import record_of
from forestall.core.model.errors import ForestallError, ParameterError

PROGRAM: Final = "qemu-system-x86_64"
MIB: Final = 2**20
CONTROL: Final = "control.qmp"
LOOK: Final = "look.qmp"
CONSOLE: Final = "console.log"
LOG: Final = "qemu.log"
PID: Final = "pid"
"""Files in the folder of a run. A monitor serves one client at a time, so there are two: one for
whoever acts, and one for whoever only looks."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?")
_MEMORY = re.compile(r"(\d+)\s*([MG]?)(?:i?B)?", re.IGNORECASE)


class MachineError(ForestallError):
    """Something about one virtual machine did not work; the text says which and what."""

    def __init__(self, machine: str, message: str) -> None:
        self.machine = machine
        self.message = message
        super().__init__(f"{machine}: {message}")


class FolderError(MachineError):
    """Something cannot be written in a machine's folder: the disk is full, or it is not ours."""

    def __init__(self, machine: str, path: Path, error: OSError) -> None:
        super().__init__(machine, f"{path} cannot be written: {error.strerror or error}")


def checked_name(name: str, what: str) -> str:
    """Return a name that can be a folder. Raises ParameterError.

    >>> checked_name("vm-1", "machine")
    'vm-1'
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        allowed = "1 to 64 letters, digits, dots, dashes or underscores; first a letter or digit"
        raise ParameterError(what, name, allowed)
    return name


def parse_memory(text: str, name: str = "memory") -> int:
    """Return the bytes of ``128M``, ``4G``, or ``128`` (MiB). Raises ParameterError.

    >>> parse_memory("1G") // MIB
    1024
    """
    match = _MEMORY.fullmatch(text.strip())
    amount = 0 if match is None else int(match[1]) * (1024 if match[2].upper() == "G" else 1)
    if not 1 <= amount < 2**24:
        raise ParameterError(name, text, "an amount of memory such as 128M or 4G")
    return amount * MIB


@dataclass(frozen=True)
class Guest:
    """A virtual machine, wherever it runs.

    Attributes
    ----------
    name : of the machine
    kernel, initrd : files that QEMU loads without a boot loader; an initrd may be missing
    memory : bytes
    processors : virtual processors
    append : the kernel's command line
    machine, cpu, accel : machine type, processor model and accelerator, in QEMU's words
    more : further words of QEMU's command line, such as for disks that all nodes reach
    """

    name: str
    kernel: str
    initrd: str = ""
    memory: int = 128 * MIB
    processors: int = 1
    append: str = "console=ttyS0"
    machine: str = "q35"
    cpu: str = "qemu64"
    accel: str = "tcg"
    more: tuple[str, ...] = ()

    def checked(self) -> Self:
        """Return this guest. Raises ParameterError for what QEMU would not take."""
        checked_name(self.name, "machine")
        for what, path in (("kernel", self.kernel), ("initrd", self.initrd)):
            if (path or what == "kernel") and not Path(path).is_file():
                raise ParameterError(what, path, "an existing file")
        if not 1 <= self.processors <= 255:
            raise ParameterError("processors", self.processors, "1 to 255")
        if self.memory < MIB or self.memory % MIB:
            raise ParameterError("memory", self.memory, "whole MiB")
        for what in ("machine", "cpu", "accel"):
            if not re.fullmatch(r"[\w.+-]+(?:[,=][\w.+-]+)*", getattr(self, what)):
                raise ParameterError(what, getattr(self, what), "a value that QEMU takes")
        return self

    def to_json(self) -> dict[str, Any]:
        """Return a form that `from_json` reads."""
        return {**self.__dict__, "more": list(self.more)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """Return the guest of such a form. Raises ParameterError."""
        return record_of(cls, value)


def command_line(guest: Guest, node: str, *, incoming: bool = False) -> list[str]:
    """Return QEMU's command line for a guest, to be run in the folder of the run.

    All paths of sockets and logs are relative to that folder, since a socket's path may not be
    longer than 107 bytes. A guest that switches off leaves QEMU waiting, so that the end of a guest
    can be told from the end of QEMU. A target (`incoming`) waits to be told where to listen, and
    does not let its guest run before it is told to: it never runs in two places.
    """
    words = [
        PROGRAM, "-name", f"{guest.name}@{node}", "-no-user-config", "-nodefaults",
        "-display", "none", "-machine", f"{guest.machine},accel={guest.accel}",
        "-cpu", guest.cpu, "-m", f"{guest.memory // MIB}M", "-smp", str(guest.processors),
        "-kernel", guest.kernel,
    ]  # fmt: skip
    if guest.initrd:
        words += ["-initrd", guest.initrd]
    if guest.append:
        words += ["-append", guest.append]
    words += [
        "-chardev", f"file,id=console,path={CONSOLE}", "-serial", "chardev:console",
        "-qmp", f"unix:{CONTROL},server=on,wait=off", "-qmp", f"unix:{LOOK},server=on,wait=off",
        "-pidfile", PID, "-no-shutdown", *guest.more,
    ]  # fmt: skip
    return [*words, "-S", "-incoming", "defer"] if incoming else words
