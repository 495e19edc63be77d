"""Lines of configuration for HTCondor's machines and its manager, and lines for submit files."""

from __future__ import annotations

from typing import Final, Literal

from forestall.adapters.condor.attributes import FOLDER, literal
from forestall.adapters.condor.expressions import MAX_AGE, not_refused, rank
from forestall.adapters.condor.falcon import JobNeeds
from forestall.adapters.condor.submit import VACATE, falcon_lines, taken
from forestall.model.errors import ParameterError

Way = Literal["file", "command"]
WAYS: Final = ("file", "command")
Choice = Literal["stay", "falcon"]
CHOICES: Final = ("stay", "falcon")
AD_FILE: Final = "condor.ad"
"""In the agent's folder: what the startd is to publish, as the agent last wrote it."""
CAT: Final = "/bin/cat"

PRE_JOB_RANK: Final = "(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED))"
"""HTCondor's own default without its last part, ``- (100000 * Cpus) - Memory``, which weighs more
than the rank of any job: with it, jobs choose only among machines alike in free cores and memory.
"""

_MACHINE: Final = """\
# HTCondor publishes what forestall's agent says of this machine.
# On every machine with an agent: put these lines into a file such as
# /etc/condor/config.d/50-forestall, then run condor_reconfig. The program is run as HTCondor's own
# user, which has to be allowed to read {folder}/{ad}.
STARTD_CRON_JOBLIST = $(STARTD_CRON_JOBLIST) FORESTALL
STARTD_CRON_FORESTALL_EXECUTABLE = {executable}
STARTD_CRON_FORESTALL_ARGS = {arguments}
STARTD_CRON_FORESTALL_CWD = {folder}
STARTD_CRON_FORESTALL_MODE = Periodic
STARTD_CRON_FORESTALL_PERIOD = {every}s
# How often the machine tells the collector of changes in such values; by default every 300 s.
UPDATE_INTERVAL = {every}

# Guests hear of the agent there, and leave before its owner takes the machine.
{where} = {folder_told}
STARTD_ATTRS = $(STARTD_ATTRS) {where}

# To be seen with: condor_status -af Machine ForestallState ForestallReliability4h ForestallMttf

# No job starts where the agent says that the owner needs the machine. Without an agent, or when its
# word is more than {max_age} s old, the machine is used as before. Take the # away to have that.
#START = ($(START)) && ({not_refused})

# Jobs that run are sent away when the owner needs the machine: SIGTERM, and {vacate} s in which
# `forestall run` saves them. Take the # away from both to have that.
#PREEMPT = ($(PREEMPT)) || ({taken})
#MachineMaxVacateTime = {vacate}

# On the central manager only. By its default, HTCondor prefers machines with fewer free cores and
# less memory, and asks for the rank that a job gives only among machines alike in both.
#NEGOTIATOR_PRE_JOB_RANK = {pre_job_rank}
"""

_FALCON: Final = """\
# The machine that Falcon would choose for a job that takes {hours} on a machine of speed 1 that
# nobody else uses: of those expected to outlive the job the one that ends it first, failures
# considered; else the one that gets most of it done. What is more than {max_age} s old counts as
# not known; machines that do not tell all of it come last.
{rank}
# None that is unavailable to guests now. Join it by && with what else the job requires.
requirements = {not_refused}
"""
_SUBMIT: Final = """\
# The machine that most likely stays available for {hours}, as forestall's agent predicts it. What
# is more than {max_age} s old counts as not known; machines of which nothing is known come last.
rank = {rank}
# None that is unavailable to guests now. Join it by && with what else the job requires.
requirements = {not_refused}
"""


def machine_lines(
    folder: str, *, every: int, way: Way, max_age: int = MAX_AGE, command: str = "forestall"
) -> str:
    """Return the configuration of a machine whose agent works in `folder` (an absolute path).

    Parameters
    ----------
    every : seconds between two readings
    way : "file" has the file read that the agent writes; "command" runs `forestall agent ad`
    max_age : seconds after which the agent's word no longer counts
    command : absolute path of `forestall`, for way "command"

    Raises ParameterError.
    """
    if not 1 <= every <= max_age:
        raise ParameterError("every", every, f"1 to {max_age} s, after which values are stale")
    if way not in WAYS:
        raise ParameterError("way", way, f"one of {', '.join(WAYS)}")
    file = way == "file"
    return _MACHINE.format(
        folder=_one_value("folder", folder),
        ad=AD_FILE if file else "status.json",
        executable=CAT if file else _one_value("command", command),
        arguments=AD_FILE if file else "agent ad --folder .",
        every=every,
        max_age=max_age,
        not_refused=not_refused(max_age),
        taken=taken(max_age),
        vacate=VACATE,
        where=FOLDER,
        folder_told=literal(folder),
        pre_job_rank=PRE_JOB_RANK,
    )


def submit_lines(hours: float, max_age: int = MAX_AGE, by: Choice = "stay") -> str:
    """Return the lines of a submit file for a job that takes so many hours.

    Parameters
    ----------
    by : "stay": the machine that most likely stays for so long; "falcon": Falcon's choice

    Raises ParameterError.
    """
    if by not in CHOICES:
        raise ParameterError("by", by, f"one of {', '.join(CHOICES)}")
    told = f"{hours:g} hour{'' if hours == 1 else 's'}"
    falcon = by == "falcon"
    lines = "\n".join(falcon_lines(JobNeeds(hours), max_age)) if falcon else ""
    chosen = lines or rank(hours, max_age)
    usable, text = not_refused(max_age), _FALCON if falcon else _SUBMIT
    return text.format(hours=told, rank=chosen, not_refused=usable, max_age=max_age)


def _one_value(name: str, path: str) -> str:
    """Return a path as the value of a line; some cannot stand there."""
    odd = "$" in path or path.endswith("\\") or path != path.strip() or not path.isprintable()
    if odd or not path.startswith("/"):
        raise ParameterError(
            name,
            path,
            "an absolute path without $, without a backslash or blank at its end, and printable, "
            "so that it can stand in HTCondor's configuration",
        )
    return path
