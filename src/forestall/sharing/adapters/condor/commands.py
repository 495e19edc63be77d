"""HTCondor's own commands: run, and what they print as values."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from forestall.core.model.errors import ForestallError
from forestall.sharing.adapters.condor.attributes import HOURS, expected_load, reliability

TIMEOUT: Final = 60.0
_OURS: Final = (
    "Machine", "Name", "State", "Activity", "ForestallUpdated", "ForestallAvailable",
    "ForestallSpeed", "ForestallMttf", "ForestallVaultBandwidth",
    *(name(hours) for hours in HOURS for name in (reliability, expected_load)),
)  # fmt: skip
_OF_A_JOB: Final = (
    "ClusterId", "ProcId", "JobStatus", "RemoteHost", "LastRemoteHost", "QDate",
    "EnteredCurrentStatus", "JobCurrentStartDate", "JobCurrentStartExecutingDate",
    "CompletionDate", "NumJobStarts", "NumVacates", "HoldReason", "ExitCode", "ExitBySignal",
    "RemoteWallClockTime", "ForestallGuest", "ForestallHours",
)  # fmt: skip


class CondorError(ForestallError):
    """One of HTCondor's commands could not be run, or said that it failed."""

    exit_code = 1


def run(words: Sequence[str], *, timeout: float = TIMEOUT) -> str:
    """Run a command and return what it prints. Raises CondorError, in one line."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
            errors="replace", timeout=timeout, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise CondorError(f"{words[0]}: not found; HTCondor is not installed here") from None
    except subprocess.TimeoutExpired:
        raise CondorError(f"{words[0]}: no answer within {timeout:g} s") from None
    except OSError as error:
        raise CondorError(f"{words[0]}: {error.strerror or error}") from None
    if done.returncode:
        said = " ".join((done.stderr.strip() or done.stdout.strip()).split())
        raise CondorError(f"{words[0]}: {said[:400] or f'ended with code {done.returncode}'}")
    return done.stdout


def submit(file: Path) -> int:
    """Submit a file; return the number of the cluster. Raises CondorError."""
    said = run(("condor_submit", "-terse", str(file)))
    found = re.match(r"\s*(\d+)\.\d+", said)
    if found is None:
        raise CondorError(f"condor_submit: no job id in its answer: {said.strip()[:200]!r}")
    return int(found[1])


def remove(cluster: int) -> None:
    """Take a job back. Raises CondorError."""
    run(("condor_rm", str(cluster)))


def jobs(clusters: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """Return the ads of jobs by cluster: of those in the queue, else of those that it remembers.
    Raises CondorError."""
    found = _by_cluster(("condor_q", *map(str, clusters), "-json"))
    gone = [number for number in clusters if number not in found]
    if gone:
        found |= _by_cluster(("condor_history", *map(str, gone), "-json"))
    return found


def machines() -> list[Mapping[str, Any]]:
    """Return the ads of machines, as far as an agent says anything of them. Raises CondorError."""
    words = ("condor_status", "-json", "-constraint", "ForestallUpdated =!= undefined",
             "-attributes", ",".join(_OURS))  # fmt: skip
    return ads(run(words))


def _by_cluster(words: Sequence[str]) -> dict[int, Mapping[str, Any]]:
    if len(words) < 3:
        return {}
    told = run((*words, "-attributes", ",".join(_OF_A_JOB)))
    return {int(one["ClusterId"]): one for one in ads(told) if "ClusterId" in one}


def ads(text: str) -> list[Mapping[str, Any]]:
    """Return the ads that a command printed as JSON; an empty answer has none. Raises
    CondorError."""
    if not text.strip():
        return []
    try:
        told = json.loads(text)
    except ValueError as error:
        raise CondorError(f"the answer is not JSON ({error})") from None
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise CondorError("the answer is not a list of ads")
    return told
