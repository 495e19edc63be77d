"""Runs one of Slurm's commands and says in one line why it could not be run."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from forestall.core.model.errors import ForestallError
from forestall.core.model.units import format_duration

TIMEOUT: Final = 600.0
"""Seconds that a command may take. A year of a busy site's jobs takes minutes."""

ENVIRONMENT: Final = {
    "LC_ALL": "C", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0",
}  # fmt: skip
"""In which Slurm speaks one language, tells times without a zone (as Unix seconds, and where it
does not know that form, in UTC), and tells lists of tasks whole. Variables with which users change
formats are taken out."""

_CHANGED_BY_USERS: Final = (
    "SACCT_FORMAT", "SACCT_FEDERATION", "SACCT_LOCAL", "SQUEUE_FORMAT", "SQUEUE_FORMAT2",
    "SQUEUE_PARTITION", "SQUEUE_STATES", "SQUEUE_USERS", "SQUEUE_SORT", "SQUEUE_NAMES",
    "SQUEUE_QOS", "SQUEUE_ACCOUNT", "SQUEUE_LICENSES", "SINFO_FORMAT", "SINFO_PARTITION",
    "SINFO_SORT", "SCONTROL_ALL", "SLURM_BITSTR_LEN", "SLURM_DEBUG_FLAGS", "SLURM_JSON",
    "SLURM_YAML",
)  # fmt: skip

_CAUSES: Final = (
    (("fetch_config", "configuration source", "unable to open slurm.conf", "cannot stat file",
      "unable to status file", "no such file"),
     "Slurm has no configuration here: run this where sinfo works, or set SLURM_CONF"),
    (("connection refused", "unable to contact", "problem talking to the database",
      "failed to open persistent connection", "connection timed out", "zero bytes"),
     "it does not answer"),
    (("access/permission denied", "permission denied", "not authorized", "invalid user",
      "authentication credential"),
     "this user may not query that"),
    (("accounting_storage/none", "accounting storage is disabled", "slurm accounting"),
     "this cluster keeps no accounting"),
)  # fmt: skip


_HOPELESS: Final = (
    (("up to 60sec", "configuration source", "dns srv lookup failed"), 3.0),
    (("connection refused", "unable to contact", "problem talking to the database"), 20.0),
)
"""What Slurm's commands say while they try again, and the seconds after which that is no longer
waited for: a file that is not there does not come, a server may be about to start, or a second one
to answer."""
_STEP: Final = 0.25
_MOST_SAID: Final = 20_000


class SlurmError(ForestallError):
    """One of Slurm's commands could not be run, or said that it failed.

    Parameters
    ----------
    program : the command's name
    message : what was wrong and what can be done
    said : what the command itself said, as it stands
    late : whether it was ended before it had answered, so that nobody knows what it did
    large : whether it was ended since its answer was too large
    started : whether it ran at all
    """

    def __init__(
        self,
        program: str,
        message: str,
        *,
        said: str = "",
        late: bool = False,
        large: bool = False,
        started: bool = True,
    ) -> None:
        self.program = program
        self.said = said
        self.late = late
        self.large = large
        self.started = started
        super().__init__(f"{program}: {message}")


def environment() -> dict[str, str]:
    """Return the variables for Slurm's commands: ours, without those that change formats."""
    kept = {k: v for k, v in os.environ.items() if k not in _CHANGED_BY_USERS}
    return {**kept, **ENVIRONMENT}


def run(command: Sequence[str], *, timeout: float = TIMEOUT) -> str:
    """Run a command and return what it says; for answers that fit in memory with ease.

    Bytes that are not UTF-8 become replacement characters. Raises SlurmError where the command is
    not installed, does not end in `timeout` seconds, or fails.
    """
    return read(command, timeout=timeout).decode("utf-8", errors="replace")


def read(
    command: Sequence[str],
    *,
    timeout: float = TIMEOUT,
    most: int | None = None,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
    user: str = "",
    folder: str | None = None,
) -> bytes:
    """Run a command and return the bytes that it says.

    Parameters
    ----------
    most : bytes that the answer may have; with more the command is ended
    given : what the command reads
    variables : its environment (default: that of `environment`)
    user : as whom it runs, which only root may say; "": as this process
    folder : where it runs (default: where this process does)

    Errors as in `run`.
    """
    call = _Call(command, timeout, most, given, variables, user, folder)
    with _answered(call) as path:
        return path.read_bytes()


@contextmanager
def answer(
    command: Sequence[str],
    *,
    timeout: float = TIMEOUT,
    most: int | None = None,
    given: bytes = b"",
    variables: Mapping[str, str] | None = None,
    user: str = "",
) -> Iterator[Path]:
    """Run a command and give a file with what it said, which is gone afterwards.

    The answer goes from the command to the disk without passing through this process. Parameters
    and errors as in `read`.
    """
    with _answered(_Call(command, timeout, most, given, variables, user)) as path:
        yield path


class _Call(NamedTuple):
    command: Sequence[str]
    timeout: float
    most: int | None
    given: bytes
    variables: Mapping[str, str] | None
    user: str
    folder: str | None = None


@contextmanager
def _answered(call: _Call) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="forestall-") as folder:
        path = Path(folder) / call.command[0]  # remarks name it so
        with path.open("w+b") as said:
            _run(call, said)
        yield path


def _rights(user: str) -> dict[str, Any]:
    """Return what makes a command run as a user: its number and its groups."""
    if not user:
        return {}
    known = pwd.getpwnam(user)
    groups = os.getgrouplist(user, known.pw_gid)
    return {"user": known.pw_uid, "group": known.pw_gid, "extra_groups": groups}


def _run(call: _Call, said: IO[bytes]) -> None:
    command = call.command
    program = command[0]
    with tempfile.TemporaryFile() as noise, tempfile.TemporaryFile() as given:
        given.write(call.given)
        given.seek(0)
        try:
            process = subprocess.Popen(
                list(command),
                stdin=given,
                stdout=said,
                stderr=noise,
                env=environment() if call.variables is None else dict(call.variables),
                cwd=call.folder,
                **_rights(call.user),
            )
        except KeyError:
            message = f"there is no user {call.user} on this machine"
            raise SlurmError(program, message, started=False) from None
        except FileNotFoundError:
            raise SlurmError(
                program,
                "is not installed; on Debian it is in the package slurm-client",
                started=False,
            ) from None
        except PermissionError:
            raise SlurmError(program, "may not be run by this user", started=False) from None
        except OSError as error:
            message = f"cannot be run: {error.strerror or error}"
            raise SlurmError(program, message, started=False) from None
        try:
            code = _ended(process, call, said, noise)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if code:
            said.seek(0)  # scontrol complains where it answers
            words = _noise(noise) or said.read(1000)
            text = words.decode("utf-8", errors="replace")
            raise SlurmError(program, _failure(words, code), said=text, late=code < 0)


def _bounded(call: _Call, said: IO[bytes]) -> None:
    if call.most is not None and os.fstat(said.fileno()).st_size > call.most:
        message = f"printed more than {call.most:,} bytes ({_spoken(call.command)})"
        raise SlurmError(call.command[0], message, large=True)


def _ended(process: subprocess.Popen[bytes], call: _Call, said: IO[bytes], noise: IO[bytes]) -> int:
    """Return the exit code of a command. Raises SlurmError where it takes too long, says too much,
    or says that there is nothing to wait for."""
    command, timeout = call.command, call.timeout
    begin = time.monotonic()
    first: dict[int, float] = {}
    while True:
        spent = time.monotonic() - begin
        if spent >= timeout:
            complaint = _noise(noise)
            text = complaint.decode("utf-8", errors="replace")
            raise SlurmError(command[0], _late(command, complaint, timeout), said=text, late=True)
        try:
            code = process.wait(min(_STEP, timeout - spent))
        except subprocess.TimeoutExpired:
            _bounded(call, said)
        else:
            _bounded(call, said)
            return code
        now = time.monotonic()
        lower = _noise(noise).decode("utf-8", errors="replace").lower()
        for k, (words, patience) in enumerate(_HOPELESS):
            if not any(word in lower for word in words):
                first.pop(k, None)
            elif now - first.setdefault(k, now) >= patience:
                why = _failure(_noise(noise), 1)
                message = f"{why}; given up after {now - begin:.0f} s"
                raise SlurmError(command[0], message, said=lower, late=True)


def _noise(noise: IO[bytes]) -> bytes:
    """Return what a command complained of so far; reading moves no place where it writes."""
    return os.pread(noise.fileno(), _MOST_SAID, 0)


def _late(command: Sequence[str], stderr: bytes, timeout: float) -> str:
    text = f"gave no answer in {format_duration(timeout)} ({_spoken(command)})"
    if stderr.strip():
        return f"{text}: {_failure(stderr, 1)}"
    return (
        f"{text}; ask for a shorter time, or write the files with the commands that "
        "`forestall report` prints"
    )


def _spoken(command: Sequence[str]) -> str:
    text = " ".join(command)
    return text if len(text) <= 120 else text[:117] + "..."


def _failure(stderr: bytes, code: int) -> str:
    """Return in one line what Slurm said, and before it what that means where it is known."""
    lines = [line.strip() for line in stderr.decode("utf-8", errors="replace").splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        return f"ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
    said = next((line for line in reversed(lines) if "fatal" in line), lines[0])
    lower = " ".join(lines).lower()
    cause = next((text for words, text in _CAUSES if any(w in lower for w in words)), "")
    return f"{cause} ({said[:300]})" if cause else f"failed: {said[:300]}"
