"""The commands that ask Slurm, as lists of words; none of them changes anything.

They are meant for the environment of `run.ENVIRONMENT`, in which Slurm takes and tells times in
UTC, and as Unix seconds where it can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import numpy as np

FIELDS: Final = (
    "JobIDRaw", "JobID", "Cluster", "User", "Account", "Partition", "QOS", "State", "ExitCode",
    "Submit", "Eligible", "Start", "End", "ElapsedRaw", "Suspended", "TimelimitRaw", "NNodes",
    "AllocNodes",
    "ReqNodes", "AllocCPUS", "AllocTRES", "ReqTRES", "NodeList", "Reason", "FailedNode", "Restarts",
    "JobName", "SubmitLine",
)  # fmt: skip
"""What is asked of `sacct` where it knows it. The two that hold free text stand last, so that a
``|`` within them can be told from one that separates."""

_NEWER: Final = ("FailedNode", "Restarts", "SubmitLine")
SINCE_2020: Final = tuple(name for name in FIELDS if name not in _NEWER)
"""Those that Slurm 20.11 knows, and all versions after it."""

EVENT_FIELDS: Final = ("Cluster", "NodeName", "Start", "End", "State", "User", "Reason")
"""What is asked of ``sacctmgr show event``; the reason is free text and stands last."""

START_COLUMNS: Final = (
    ("JOBID", "%A"), ("PARTITION", "%P"), ("USER", "%u"), ("STATE", "%T"), ("SUBMIT_TIME", "%V"),
    ("START_TIME", "%S"), ("NODES", "%D"), ("TIME_LIMIT", "%l"), ("REASON", "%r"),
    ("SCHEDNODES", "%Y"),
)  # fmt: skip
"""The columns of ``squeue --start``, by the header that it gives them."""


FAR_AHEAD: Final = "2037-01-01"
"""An end in the future: up to now, `sacct` leaves out jobs that may not start yet, even those that
were cancelled."""


EARLIEST: Final = 946_684_800
"""The year 2000: no Slurm is older, and a time of 0 would mean to Slurm that none was given."""


def at(cluster: str | None, command: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command that asks another cluster; None: the one that this machine belongs to."""
    if cluster is None:
        return command
    if command[0] == "sacctmgr":
        return (*command, f"Clusters={cluster}")
    return (command[0], f"--clusters={cluster}", *command[1:])


def sacct_fields() -> tuple[str, ...]:
    """Return the command that lists the fields which this version of `sacct` knows."""
    return ("sacct", "--helpformat")


def offered(helpformat: str, wanted: Iterable[str] = FIELDS) -> tuple[str, ...]:
    """Return those of the wanted fields that `sacct` said it knows, in our order.

    >>> offered("Account  JobIDRaw\\nJobName State", ("JobIDRaw", "State", "SubmitLine"))
    ('JobIDRaw', 'State')
    """
    known = {word.lower() for word in helpformat.split()}
    return tuple(name for name in wanted if name.lower() in known)


def sacct(fields: Iterable[str], since: int, until: int | None = None) -> tuple[str, ...]:
    """Return the command for all runs of all users' jobs in [since, until), Unix seconds."""
    return (
        "sacct", "--allusers", "--duplicates", "--allocations", "--parsable2", "--noconvert",
        f"--starttime={stamp(max(since, EARLIEST))}",
        f"--endtime={FAR_AHEAD if until is None else stamp(until)}",
        f"--format={','.join(fields)}",
    )  # fmt: skip


def sacct_tasks(fields: Iterable[str], arrays: Collection[int]) -> list[tuple[str, ...]]:
    """Return the command for all runs of arrays, none where there are none: tasks that wait since
    as many run as may are not among those of a time."""
    if not arrays:
        return []
    return [(
        "sacct", "--allusers", "--duplicates", "--allocations", "--parsable2", "--noconvert",
        f"--jobs={','.join(map(str, arrays))}", f"--format={','.join(fields)}",
    )]  # fmt: skip


def events(since: int, until: int | None = None) -> tuple[str, ...]:
    """Return the command for the times in which nodes were down or drained."""
    window = [f"Start={stamp(max(since, EARLIEST))}"] + (
        [] if until is None else [f"End={stamp(until)}"]
    )
    asked = f"Format={','.join(EVENT_FIELDS)}"
    return ("sacctmgr", "--readonly", "--parsable2", "show", "event", *window, asked)


def nodes() -> tuple[str, ...]:
    """Return the command for all nodes as the controller sees them."""
    return ("scontrol", "--all", "show", "node")


def partitions() -> tuple[str, ...]:
    """Return the command for all partitions, one a line."""
    return ("scontrol", "--all", "--oneliner", "show", "partition")


def config() -> tuple[str, ...]:
    """Return the command for the configuration, its version included."""
    return ("scontrol", "show", "config")


def starts() -> tuple[str, ...]:
    """Return the command for when waiting jobs are expected to start."""
    return ("squeue", "--all", "--start", f"--format={'|'.join(code for _, code in START_COLUMNS)}")


def queue() -> tuple[str, ...]:
    """Return the command for which jobs wait: id, priority, reservation, id as users see it with
    the tasks of an array, and why, which may hold spaces."""
    return ("squeue", "--all", "--states=PENDING", "--noheader", "--format=%A|%Q|%v|%i|%r")


def reservations() -> tuple[str, ...]:
    """Return the command for all reservations, one a line."""
    return ("scontrol", "--all", "--oneliner", "show", "reservation")


def printed(since: str) -> tuple[str, ...]:
    """Return shell lines that write the three files from which a report can be made.

    They work with Slurm 20.11 and later. `sacct` is first asked which of two newer fields it knows.

    Parameters
    ----------
    since : a date as Slurm takes it, such as ``2024-01-31``
    """
    known = "$(sacct --helpformat | grep -ow {} | sed 's/^/,/')"
    fields = ",".join(SINCE_2020[:-1]) + known.format("FailedNode") + known.format("Restarts")
    fields += f",{SINCE_2020[-1]}" + known.format("SubmitLine")
    export = "export LC_ALL=C TZ=UTC SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0"
    return (
        f'({export}; sacct -a -D -X -P --noconvert -S {since} -E {FAR_AHEAD} --format="{fields}"'
        " > jobs.txt)",
        f"({export}; sacctmgr -r -P show event Start={since} Format={','.join(EVENT_FIELDS)}"
        " > events.txt)",
        f"({export}; scontrol -a show node > nodes.txt)",
    )


def stamp(time: int) -> str:
    """Return Unix seconds as a date that Slurm takes, in UTC."""
    return str(np.datetime64(time, "s"))
