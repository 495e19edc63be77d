"""Several real libvirt hosts on this machine, for tests: each has a network, host name and files of
its own, and a link that can be cut.

A host is a libvirtd in namespaces (network, UTS, mounts), tied to a bridge; this process reaches it
at an address of the bridge's network. Guests count aloud, as those of `qemu_machines.guest` do.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from qemu_machines import guest

PACKAGES = Path(__file__).with_name("debian-packages.txt").read_text().split()
_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
PROGRAMS = (
    "libvirtd", "virsh", "ip", "nsenter", "unshare", "openssl", "qemu-system-x86_64",
)  # fmt: skip
SSH = all(shutil.which(program, path=_PATH) for program in ("sshd", "ssh", "ssh-keygen"))
_DAEMON = """\
unix_sock_group = "root"
auth_unix_rw = "none"
auth_tcp = "none"
listen_tls = 1
ca_file = "{keys}/cacert.pem"
cert_file = "{keys}/clientcert.pem"
key_file = "{keys}/clientkey.pem"
listen_tcp = 1
listen_addr = "{address}"
host_uuid = "{uuid}"
keepalive_interval = 1
keepalive_count = 2
"""
_QEMU = """\
security_driver = "none"
user = "root"
group = "root"
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
remember_owner = 0
keepalive_interval = 1
keepalive_count = 2
"""
_SSHD = """\
ListenAddress {address}
HostKey {keys}/host
AuthorizedKeysFile {keys}/user.pub
PermitRootLogin yes
StrictModes no
PidFile none
"""
_BEGIN = """\
hostname {name}
mkdir -p /run/libvirt
mount -t tmpfs none /run/libvirt
mount --bind {place}/libvirtd.conf /etc/libvirt/libvirtd.conf
mount --bind {place}/qemu.conf /etc/libvirt/qemu.conf
mount --bind {place}/var /var/lib/libvirt
mount --bind {cache} /var/cache/libvirt
mount --bind {place}/log /var/log/libvirt
mount --bind {place}/etc /etc/libvirt/qemu
mkdir -p /run/sshd
[ ! -x /usr/sbin/sshd ] || /usr/sbin/sshd -f {place}/sshd_config
exec libvirtd --listen -p {place}/pid
"""


@functools.cache
def why_not() -> str:
    """Return why no hosts can be started here; empty where they can."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=_PATH) is None]
    if missing:
        return f"no real libvirt: {', '.join(missing)} not found (Debian: {' '.join(PACKAGES)})"
    if os.geteuid() != 0:
        return "no real libvirt: only root can make namespaces and bridges"
    try:
        import libvirt  # noqa: F401
    except ImportError:
        return "no real libvirt: the Python package libvirt-python is not installed"
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
        return "no real libvirt: namespaces of networks cannot be made here"
    return guest.why_not()


@dataclass
class Host:
    """One host; `uri` is how it is reached, from here and from other hosts."""

    name: str
    address: str
    space: str
    place: Path
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"qemu+tcp://{self.address}/system"

    @property
    def tls_uri(self) -> str:
        return f"qemu+tls://{self.address}/system?pkipath={self.keys}"

    @property
    def ssh_uri(self) -> str:
        options = f"keyfile={self.keys}/user&no_verify=1&no_tty=1"
        return f"qemu+ssh://root@{self.address}/system?{options}"

    @property
    def keys(self) -> Path:
        return self.place.parent / "keys"

    @property
    def link(self) -> str:
        return f"v{self.space}"


@dataclass
class Hosts:
    """Hosts named h1, h2, ... on one bridge."""

    folder: Path
    tag: str
    network: str
    hosts: dict[str, Host] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    # --------------------------------------------------------------------------- begin, end

    def begin(self, count: int) -> None:
        """Make the bridge and start the hosts, all at once."""
        bridge = f"b{self.tag}"
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{self.network}.254/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        addresses = [f"{self.network}.{number}" for number in range(1, count + 1)]
        _make_keys(self.folder / "keys", addresses)
        for number in range(1, count + 1):
            name = f"h{number}"
            host = Host(name, f"{self.network}.{number}", f"{self.tag}{number}", self.folder / name)
            self.hosts[name] = host
            for part in ("var", "log", "etc"):
                (host.place / part).mkdir(parents=True)
            uuid = f"00000000-0000-4000-8000-{number:012d}"
            words = {"address": host.address, "uuid": uuid, "keys": host.keys}
            (host.place / "libvirtd.conf").write_text(_DAEMON.format(**words))
            (host.place / "sshd_config").write_text(_SSHD.format(**words))
            (host.place / "qemu.conf").write_text(_QEMU)
            _ip("netns", "add", host.space)
            _ip("link", "add", host.link, "type", "veth", "peer", "name", "e0", "netns", host.space)
            _ip("link", "set", host.link, "master", bridge, "up")
            _ip("-n", host.space, "addr", "add", f"{host.address}/24", "dev", "e0")
            _ip("-n", host.space, "link", "set", "e0", "up")
            _ip("-n", host.space, "link", "set", "lo", "up")
            self.boot(name)
        for name in self.hosts:
            self.wait_for(name)

    def boot(self, name: str) -> None:
        """Start a host's daemon, as after its boot: nothing runs there."""
        host = self.hosts[name]
        script = _BEGIN.format(name=name, place=host.place, cache=_cache())
        call = ["nsenter", f"--net=/run/netns/{host.space}", "unshare", "--uts", "--mount"]
        with (host.place / "daemon.log").open("ab") as log:
            host.daemon = subprocess.Popen(
                [*call, *guest.DIES_WITH_TESTS, "bash", "-ec", script],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "PATH": _PATH},
            )  # fmt: skip

    def wait_for(self, name: str) -> None:
        """Wait until a host answers."""
        host = self.hosts[name]

        def answers() -> bool:
            call = ["virsh", "-c", host.uri, "hostname"]
            return not subprocess.run(call, capture_output=True, timeout=20, check=False).returncode

        guest.wait_for(f"{name} answers ({host.place / 'daemon.log'})", answers, 60)

    def end(self) -> None:
        """End all that was started."""
        for name in self.hosts:
            self.kill(name)
        for host in self.hosts.values():
            _ip("netns", "del", host.space, check=False)
        _ip("link", "del", f"b{self.tag}", check=False)

    # --------------------------------------------------------------------------- what goes wrong

    def kill(self, name: str) -> None:
        """A host loses its power: its daemon and its guests are gone at once."""
        host = self.hosts[name]
        daemon, host.daemon = host.daemon, None
        for pid in self.processes(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if daemon is not None:
            daemon.wait(30)
        guest.wait_for(f"{name} is dead", lambda: not self.processes(name), 20)
        (host.place / "pid").unlink(missing_ok=True)

    def cut(self, name: str) -> None:
        """A host's link goes down; what runs there runs on."""
        _ip("link", "set", self.hosts[name].link, "down")

    def mend(self, name: str) -> None:
        """Its link is up again."""
        _ip("link", "set", self.hosts[name].link, "up")

    def processes(self, name: str) -> list[int]:
        """Return the processes of a host."""
        space = os.stat(f"/run/netns/{self.hosts[name].space}").st_ino
        found = []
        for place in Path("/proc").iterdir():
            if place.name.isdigit():
                with contextlib.suppress(OSError):
                    if os.stat(place / "ns" / "net").st_ino == space:
                        found.append(int(place.name))
        return found

    def guests(self, machine: str) -> list[str]:
        """Return the hosts on which a machine's guest has a process."""
        found = []
        for name in self.hosts:
            for pid in self.processes(name):
                with contextlib.suppress(OSError):
                    words = Path(f"/proc/{pid}/cmdline").read_bytes()
                    if words.startswith(b"/usr/bin/qemu") and f"guest={machine},".encode() in words:
                        found.append(name)
        return found


def _cache() -> Path:
    """Return where what libvirt learns of QEMU is kept: to learn it takes each host seconds."""
    folder = guest.cache() / "libvirt"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _make_keys(folder: Path, addresses: list[str]) -> None:
    """Make a certificate for all hosts, and for whoever asks them, and keys for SSH."""
    folder.mkdir(parents=True)
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2"]  # fmt: skip
    names = ",".join(f"IP:{address}" for address in addresses)
    for words in (
        ["-subj", "/CN=tests", "-keyout", "ca.key", "-out", "cacert.pem"],
        ["-subj", "/CN=host", "-keyout", "clientkey.pem", "-out", "clientcert.pem",
         "-CA", "cacert.pem", "-CAkey", "ca.key", "-addext", f"subjectAltName={names}",
         "-addext", "basicConstraints=critical,CA:FALSE"],
    ):  # fmt: skip
        subprocess.run([*made, *words], cwd=folder, check=True, capture_output=True)
    for name in ("host", "user") if SSH else ():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name], cwd=folder,
                       check=True)  # fmt: skip


def _ip(*words: str, check: bool = True) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _free_network() -> str:
    """Return the beginning of an IPv4 network that nothing here uses; test workers run beside."""
    used = subprocess.run(["ip", "-4", "addr"], capture_output=True, text=True, check=True).stdout
    begin = os.getpid() % 200
    for number in range(200):
        network = f"10.83.{(begin + number) % 200}"
        if f"{network}." not in used:
            return network
    raise RuntimeError("no free network among 10.83.0.0/16")


@contextmanager
def libvirt_hosts(folder: Path, count: int = 4) -> Iterator[Hosts]:
    """Give so many hosts; at the end nothing of them is left."""
    hosts = Hosts(folder, f"f{os.getpid() % 100_000:x}{int(time.monotonic()) % 256:x}",
                  _free_network())  # fmt: skip
    try:
        hosts.begin(count)
        yield hosts
    finally:
        hosts.end()
