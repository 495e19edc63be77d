"""A real Slurm on one machine: controller, accounting, database and a few nodes, for one test run.

Everything lies in one folder and listens on free ports of 127.0.0.1. All daemons stay in the
foreground as children of this process and die with it, however it ends. Each node has its own
process namespace, so killing a node takes its steps and jobs along, as a crash does.
Only the standard library is used, so that the same file runs inside other systems too.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

PACKAGES = Path(__file__).with_name("debian-packages.txt").read_text().split()
PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "sbatch", "sacct", "munged", "mariadbd", "mariadb")
GPUS = 4
CPUS = 8
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The timeouts are as short as pings on a busy machine allow; a killed node is DOWN after 10 s.
_CONTROLLER = """\
ClusterName={name}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/{task}
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_continue,sched_min_interval=100000,batch_sched_delay=0
PriorityType=priority/multifactor
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
SlurmctldTimeout=10
SlurmdTimeout=5
MessageTimeout=2
TCPTimeout=1
InactiveLimit=0
KillWait=2
ReturnToService=1
MpiDefault=none
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={accounting}
AccountingStoragePass={folder}/munge.socket
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment,job_script
{nodes}
PartitionName=main Nodes={plain} Default=YES MaxTime=INFINITE DefaultTime=10 PriorityTier=2 \
PreemptMode=OFF
PartitionName=spare Nodes={plain} MaxTime=INFINITE DefaultTime=10 PriorityTier=1 \
PreemptMode=REQUEUE
PartitionName=gpu Nodes={with_gpus} MaxTime=INFINITE DefaultTime=10 PriorityTier=2 PreemptMode=OFF
"""

# Only the controller of memory, and only where the kernel has its first version: jobs that take
# too much are then killed as on a real node.
_MEMORY = Path("/sys/fs/cgroup/memory")
_CGROUPS = """\
CgroupPlugin=cgroup/v1
CgroupAutomount=no
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
"""

_ACCOUNTING = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={accounting}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_accounting
"""


def why_not() -> str:
    """Return why no cluster can be started here; empty where one can."""
    if os.geteuid() != 0:
        return "a real Slurm needs root for its daemons"
    missing = [program for program in PROGRAMS if shutil.which(program, path=_PATH) is None]
    if missing:
        wanted = " ".join(PACKAGES)
        return f"no {', '.join(missing)} here; Debian has them: apt-get install {wanted}"
    apart = ("unshare", "--pid", "--fork", "--mount-proc", "true")
    if subprocess.run(apart, capture_output=True, check=False).returncode:
        return "a real Slurm needs one process namespace per node, and none can be made here"
    return ""


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that nobody has at this moment.

    They lie below those that the kernel gives to outgoing connections, so that a killed daemon
    finds its own free when it comes back.
    """
    held: list[socket.socket] = []
    try:
        while len(held) < count:
            one = socket.socket()
            try:
                one.bind(("127.0.0.1", 20_000 + secrets.randbelow(12_000)))
            except OSError:
                one.close()
                continue
            held.append(one)
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


def processes_of(folder: Path) -> list[int]:
    """Return the processes that were started for the cluster of this folder, jobs included."""
    mark, found = str(folder).encode(), []
    for place in Path("/proc").iterdir():
        try:
            said = (place / "environ").read_bytes() + (place / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if mark in said and place.name.isdigit():
            found.append(int(place.name))
    return found


def _remove_group(place: Path) -> None:
    """Remove a group of processes; the kernel holds it for a moment after the last has ended."""
    for _ in range(100):
        try:
            return os.rmdir(place)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        time.sleep(0.1)
    os.rmdir(place)


class Cluster:
    """A running Slurm; use it in a `with` block.

    The first `plain` nodes (n1, n2, ...) make up the partitions `main` and `spare`; jobs of
    `spare` give way to those of `main` and are requeued. The next `with_gpus` nodes make up `gpu`
    and have four made-up GPUs each. `also` is more lines of slurm.conf.
    """

    def __init__(
        self, plain: int = 4, with_gpus: int = 2, name: str = "tiny", also: str = ""
    ) -> None:
        self.name = name
        self._also = also
        self.nodes = [f"n{number}" for number in range(1, plain + with_gpus + 1)]
        self._plain = plain
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.limits_memory = (_MEMORY / "memory.limit_in_bytes").exists() and os.access(
            _MEMORY, os.W_OK
        )
        self._memory = _MEMORY / self.folder.name
        self.folder.chmod(0o755)  # jobs of other users read and write below it
        self._database, self._accounting, self._controller, *self._ports = free_ports(
            3 + len(self.nodes)
        )
        self.environment = {
            "PATH": _PATH,
            "LANG": "C.UTF-8",
            "SLURM_CONF": str(self.folder / "slurm.conf"),
        }

    def __enter__(self) -> Cluster:
        try:
            self._write()
            self.start_accounting()
            self._daemon("slurmctld", "slurmctld", "-D")
            for node in self.nodes:
                self.revive_node(node, wait=False)
            self.until("all nodes are idle", lambda: self.idle() == set(self.nodes), 60)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End every daemon, last started first, and remove the folder."""
        for what in reversed(list(self._running)):
            self._end(what, signal.SIGKILL)
        self.sweep(self.folder)

    @staticmethod
    def sweep(folder: Path) -> None:
        """Remove what a cluster wrote: its folder, and its groups of processes."""
        groups = _MEMORY / folder.name
        if groups.is_dir():
            for place, _, _ in os.walk(groups, topdown=False):
                _remove_group(Path(place))
        shutil.rmtree(folder, ignore_errors=True)

    # ----------------------------------------------------------------------------- asking, acting

    def command(
        self,
        *arguments: str,
        user: str = "root",
        timeout: float = 30,
        check: bool = True,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run one program against this cluster, as another user where asked."""
        call = list(arguments)
        if user != "root":
            call = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", *call]
        done = subprocess.run(
            call,
            env=self.environment | (env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=timeout,
            check=False,
            cwd=cwd or self.folder / "jobs",
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(call)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def submit(self, *options: str, run: str = "sleep 600", user: str = "root") -> int:
        """Submit a batch job of one shell line; returns its id."""
        script = ("#!/bin/sh", "exec 2>&1", run, "")
        path = self.folder / "jobs" / f"{secrets.token_hex(4)}.sh"
        path.write_text("\n".join(script))
        path.chmod(0o755)
        done = self.command(
            "sbatch", "--parsable", "-o", "/dev/null", *options, str(path), user=user
        )
        return int(done.stdout.split(";")[0])

    def state(self, job: int | str) -> str:
        """Return what the controller calls the state of a job; empty where it forgot the job."""
        done = self.command("squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T", check=False)
        return ",".join(sorted(set(done.stdout.split())))

    def wait(self, job: int | str, states: str | Iterable[str], timeout: float = 60) -> str:
        """Wait until a job is in one of these states; returns it."""
        wanted = {states} if isinstance(states, str) else set(states)
        self.until(
            f"job {job} is {' or '.join(sorted(wanted))}",
            lambda: self.state(job) in wanted,
            timeout,
        )
        return self.state(job)

    def node_states(self) -> dict[str, str]:
        """Return the state of each node as `sinfo` prints it, marks such as `*` included."""
        lines = self.command("sinfo", "-h", "-N", "-o", "%N %T").stdout.splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def idle(self) -> set[str]:
        """Return the idle nodes."""
        if (done := self.command("sinfo", "-h", "-N", "-o", "%N %T", check=False)).returncode:
            return set()
        pairs = (line.split() for line in done.stdout.splitlines())
        return {pair[0] for pair in pairs if pair[1:] == ["idle"]}

    def book(self, *fields: str) -> list[dict[str, str]]:
        """Return all rows of the accounting; none of these fields may hold free text."""
        call = ("sacct", "-n", "-X", "-D", "-P", "-a", "-S", "now-1days", "-E", "now+9days")
        told = self.command(*call, "-o", ",".join(fields), env={"TZ": "UTC"}).stdout
        return [dict(zip(fields, line.split("|"), strict=True)) for line in told.splitlines()]

    def recorded(self, job: int | str, field: str = "State") -> list[str]:
        """Return one field of all runs of a job from the accounting database, oldest first."""
        call = ("sacct", "-n", "-X", "-D", "-P", "-j", str(job), "-o", field)
        return self.command(*call).stdout.splitlines()

    def until(self, what: str, true: Callable[[], bool], timeout: float = 30) -> None:
        """Wait until something is true; says what was not, and what the daemons said."""
        end = time.monotonic() + timeout
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(f"after {timeout} s not yet: {what}\n{self._last_words()}")
            time.sleep(0.1)

    # ----------------------------------------------------------------------------- faults

    def kill_node(self, node: str) -> None:
        """Crash a node: its daemon, its steps and its jobs are gone at once."""
        self._end(node, signal.SIGKILL)

    def revive_node(self, node: str, wait: bool = True, *, booted: bool = False) -> None:
        """Start the daemon of a node, as a reboot does; `booted`: it says that it has booted."""
        (self.folder / "spool" / node).mkdir(parents=True, exist_ok=True)
        apart = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
        own = f"mount --bind {self._memory} {_MEMORY} && " if self.limits_memory else ""
        self._daemon(node, *apart, "sh", "-c", f"{own}exec slurmd {'-b ' * booted}-D -N {node}")
        if wait:
            self.until(f"{node} is idle", lambda: node in self.idle(), 30)

    def stop_controller(self) -> None:
        """End the controller."""
        self._end("slurmctld", signal.SIGTERM)

    def kill_controller(self) -> None:
        """Crash the controller: what it had not saved yet is lost."""
        self._end("slurmctld", signal.SIGKILL)

    def start_controller(self) -> None:
        """Start the controller again, from its saved state."""
        self._daemon("slurmctld", "slurmctld", "-D")

        def answers() -> bool:
            return "is UP" in self.command("scontrol", "ping", check=False).stdout

        self.until("the controller answers", answers)

    def stop_accounting(self) -> None:
        """End the accounting daemon; its database stays."""
        self._end("slurmdbd", signal.SIGTERM)

    def start_accounting(self) -> None:
        """Start the accounting daemon."""
        self._daemon("slurmdbd", "slurmdbd", "-D")
        self.until("accounting answers", self._cluster_is_known, 60)

    def signal(self, what: str, how: signal.Signals) -> None:
        """Send a signal to a daemon, such as one that makes it fall silent."""
        self._running[what].send_signal(how)

    # ----------------------------------------------------------------------------- the daemons

    def _daemon(self, what: str, *call: str) -> None:
        with (self.folder / "log" / what).open("ab") as log:
            self._running[what] = subprocess.Popen(
                ("setpriv", "--pdeathsig", "KILL", *call),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _end(self, what: str, how: signal.Signals) -> None:
        if (process := self._running.pop(what, None)) is None:
            return
        process.send_signal(how)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _write(self) -> None:
        for name in ("state", "spool", "log", "jobs", "database"):
            (self.folder / name).mkdir()
        (self.folder / "jobs").chmod(0o1777)
        if self.limits_memory:
            self._memory.mkdir()
        key = self.folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))
        places = {
            "folder": self.folder,
            "name": self.name,
            "task": "cgroup" if self.limits_memory else "none",
            "host": socket.gethostname().split(".")[0],
            "controller": self._controller,
            "accounting": self._accounting,
            "database": self._database,
        }
        (self.folder / "slurm.conf").write_text(
            _CONTROLLER.format(
                **places,
                nodes="\n".join(self._node_lines(places["host"])),
                plain=",".join(self.nodes[: self._plain]),
                with_gpus=",".join(self.nodes[self._plain :]),
            )
            + self._also
        )
        (self.folder / "gres.conf").write_text(
            "".join(
                f"NodeName={node} Name=gpu File={self.folder}/gpu[0-{GPUS - 1}]\n"
                for node in self.nodes[self._plain :]
            )
        )
        for number in range(GPUS):
            (self.folder / f"gpu{number}").touch()
        (self.folder / "cgroup.conf").write_text(
            _CGROUPS if self.limits_memory else "CgroupAutomount=no\n"
        )
        accounting = self.folder / "slurmdbd.conf"
        accounting.touch(0o600)
        accounting.write_text(_ACCOUNTING.format(**places))
        self._start_database()

    def _node_lines(self, host: object) -> Iterable[str]:
        for number, (node, port) in enumerate(zip(self.nodes, self._ports, strict=True)):
            gpus = f" Gres=gpu:{GPUS}" if number >= self._plain else ""
            yield (
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}"
                f" CPUs={CPUS} RealMemory=1000 State=UNKNOWN{gpus}"
            )

    def _start_database(self) -> None:
        path = self.folder
        self._daemon(
            "munged",
            *("munged", "--foreground", "--force", "--num-threads=4"),
            *(f"--key-file={path}/munge.key", f"--socket={path}/munge.socket"),
            *(f"--pid-file={path}/munge.pid", f"--seed-file={path}/munge.seed"),
            f"--log-file={path}/log/munge",
        )
        own = ("--no-defaults", "--user=root", f"--datadir={path}/database")
        quick = ("--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0")
        unsynced = "--innodb-flush-method=nosync"
        self.command(
            "mariadb-install-db",
            *own,
            *("--auth-root-authentication-method=socket", "--skip-test-db"),
            *(*quick, unsynced),
            timeout=120,
        )
        self._daemon(
            "mariadbd",
            *("mariadbd", *own, *quick, unsynced),
            *(f"--port={self._database}", "--bind-address=127.0.0.1"),
            *(f"--socket={path}/database.socket", f"--pid-file={path}/database.pid"),
            *("--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900"),
        )
        self.until("the database answers", lambda: self._sql("select 1"), 60)
        self._sql("create database slurm_accounting")
        for host in ("localhost", "127.0.0.1"):
            self._sql(f"create user slurm@'{host}' identified by 'slurm'")
            self._sql(f"grant all on slurm_accounting.* to slurm@'{host}'")

    def _sql(self, statement: str) -> bool:
        own = ("mariadb", "--no-defaults", f"--socket={self.folder}/database.socket")
        return self.command(*own, "-e", statement, check=False).returncode == 0

    def _cluster_is_known(self) -> bool:
        show = ("sacctmgr", "-n", "-P", "show", "cluster", "format=cluster")
        if (done := self.command(*show, check=False)).returncode:
            return False
        if self.name not in done.stdout.split():
            self.command("sacctmgr", "-i", "add", "cluster", self.name)
            self.command("sacctmgr", "-i", "add", "account", "science", "research")
            users = "root,daemon,games"
            self.command("sacctmgr", "-i", "add", "user", users, "account=science,research")
        return True

    def _last_words(self) -> str:
        said: Sequence[str] = [
            f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:])
            for path in sorted((self.folder / "log").iterdir())
        ]
        return "\n".join(said)
