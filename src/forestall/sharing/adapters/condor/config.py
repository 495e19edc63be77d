"""Lines of configuration for HTCondor's machines and its manager, and lines for submit files."""

from __future__ import annotations

from typing import Final, Literal

from forestall.core.model.errors import ParameterError
from forestall.sharing.adapters.condor.attributes import FOLDER, literal
from forestall.sharing.adapters.condor.expressions import MAX_AGE, not_refused, rank
from forestall.sharing.adapters.condor.falcon import JobNeeds
from forestall.sharing.adapters.condor.submit import VACATE, falcon_lines, taken

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
# HTCondor publishes what forestall's agent reports about this machine.
# On every machine with an agent: put these lines into a file such as
# /etc/condor/config.d/50-forestall, then run condor_reconfig. The program runs as HTCondor's own
# user, which must be allowed to read {folder}/{ad}.
STARTD_CRON_JOBLIST = $(STARTD_CRON_JOBLIST) FORESTALL
STARTD_CRON_FORESTALL_EXECUTABLE = {executable}
STARTD_CRON_FORESTALL_ARGS = {arguments}
STARTD_CRON_FORESTALL_CWD = {folder}
STARTD_CRON_FORESTALL_MODE = Periodic
STARTD_CRON_FORESTALL_PERIOD = {every}s
# How often the machine sends changed values to the collector (HTCondor's default: every 300 s).
UPDATE_INTERVAL = {every}

# Guests find the agent here, and leave before its owner takes the machine.
{where} = {folder_told}
STARTD_ATTRS = $(STARTD_ATTRS) {where}

# To show the values: condor_status -af Machine ForestallState ForestallReliability4h ForestallMttf

# Uncomment to start no job while the agent reports that the owner needs the machine. Without an
# agent, or when its report is more than {max_age} s old, the machine is used as before.
#START = ($(START)) && ({not_refused})

# Uncomment both to evict running jobs when the owner needs the machine: SIGTERM, then {vacate} s
# for `forestall run` to save them.
#PREEMPT = ($(PREEMPT)) || ({taken})
#MachineMaxVacateTime = {vacate}

# On the central manager only. By default, HTCondor prefers machines with fewer free cores and less
# memory, and applies a job's rank only among machines equal in both.
#NEGOTIATOR_PRE_JOB_RANK = {pre_job_rank}
"""

_FALCON: Final = """\
# The machine that Falcon chooses for a job that takes {hours} on an idle machine of speed 1: of
# those expected to outlive the job, the one that finishes it first, failures included; without
# any, the one that completes most of it. Values more than {max_age} s old count as unknown;
# machines with unknown values come last.
{rank}
# No machine that is unavailable to guests now. Join it with && to the job's other requirements.
requirements = {not_refused}
"""
_SUBMIT: Final = """\
# The machine that most likely stays available for {hours}, as forestall's agent predicts. Values
# more than {max_age} s old count as unknown; machines with unknown values come last.
rank = {rank}
# No machine that is unavailable to guests now. Join it with && to the job's other requirements.
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
