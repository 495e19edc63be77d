"""A pool of HTCondor on one machine: a manager and a few machines, for one test run.

Every machine has a master of its own with its own host name, network, folders and startd. Their
networks meet at a bridge that leads nowhere, and they share a tree of processes that dies with this
one, however it ends; all mounts and networks go with them. See trixie.py for the programs.
Only the standard library is used.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from condor_pool import trixie

MANAGER = "manager"
NET = "10.88.0"
"""The network of the pool: the manager is number 1 in it."""
INSIDE = Path("/pool")
"""Where the folder of the pool lies for the daemons."""

# The first process of the tree: brings the loopback up, then reaps what others leave.
_FIRST = """\
import fcntl, os, signal, socket, struct, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    ask = struct.pack("16sh14x", b"lo", 0)
    flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, 0x8913, ask))[1]
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))
socket.sethostname(sys.argv[1])
open("/pool/ready", "w").close()
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0.2)
"""
_MOUNTS = """\
set -e
mount -t proc proc /proc
mount --bind {root} {root}
mount -o remount,bind,ro {root}
mount --rbind /dev {root}/dev
mount -t proc proc {root}/proc
for each in tmp run var/lock var/log; do mount -t tmpfs -o mode=1777 none {root}/$each; done
mount --bind {folder} {root}/pool
mount --bind {folder}/hosts {root}/etc/hosts
mount --bind /dev/null {root}/etc/resolv.conf
ip link add pool type bridge
ip addr add {net}.1/24 dev pool
ip link set pool up
number=1
for each in {machines}; do
    number=$((number + 1))
    network={root}/pool/networks/$each
    unshare --net=$network true
    ip link add m$number type veth peer name eth0 netns $network
    ip link set m$number master pool up
    nsenter --net=$network sh -c "ip link set lo up
        ip addr add {net}.$number/24 dev eth0
        ip link set eth0 up"
done
exec chroot {root} python3 /pool/first.py {manager}
"""
# The Python of the tests, for jobs that run forestall: the folders that it needs, elsewhere.
_OURS = """\
mount -t tmpfs -o mode=755 none {root}/mnt
for each in python site src; do mkdir {root}/mnt/$each; done
mount --bind {python} {root}/mnt/python
mount --bind {site} {root}/mnt/site
mount --bind {src} {root}/mnt/src
"""
_FORESTALL = """\
#!/bin/sh
export PYTHONPATH=/mnt/src:/mnt/site PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
export XDG_STATE_HOME=/pool/jobs/state LD_LIBRARY_PATH=/mnt/python/lib
exec /mnt/python/bin/{name} -m forestall "$@"
"""
FORESTALL = "/pool/forestall"
"""The program, as daemons and jobs see it."""
_COMMON = """\
RELEASE_DIR = /usr
LIBEXEC = /usr/libexec/condor
SBIN = /usr/sbin
BIN = /usr/bin
LIB = /usr/lib/condor
LOCAL_DIR = /pool/{name}
LOG = $(LOCAL_DIR)/log
SPOOL = $(LOCAL_DIR)/spool
EXECUTE = $(LOCAL_DIR)/execute
RUN = $(LOCAL_DIR)/run
LOCK = $(LOCAL_DIR)/lock
CONDOR_HOST = {manager}
NETWORK_INTERFACE = {address}
DAEMON_LIST = {daemons}
UID_DOMAIN = pool
FILESYSTEM_DOMAIN = pool
TRUST_UID_DOMAIN = True
SEC_DEFAULT_AUTHENTICATION = OPTIONAL
SEC_DEFAULT_AUTHENTICATION_METHODS = FS, CLAIMTOBE
ALLOW_READ = *
ALLOW_WRITE = *
ALLOW_DAEMON = *
ALLOW_ADMINISTRATOR = *
ALLOW_NEGOTIATOR = *
ENABLE_IPV6 = False
BIND_ALL_INTERFACES = False
SEC_USE_FAMILY_SESSION = False
ENABLE_KERNEL_TUNING = False
MAIL = /bin/true
# In a folder of its own HTCondor can neither mount nor count processes by groups.
MOUNT_UNDER_SCRATCH =
PER_JOB_NAMESPACES = False
DISCARD_SESSION_KEYRING_ON_STARTUP = False
BASE_CGROUP =
CGROUP_ALL_DAEMONS = False
# Nothing waits longer than it has to.
NEGOTIATOR_INTERVAL = 1
NEGOTIATOR_MIN_INTERVAL = 1
NEGOTIATOR_CYCLE_DELAY = 1
SCHEDD_INTERVAL = 1
SCHEDD_MIN_INTERVAL = 1
CLAIM_WORKLIFE = 0
"""
_MACHINE = """\
NUM_CPUS = {cpus}
MEMORY = {memory}
DISK = 4000000
RunBenchmarks = False
START = True
SUSPEND = False
PREEMPT = False
KILL = False
"""


def evaluated(ads: Sequence[str], *expressions: str) -> list[list[str]]:
    """Return what HTCondor makes of expressions for each of some machines; needs no pool.

    An ad is text of one attribute a line. Values are as `condor_status` prints them.
    """
    kept = trixie.root()
    with tempfile.TemporaryDirectory(prefix="condor-") as name:
        Path(name).chmod(0o755)
        whole = "\n".join(f'Name = "{number}"\n{ad}' for number, ad in enumerate(ads))
        (Path(name) / "ads").write_text(whole, encoding="utf-8")
        script = 'mount --bind "$1" "$2/pool" && shift && exec chroot "$@"'
        asked = ("condor_status", "-ads", "/pool/ads", "-af:t", "Name", *expressions)
        done = subprocess.run(
            ("unshare", "--mount", "sh", "-c", script, "sh", name, str(kept), *asked),
            env={"PATH": trixie.PATH, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=True,
        )
    rows = {int(row[0]): row[1:] for row in (line.split("\t") for line in done.stdout.splitlines())}
    assert len(rows) == len(ads)
    return [rows[number] for number in range(len(ads))]


def namespace(pid: int) -> str:
    """Return the namespace of processes that a process lives in; empty where there is none."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def processes_with(space: str) -> list[int]:
    """Return the processes that live in a namespace."""
    pids = (int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit())
    return [pid for pid in pids if namespace(pid) == space]


def _python() -> Path:
    """Return the Python of the tests, not that of their virtual environment."""
    return (
        Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    )


class Pool:
    """A running pool; use it in a `with` block.

    Parameters
    ----------
    machines : the configuration to add for each machine, by its name; ``{"cpus": 2}`` and
        ``{"memory": 2000}`` are the sizes, ``{"config": text}`` is further lines
    manager : further lines for the manager
    ours : whether jobs can run forestall, as `FORESTALL`
    """

    def __init__(
        self, machines: Mapping[str, Mapping[str, object]], manager: str = "", *, ours: bool = False
    ) -> None:
        self.machines = list(machines)
        self._ours = ours
        self.root = trixie.root()
        self.folder = Path(tempfile.mkdtemp(prefix="condor-"))
        self.folder.chmod(0o755)  # jobs of other users read below it
        self._tree: subprocess.Popen[bytes] | None = None
        self._first = 0
        self._masters: dict[str, subprocess.Popen[bytes]] = {}
        self._write(MANAGER, f"{NET}.1", "MASTER, COLLECTOR, NEGOTIATOR, SCHEDD", manager)
        for number, (name, wanted) in enumerate(machines.items(), 2):
            sizes = {"cpus": 2, "memory": 2000} | dict(wanted)
            more = _MACHINE.format(**sizes) + str(sizes.get("config", ""))
            self._write(name, f"{NET}.{number}", "MASTER, STARTD", more)
        names = enumerate((MANAGER, *self.machines), 1)
        hosts = "".join(f"{NET}.{number} {name}\n" for number, name in names)
        (self.folder / "hosts").write_text(hosts)
        (self.folder / "first.py").write_text(_FIRST)
        (self.folder / "networks").mkdir()
        for name in self.machines:
            (self.folder / "networks" / name).touch()
        self.jobs = self.folder / "jobs"
        self.jobs.mkdir()
        self.jobs.chmod(0o1777)
        for name in self.machines:
            self.agent(name).mkdir(parents=True)
        if ours:
            program = self.folder / "forestall"
            program.write_text(_FORESTALL.format(name=_python().name))
            program.chmod(0o755)

    def agent(self, name: str) -> Path:
        """Return the folder of a machine's agent, as this process sees it."""
        return self.folder / "agents" / name

    @staticmethod
    def agent_inside(name: str) -> Path:
        """Return the folder of a machine's agent, as the daemons see it."""
        return INSIDE / "agents" / name

    def _write(self, name: str, address: str, daemons: str, more: str) -> None:
        own = self.folder / name
        for part in ("log", "spool", "execute", "run", "lock"):
            (own / part).mkdir(parents=True)
        said = _COMMON.format(name=name, address=address, daemons=daemons, manager=MANAGER)
        (own / "condor_config").write_text(said + more)

    def __enter__(self) -> Pool:
        try:
            self._begin()
            self.start(MANAGER)
            self.until("the manager answers", self._answers)
            for name in self.machines:
                self.start(name)
            self.until("all machines are known", lambda: set(self.slots()) == set(self.machines))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End every daemon, the whole tree with it, and remove the folder."""
        if self._tree is not None:
            space = namespace(self._first)
            self._tree.kill()  # and with its first process goes every other one in it
            self._tree.wait()
            for master in self._masters.values():
                master.wait(20)  # what runs outside of the tree only waits for what runs within
            end = time.monotonic() + 20
            while space and processes_with(space) and time.monotonic() < end:
                time.sleep(0.02)
        self._tree = None
        self._masters.clear()
        trixie.remove(self.folder)

    # ----------------------------------------------------------------------------- the daemons

    def _begin(self) -> None:
        places = {"root": shlex.quote(str(self.root)), "folder": shlex.quote(str(self.folder))}
        names = " ".join(shlex.quote(name) for name in self.machines)
        mounts = _MOUNTS.format(**places, manager=MANAGER, net=NET, machines=names)
        if self._ours:
            source = Path(sys.modules["forestall"].__path__[0]).parent
            given = {"python": sys.base_prefix, "site": sysconfig.get_path("purelib"),
                     "src": str(source)}  # fmt: skip
            quoted = {name: shlex.quote(path) for name, path in given.items()}
            mounts = mounts.replace("\nexec ", f"\n{_OURS.format(**places, **quoted)}exec ")
        log = (self.folder / "tree.log").open("wb")
        self._tree = subprocess.Popen(
            (*trixie.DIES_WITH_TESTS, *trixie.APART, "--net", "--uts", "sh", "-c", mounts),
            env={"PATH": trixie.PATH},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        self.until("the tree of processes is there", (self.folder / "ready").exists)
        children = Path(f"/proc/{self._tree.pid}/task/{self._tree.pid}/children")
        self._first = int(children.read_text().split()[0])
        own = " ".join((MANAGER, *self.machines))
        self.command("sh", "-c", f"cd /pool && chown -R condor: {own}", user="root")

    def start(self, name: str) -> None:
        """Start the master of a machine, and what it starts."""
        call: tuple[str, ...] = ("unshare", "--uts", "sh", "-c")
        call = (*call, f"hostname {name}; exec condor_master -f -t")
        if name != MANAGER:
            call = ("nsenter", f"--net={INSIDE}/networks/{name}", *call)
        with (self.folder / name / "log" / "master.out").open("ab") as log:
            self._masters[name] = subprocess.Popen(
                self._call(call, "root"),
                env=self._environment(name),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def configure(self, name: str, lines: str) -> None:
        """Add lines to what a machine is configured with, and have its daemons read them."""
        with (self.folder / name / "condor_config").open("a") as file:
            file.write(lines)
        self.command("condor_reconfig", user="root", name=name)

    def processes(self) -> list[int]:
        """Return the processes of the pool, jobs included, as this host numbers them."""
        return processes_with(namespace(self._first)) if self._first else []

    # ----------------------------------------------------------------------------- asking, acting

    def command(
        self, *call: str, user: str = trixie.USER, name: str = MANAGER, check: bool = True
    ) -> str:
        """Run a program within the pool, as it is configured on one machine; returns its output."""
        done = subprocess.run(
            self._call(call, user),
            env=self._environment(name),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=60,
            check=False,
        )
        if check and done.returncode:
            words = f"{done.returncode}: {done.stdout}{done.stderr}"
            raise RuntimeError(f"{shlex.join(call)}: {words}")
        return done.stdout

    def _call(self, call: Sequence[str], user: str) -> tuple[str, ...]:
        assert self._first
        inside = ("nsenter", f"--target={self._first}", "--mount", "--pid", "--net", "--uts")
        chroot = ("chroot", *(() if user == "root" else (f"--userspec={user}:{user}",)))
        return (*trixie.DIES_WITH_TESTS, *inside, *chroot, str(self.root), *call)

    def _environment(self, name: str) -> dict[str, str]:
        config = str(INSIDE / name / "condor_config")
        return {"PATH": trixie.PATH, "LANG": "C.UTF-8", "CONDOR_CONFIG": config}

    def submit(self, *lines: str, run: str = "hostname") -> int:
        """Submit a job of one shell line with these lines in its submit file; returns its id."""
        number = len(list(self.jobs.glob("*.sub")))
        path = self.jobs / f"{number}.sub"
        told = (
            "executable = /bin/sh",
            f"arguments = \"-c '{run}'\"",
            "initialdir = /pool/jobs",
            "output = $(ClusterId).out",
            "error = $(ClusterId).err",
            "should_transfer_files = NO",
            "request_memory = 10",
            "request_disk = 1",
            *lines,
            "queue",
        )
        path.write_text("\n".join(told) + "\n")
        said = self.command("condor_submit", "-terse", f"/pool/jobs/{path.name}")
        return int(said.split(".")[0])

    def ran(self, job: int) -> bool:
        """Return whether a job has printed a line."""
        path = self.jobs / f"{job}.out"
        return path.exists() and path.read_text()[-1:] == "\n"

    def said(self, job: int, timeout: float = 60) -> str:
        """Wait until a job has printed a line; returns it."""
        self.until(f"job {job} has run", lambda: self.ran(job), timeout)
        return (self.jobs / f"{job}.out").read_text().strip()

    def _answers(self) -> bool:
        told = self.command("condor_status", "-schedd", "-af", "Name", check=False)
        return told.split() == [MANAGER]

    def slots(self, *attributes: str) -> dict[str, list[str]]:
        """Return these attributes of each machine as the collector has them."""
        call = ("condor_status", "-af:t", "Machine", *attributes)
        lines = self.command(*call, check=False).splitlines()
        return {line.split("\t")[0]: line.split("\t")[1:] for line in lines}

    def until(self, what: str, true: Callable[[], object], timeout: float = 60) -> None:
        """Wait until something is true; says what was not, and what the daemons said."""
        end = time.monotonic() + timeout
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(f"after {timeout} s not yet: {what}\n{self._last_words()}")
            time.sleep(0.2)

    def _last_words(self) -> str:
        logs = [*sorted(self.folder.glob("*/log/*")), self.folder / "tree.log"]
        return "\n".join(
            f"--- {path.relative_to(self.folder)}\n"
            + "\n".join(path.read_text(errors="replace").splitlines()[-12:])
            for path in logs
            if path.is_file()
        )
