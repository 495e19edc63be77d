"""What of Slurm a controller needs: commands, a version that is known, answers, rights, clocks."""

from __future__ import annotations

import calendar
import getpass
import os
import re
import shutil
import time
from collections.abc import Iterator
from typing import Final

from forestall.core.model.faults import LookError
from forestall.live.doctor.checks import DoctorCheck, missing, note, ok
from forestall.slurm.control import site_limits
from forestall.slurm.run import SlurmError, run

COMMANDS: Final = ("sinfo", "squeue", "scontrol", "sacct", "sbatch", "scancel")
OLDEST: Final = (22, 5)
NEWEST: Final = (26, 5)
APART: Final = 60
"""s by which Slurm's clock may differ: a look with more is worth nothing."""
_WAIT: Final = 15.0
_RELEASE: Final = re.compile(r"\b(\d{2})\.(\d{2})(?:\.\S+)?")
_AS_OF: Final = re.compile(r"Configuration data as of (\S+)")
_SETTING: Final = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)
_ROLES: Final = {
    "None": "advisor: reads, quotes and records",
    "Operator": "advisor and keeper: also reserves, requeues and signals",
    "Administrator": "all roles: also drains, resumes and reboots",
}


def slurm() -> Iterator[DoctorCheck]:
    """Yield what a controller needs of Slurm. Where nothing is installed that is all there is."""
    absent = [name for name in COMMANDS if shutil.which(name) is None]
    if absent:
        yield missing("Slurm commands", "not on PATH: " + ", ".join(absent),
                      "install Slurm's client commands, or add their folder to PATH")  # fmt: skip
    else:
        yield ok("Slurm commands", ", ".join(COMMANDS))
    if {"sinfo", "scontrol"} & set(absent):
        return
    yield _version()
    try:
        config = run(("scontrol", "show", "config"), timeout=_WAIT)
    except SlurmError as error:
        yield missing("slurmctld", str(error), "start it, or check SLURM_CONF and the network")
        return
    settings = dict(_SETTING.findall(config))
    yield ok("slurmctld", f"answers: cluster {settings.get('ClusterName', 'without a name')}")
    yield _clock(config, time.time())
    yield from _accounting(settings, "sacct" not in absent)
    if shutil.which("sacctmgr") is not None:
        yield _limits(config)
    yield _rights(settings)
    yield _requeue(settings)


def _version() -> DoctorCheck:
    subject = "Slurm version"
    try:
        said = run(("sinfo", "--version"), timeout=_WAIT).strip()
    except SlurmError as error:
        return missing(subject, str(error), "check that sinfo works for this user")
    found = _RELEASE.search(said)
    if found is None:
        return missing(subject, f"sinfo says {said!r}", "expected a version such as 24.11.5")
    release = (int(found[1]), int(found[2]))
    if release < OLDEST:
        return missing(subject, said, "forestall knows Slurm 22.05 to 26.05; update Slurm")
    if release > NEWEST:
        return note(subject, said, "newer than 26.05, the newest tested: try it as advisor")
    return ok(subject, said)


def _clock(config: str, now: float) -> DoctorCheck:
    subject = "Clocks"
    found = _AS_OF.search(config)
    told = None if found is None else _seconds(found[1])
    if told is None:
        return note(
            subject, "Slurm does not report its time", "check that all clocks are synchronized"
        )
    apart = told - now
    said = f"Slurm's is {abs(apart):.0f} s {'ahead' if apart > 0 else 'behind'}"
    if abs(apart) > APART:
        return missing(
            subject, said, "synchronize the clocks (chrony): until then no reading is trusted"
        )
    return ok(subject, said)


def _seconds(text: str) -> int | None:
    """Return a time as Slurm writes it, in UTC or as seconds."""
    if text.isdigit():
        return int(text)
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None


def _accounting(settings: dict[str, str], has_sacct: bool) -> Iterator[DoctorCheck]:
    subject = "Accounting"
    kind = settings.get("AccountingStorageType", "")
    if kind in {"", "(null)", "accounting_storage/none"}:
        yield note(subject, "this cluster has none",
                   "set AccountingStorageType=accounting_storage/slurmdbd: otherwise the "
                   "outcome of a job is known only while Slurm remembers it")  # fmt: skip
        return
    if not has_sacct:
        return
    words = ("sacct", "--noheader", "--allocations", "--starttime=now-1hours", "--format=JobID")
    try:
        run(words, timeout=_WAIT)
    except SlurmError as error:
        yield missing(
            subject, str(error), "check that slurmdbd runs and that this user may query it"
        )
        return
    yield ok(subject, f"{kind.removeprefix('accounting_storage/')} answers")


def _limits(config: str) -> DoctorCheck:
    """Whether offers know the limits of QOS and associations."""
    subject = "Limits"
    try:
        cluster = site_limits.enforced_in(config)
        if not cluster:
            return ok(subject, "Slurm enforces none of QOS and associations")
        questions = (site_limits.qos(), site_limits.associations(cluster), site_limits.users())
        found = site_limits.limits_of_rows(*(run(one, timeout=_WAIT) for one in questions))
    except (SlurmError, LookError) as error:
        return note(subject, f"not known: {error}",
                    "let this user read them: sacctmgr show qos, association, user")  # fmt: skip
    said = f"{len(found.qos):,} QOS and {len(found.associations):,} associations"
    return ok(subject, f"{said}: offers keep to their limits")


def _rights(settings: dict[str, str]) -> DoctorCheck:
    subject = "Rights"
    user = getpass.getuser()
    owner = settings.get("SlurmUser", "").partition("(")[0]
    if os.geteuid() == 0 or user == owner:
        return ok(subject, f"{user} may act as {_ROLES['Administrator']}")
    words = ("sacctmgr", "--noheader", "--parsable2", "show", "user", user, "format=AdminLevel")
    try:
        level = run(words, timeout=_WAIT).strip().partition("\n")[0]
    except SlurmError as error:
        return note(subject, f"not known: {error}", "the advisor needs none")
    if level not in _ROLES:
        return note(subject, f"{user} has no account in Slurm",
                    f"sacctmgr add user {user} account=ACCOUNT")  # fmt: skip
    said = f"{user} ({level}) may act as {_ROLES[level]}"
    if level == "None":
        todo = f"for the keeper: sacctmgr modify user {user} set AdminLevel=Operator"
        return note(subject, said, todo)
    return ok(subject, said)


def _requeue(settings: dict[str, str]) -> DoctorCheck:
    subject = "Requeue"
    if settings.get("JobRequeue", "1") == "0":
        return note(subject, "JobRequeue=0: jobs end with their node unless they ask otherwise",
                    "jobs with promises ask for it; nothing to do")  # fmt: skip
    return ok(subject, "jobs go back to the queue when their node fails")
