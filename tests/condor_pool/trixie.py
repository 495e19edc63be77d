"""A folder with Debian trixie and its HTCondor, for tests with real daemons; the host has none.

It is made once, kept, and only ever read afterwards. Whatever has to be mounted is mounted in a
namespace of the process that needs it, and is gone with it.
`python3 tests/condor_pool/trixie.py` makes it beforehand.
Only the standard library is used, so that it runs before anything is installed.
"""

from __future__ import annotations

import fcntl
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

PACKAGES = Path(__file__).with_name("debian-packages.txt").read_text().split()
PROGRAMS = ("debootstrap", "unshare", "nsenter", "setpriv", "chroot", "mount", "ip")
SUITE = "trixie"
FALLBACK_MIRROR = "http://deb.debian.org/debian"
USER = "worker"
"""Who submits jobs in it; HTCondor runs none for root."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
DIES_WITH_TESTS = ("setpriv", "--pdeathsig", "KILL")

_NETWORKS = """\
set -e
ip link add pool type bridge
ip link add m2 type veth peer name eth0
ip link set m2 master pool
"""
_RECIPE = "1"
"""To be raised when `_MAKE` changes: a folder that another recipe made is made again."""
_SPACE = 1_500_000_000
_MAKE = """\
set -e
umask 022
debootstrap --variant=minbase {suite} {root} {mirror}
cd {root}
mount --rbind /dev dev
mount -t proc proc proc
cp /etc/resolv.conf etc/resolv.conf
printf '#!/bin/sh\\nexit 101\\n' > usr/sbin/policy-rc.d
chmod 755 usr/sbin/policy-rc.d
echo force-unsafe-io > etc/dpkg/dpkg.cfg.d/fast
printf 'path-exclude=/usr/share/%s/*\\n' doc man locale > etc/dpkg/dpkg.cfg.d/small
chroot . apt-get -q -o Acquire::http::Timeout=30 update
chroot . apt-get -q -o Acquire::http::Timeout=30 install -y --no-install-recommends htcondor
chroot . useradd --create-home {user}
chroot . apt-get -q clean
rm -rf var/lib/apt/lists/* usr/share/doc usr/share/man
mkdir -p pool
echo {recipe} > etc/forestall-recipe
"""


def place() -> Path:
    """Return where the folder is kept: FORESTALL_CONDOR, or below /var/cache."""
    return Path(os.environ.get("FORESTALL_CONDOR") or "/var/cache/forestall-tests/trixie-condor")


@functools.cache
def why_not() -> str:
    """Return why there is no HTCondor here; empty where there is one. Makes the folder."""
    if os.geteuid() != 0:
        return "a real HTCondor needs root: for its daemons, and for a folder of Debian's trixie"
    if missing := [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]:
        return f"no real HTCondor: {', '.join(missing)} not found (Debian: {' '.join(PACKAGES)})"
    call = (*APART, "--net", "--uts", "sh", "-c", _NETWORKS)
    apart = subprocess.run(call, capture_output=True, text=True, check=False)
    if apart.returncode:
        why = " / ".join(apart.stderr.splitlines())
        return f"a real HTCondor needs namespaces, a bridge and links; none can be made here: {why}"
    try:
        root()
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        return f"no real HTCondor: its folder could not be made: {error}"
    return ""


def root() -> Path:
    """Return the folder, made where it is not there or was made by another recipe."""
    return kept(place(), _RECIPE, _make)


def kept(target: Path, recipe: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that is kept, made where it is not there or was made by another recipe."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test workers come here at the same time
        if _made(target, recipe):
            return target
        for old in (target, *target.parent.glob(f"{target.name}.making-*")):
            remove(old)
        beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}.making-"))
        try:
            beside.chmod(0o755)
            make(beside)
            beside.rename(target)
        except BaseException:
            remove(beside)
            raise
    return target


def remove(folder: Path) -> None:
    """Remove a folder; what is still mounted below it is detached first and stays whole."""
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        mounted = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), line.split()[4])
        if Path(mounted).is_relative_to(folder.resolve()):
            subprocess.run(("umount", "-l", mounted), capture_output=True, check=True)
    if folder.exists():
        run("rm", "-rf", "--one-file-system", str(folder))


def _made(target: Path, recipe: str) -> bool:
    try:
        return (target / "etc" / "forestall-recipe").read_text().strip() == recipe
    except OSError:
        return False


def _make(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _SPACE:
        raise RuntimeError(f"{folder} has {free / 1e6:.0f} MB free; {_SPACE / 1e6:.0f} are needed")
    source = mirror()
    must_answer(source)
    places = {"root": shlex.quote(str(folder)), "mirror": shlex.quote(source)}
    script = _MAKE.format(**places, suite=SUITE, user=USER, recipe=_RECIPE)
    run(*DIES_WITH_TESTS, *APART, "sh", "-c", script, environment=environment())


def mirror() -> str:
    """Return the mirror of Debian that apt of this host uses."""
    if shutil.which("apt-get") is not None:
        wanted = ("Created-By: Packages", "Origin: Debian", "Label: Debian")
        call = ("apt-get", "indextargets", "--format", "$(SITE)", *wanted)
        told = subprocess.run(call, capture_output=True, text=True, check=False).stdout.split()
        if sites := [site for site in told if site.startswith(("http://", "https://"))]:
            return sites[0]
    return FALLBACK_MIRROR


def must_answer(source: str) -> None:
    url = f"{source.rstrip('/')}/dists/{SUITE}/InRelease"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            answer.read(1000)
    except OSError as error:
        raise RuntimeError(f"{url} does not answer: {error}") from None


def environment() -> dict[str, str]:
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    return {"PATH": PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"} | proxies


def run(*call: str, environment: dict[str, str] | None = None) -> None:
    """Run a command. Raises RuntimeError with its last words where it fails."""
    done = subprocess.run(
        call,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=900,
        check=False,
    )
    if done.returncode:
        words = done.stdout.decode(errors="replace").strip().splitlines()
        raise RuntimeError(" / ".join(words[-3:]) or f"{call[0]} failed")


if __name__ == "__main__":
    begin = time.monotonic()
    if reason := why_not():
        sys.exit(f"tests with a real HTCondor will be skipped: {reason}")
    took = f"made or found in {time.monotonic() - begin:.0f} s"
    sys.stdout.write(f"HTCondor for the tests with real daemons: {place()}, {took}\n")
