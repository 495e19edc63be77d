"""CRIU of Debian trixie, for tests that save real processes; that of bookworm cannot on newer
kernels.

Its packages are unpacked once into a folder, which is only read afterwards, and run by trixie's own
loader. `PYTHONPATH=tests python3 tests/criu_program/criu.py` makes it beforehand.
Only the standard library is used, so that it runs before anything is installed.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from condor_pool import trixie

PROGRAMS = ("apt-get", "dpkg-deb", "unshare")
_RECIPE = "1"
_RUN = """\
#!/bin/sh
exec {root}/usr/lib64/ld-linux-x86-64.so.2 --library-path {root}/usr/lib/x86_64-linux-gnu \
{root}/usr/sbin/criu "$@"
"""


def place() -> Path:
    """Return where the folder is kept: FORESTALL_CRIU, or below /var/cache."""
    return Path(os.environ.get("FORESTALL_CRIU") or "/var/cache/forestall-tests/trixie-criu")


@functools.cache
def why_not() -> str:
    """Return why there is no CRIU here; empty where there is one. Makes the folder."""
    if os.geteuid() != 0:
        return "a real CRIU needs root"
    if os.uname().machine != "x86_64":
        return "no real CRIU: its folder is made for x86_64 only"
    if missing := [one for one in PROGRAMS if shutil.which(one, path=trixie.PATH) is None]:
        return f"no real CRIU: {', '.join(missing)} not found"
    apart = ("unshare", "--pid", "--fork", "--mount-proc", "true")
    if subprocess.run(apart, capture_output=True, check=False).returncode:
        return "a real CRIU needs a namespace of processes here, and none can be made"
    try:
        call = (program(), "check")
        done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        return f"no real CRIU: its folder could not be made: {error}"
    return f"no real CRIU: criu check: {done.stderr.strip()[-200:]}" if done.returncode else ""


def program() -> str:
    """Return the program, made where it is not there."""
    return str(trixie.kept(place(), _RECIPE, _make) / "criu")


def _make(folder: Path) -> None:
    source = trixie.mirror()
    trixie.must_answer(source)
    for name in ("state/lists/partial", "cache/archives/partial", "etc"):
        (folder / name).mkdir(parents=True)
    (folder / "state" / "status").touch()
    (folder / "sources").write_text(f"deb {source} {trixie.SUITE} main\n")
    settings = {
        "Dir::State": folder / "state", "Dir::State::status": folder / "state" / "status",
        "Dir::Cache": folder / "cache", "Dir::Etc::SourceList": folder / "sources",
        "Dir::Etc::SourceParts": "/dev/null", "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root", "Acquire::Languages": "none",
        "Acquire::http::Timeout": "30",
    }  # fmt: skip
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    apt = (*trixie.DIES_WITH_TESTS, "apt-get", "-q", "-y", *options)
    trixie.run(*apt, "update", environment=trixie.environment())
    trixie.run(*apt, "--download-only", "install", "criu", environment=trixie.environment())
    for package in sorted((folder / "cache" / "archives").glob("*.deb")):
        trixie.run("dpkg-deb", "-x", str(package), str(folder))
    for name in ("state", "cache", "sources", "usr/share"):
        trixie.run("rm", "-rf", str(folder / name))
    script = folder / "criu"
    script.write_text(_RUN.format(root=place()))
    script.chmod(0o755)
    (folder / "etc" / "forestall-recipe").write_text(_RECIPE)


if __name__ == "__main__":
    if reason := why_not():
        sys.exit(f"tests with a real CRIU will be skipped: {reason}")
    sys.stdout.write(f"CRIU for the tests with real processes: {place()}\n")
