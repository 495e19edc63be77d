"""A small Linux guest that counts aloud on its serial console, for tests with a real QEMU.

Its kernel is Debian's for clouds: downloaded once as a package, unpacked without installing it, and
kept in the user's cache folder. `python3 tests/qemu_machines/guest.py` fetches it beforehand.
Only the standard library is used, so that it runs before anything is installed.
"""

from __future__ import annotations

import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

PACKAGES = Path(__file__).with_name("debian-packages.txt").read_text().split()
PROGRAMS = ("qemu-system-x86_64", "busybox", "cpio", "lz4")
NEWEST_KERNEL = "linux-image-cloud-amd64"
APPEND = "console=ttyS0 quiet panic=1 tsc=reliable"
DIES_WITH_TESTS = ("setpriv", "--pdeathsig", "KILL")
"""Put before a command so that it ends with the test run, however that ends."""
ENDS_SOME_TIME = ("timeout", "-s", "KILL", "600")
"""The same for one that has to outlive the program that starts it."""

_INIT = """\
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
last=1000000000
for word in $(/bin/busybox cat /proc/cmdline); do
  case $word in last=*) last=${word#last=};; esac
done
i=0
while [ "$i" -le "$last" ]; do
  read -r up rest < /proc/uptime
  echo "COUNT $i up=$up" > /dev/ttyS0
  i=$((i+1))
  /bin/busybox usleep 50000
done
/bin/busybox poweroff -f
"""
_COUNT = re.compile(rb"COUNT (\d+) up=([\d.]+)\r?\n")
_APT = ("-q", "-o", "Acquire::http::Timeout=30", "-o", "DPkg::Lock::Timeout=300")


class Images(NamedTuple):
    """What a guest is booted from."""

    kernel: Path
    initrd: Path


def cache() -> Path:
    """Return the folder in which kernel and initial file system are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "forestall" / "test-guest"


@functools.cache
def why_not() -> str:
    """Return why no guest can be started here; empty where one can. Fetches the kernel."""
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        return f"no real QEMU: {', '.join(missing)} not found (Debian: {' '.join(PACKAGES)})"
    try:
        import qemu.qmp  # noqa: F401
    except ImportError:
        return "no real QEMU: the Python package qemu.qmp is not installed"
    try:
        images()
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        return f"no real QEMU: no kernel for the guest: {error}"
    return ""


def images() -> Images:
    """Return kernel and initial file system, made where they are not there."""
    folder = cache()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test workers come here at the same time
        kernel, initrd = folder / "vmlinux", folder / "initrd.gz"
        if not kernel.exists():
            _put(kernel, _fetched_kernel())
        _put(initrd, _initrd())
    return Images(kernel, initrd)


def _fetched_kernel() -> bytes:
    """Return Debian's newest kernel for clouds, unpacked, so that QEMU boots it by PVH."""
    told = _run("apt-cache", "depends", NEWEST_KERNEL)
    names = re.findall(r"Depends: (linux-image-\S+)", told.decode())
    if not names:
        raise RuntimeError(f"apt-cache knows no {NEWEST_KERNEL}; apt-get update, then try again")
    with tempfile.TemporaryDirectory(prefix="kernel-") as place:
        _run("apt-get", *_APT, "download", names[0], cwd=place)
        (package,) = Path(place).glob("*.deb")
        _run("dpkg", "-x", str(package), place)
        (packed,) = Path(place).glob("boot/vmlinuz-*")
        return unpacked(packed.read_bytes())


def unpacked(image: bytes) -> bytes:
    """Return the kernel proper out of a bzImage (Documentation/x86/boot.rst of Linux).

    The header says how many sectors come before the part that runs in protected mode, where in it
    the packed kernel lies, and how long it is; its last four bytes are the length unpacked.
    """
    sectors = image[0x1F1] + 1
    begin, length = (int.from_bytes(image[at : at + 4], "little") for at in (0x248, 0x24C))
    packed = image[sectors * 512 + begin :][:length]
    whole = _run("lz4", "-dc", given=packed[:-4])
    if len(whole) != int.from_bytes(packed[-4:], "little") or not whole.startswith(b"\x7fELF"):
        raise RuntimeError("the kernel of the package is not packed with lz4 as it used to be")
    return whole


def _initrd() -> bytes:
    with tempfile.TemporaryDirectory(prefix="initrd-") as place:
        root = Path(place)
        for name in ("bin", "dev", "proc"):
            (root / name).mkdir()
        busybox = shutil.which("busybox")
        assert busybox is not None
        shutil.copy(busybox, root / "bin" / "busybox")
        (root / "init").write_text(_INIT)
        (root / "init").chmod(0o755)
        names = "".join(f"{path.relative_to(root)}\n" for path in sorted(root.rglob("*")))
        archive = _run("cpio", "-o", "-H", "newc", "--quiet", cwd=place, given=names.encode())
    return _run("gzip", "-1n", given=archive)


def _put(path: Path, content: bytes) -> None:
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    beside.rename(path)


def _run(*call: str, cwd: str | None = None, given: bytes = b"") -> bytes:
    done = subprocess.run(call, cwd=cwd, input=given, capture_output=True, timeout=300, check=False)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason told"]
        raise RuntimeError(f"{call[0]}: {words[-1]}")
    return done.stdout


# ------------------------------------------------------------------------------- what it counts


def counted(*consoles: Path) -> list[int]:
    """Return the numbers on the consoles that a machine had so far, whole lines only; a line that
    was begun before a move is ended after it."""
    text = b"".join(one.read_bytes() for one in consoles if one.exists())
    return [int(number) for number, _ in _COUNT.findall(text)]


def uptimes(console: Path) -> list[float]:
    """Return the guest's own clock at each number, s."""
    return [float(up) for _, up in _COUNT.findall(console.read_bytes())]


def wait_for(what: str, true: Callable[[], object], timeout: float = 120) -> None:
    """Wait until something is true; raises TimeoutError that says what was not."""
    end = time.monotonic() + timeout
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"after {timeout:.0f} s not yet: {what}")
        time.sleep(0.05)


def wait_for_count(console: Path, more: int = 3, timeout: float = 120) -> int:
    """Wait until the guest has counted on by so many numbers; returns the last one."""
    begin = len(counted(console))
    wait_for(
        f"{more} more numbers on {console}", lambda: len(counted(console)) >= begin + more, timeout
    )
    return counted(console)[-1]


# ------------------------------------------------------------------------------- leaving nothing


def processes_in(folder: Path, name: str = "qemu") -> list[int]:
    """Return the processes of that name that work in a folder or below it."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                at = Path(os.readlink(place / "cwd"))
                named = (place / "comm").read_text().startswith(name)
            except OSError:
                continue
            if named and at.is_relative_to(folder.resolve()) and int(place.name) != os.getpid():
                found.append(int(place.name))
    return found


@contextmanager
def nothing_left_in(folder: Path) -> Iterator[Path]:
    """Give the folder; at the end no process that works in it is left, whatever happened."""
    try:
        yield folder
    finally:
        for pid in processes_in(folder, ""):
            os.kill(pid, 9)


if __name__ == "__main__":
    if absent := [program for program in PROGRAMS if shutil.which(program) is None]:
        sys.exit(f"tests with a real QEMU will be skipped: {', '.join(absent)} not found")
    try:
        sys.stdout.write(f"guest for the tests with a real QEMU: {images().kernel}\n")
    except (OSError, subprocess.SubprocessError, RuntimeError) as failed:
        sys.exit(f"tests with a real QEMU will be skipped: no kernel for the guest: {failed}")
