"""An SFTP server of OpenSSH's on a free port of the loopback, for one test run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import psutil

SSHD = "/usr/sbin/sshd"
_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
PidFile {folder}/pid
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
Subsystem sftp internal-sftp
"""


def why_not() -> str:
    """Return why there can be no server here; empty where there can."""
    if not os.access(SSHD, os.X_OK) or shutil.which("ssh-keygen") is None:
        return "no OpenSSH server; see tests/sftp_server/debian-packages.txt"
    if find_spec("paramiko") is None:
        return "no paramiko; install forestall[sftp]"
    return ""


@contextmanager
def sftp_server(folder: Path, home: Path) -> Iterator[str]:
    """Give the URL of a server, whose user's key and whose own key are in the .ssh of a home."""
    keys = home / ".ssh"
    keys.mkdir(parents=True, mode=0o700)
    Path("/run/sshd").mkdir(exist_ok=True)  # what sshd leaves its rights in
    for path in (folder / "host", keys / "id_ed25519"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    shutil.copy(keys / "id_ed25519.pub", folder / "user.pub")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(_CONFIG.format(port=port, folder=folder))
    kind, key, *_ = (folder / "host.pub").read_text().split()
    (keys / "known_hosts").write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    server = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", folder / "config"], stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(port)
        yield f"sftp://127.0.0.1:{port}"
    finally:
        sessions = psutil.Process(server.pid).children(recursive=True)
        server.terminate()
        server.wait()
        for one in sessions:  # they outlive it
            with suppress(psutil.NoSuchProcess):
                one.kill()


def _wait(port: int) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < end, "sshd does not listen"
            time.sleep(0.05)
