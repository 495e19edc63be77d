"""A guest as a job of HTCondor: the submit file by which it takes Falcon's choice of a machine, is
saved into a vault when it has to go, and goes on elsewhere.

Whoever evicts it sends SIGTERM, on which `forestall run` saves it; it leaves by itself, with code
75, where its machine's agent sees the owner come. In both cases the schedd queues it again, and it
does not go back to the machine that it left for a while. (HTCondor's manual, "condor_submit".)
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.sharing.adapters.condor.attributes import AVAILABLE, FOLDER
from forestall.sharing.adapters.condor.expressions import MAX_AGE, fresh, not_refused
from forestall.sharing.adapters.condor.falcon import RANK, JobNeeds, falcon_attributes

SHELL: Final = "/bin/sh"
_CLUSTER: Final = "@CLUSTER@"
UNFINISHED: Final = 75
"""The exit code with which `forestall run` says that the same command goes on."""
GUEST: Final = "ForestallGuest"
"""The attribute of a job that is a guest of ours: its name."""
HOURS: Final = "ForestallHours"
AWAY: Final = 300
"""s for which a guest does not go back to the machine that it left."""
VACATE: Final = 600
"""s between SIGTERM and SIGKILL, in which it is saved."""
_WORDS_OURS: Final = frozenset(
    {"executable", "arguments", "universe", "rank", "requirements", "queue", "log",
     "on_exit_remove", "kill_sig", "environment"}
)  # fmt: skip


@dataclass(frozen=True)
class GuestJob:
    """A guest as HTCondor runs it.

    Attributes
    ----------
    name : of the guest
    program : of `forestall`, as machines know it
    options : of `forestall run`, from --name on
    words : the guest's own command line
    needs : what it needs
    folder : where its log and output go, and where it runs
    leave_below : probability to stay for an hour below which it goes to no machine; None: to any
    lines : of a submit file, added as they are
    """

    name: str
    program: str
    options: Sequence[str]
    words: Sequence[str]
    needs: JobNeeds
    folder: str
    leave_below: float | None = None
    lines: Sequence[str] = ()


def submit_text(job: GuestJob, max_age: int = MAX_AGE) -> str:
    """Return the submit file of a guest. Raises ParameterError for lines that cannot stand there,
    and words that HTCondor cannot carry."""
    for line in job.lines:
        name = line.partition("=")[0].strip().lower()
        if "\n" in line or "=" not in line or name in _WORDS_OURS:
            allowed = "a line such as 'request_memory = 2GB', other than those written here"
            raise ParameterError("line", line, allowed)
    vacate = f"job_max_vacate_time = {VACATE}"
    return "\n".join(
        [
            f"# A forestall guest: {job.name}",
            "universe = vanilla",
            f"executable = {SHELL}",
            "transfer_executable = False",
            f"arguments = {_appending(job)}",
            # the folder of the agent on whichever machine takes it; empty: there is none
            f'environment = "FORESTALL_AGENT=$$({FOLDER}:)"',
            f"initialdir = {job.folder}",
            f"log = {job.folder}/{job.name}.log",
            "should_transfer_files = NO",
            *falcon_lines(job.needs, max_age),
            f"requirements = {requirements(job.leave_below, max_age)}",
            f"on_exit_remove = (ExitCode =!= {UNFINISHED})",
            "kill_sig = SIGTERM",
            "want_graceful_removal = True",
            vacate,
            f'My.{GUEST} = "{job.name}"',
            f"My.{HOURS} = {float(job.needs.hours)!r}",
            *job.lines,
            "queue",
            "",
        ]
    )


def _appending(job: GuestJob) -> str:
    """Return the arguments of a shell that runs a guest with its output at the end of its files:
    HTCondor itself would empty them each time that the guest begins somewhere."""
    begun = f"{job.folder}/{job.name}.{_CLUSTER}"
    files = f">> {shlex.quote(begun + '.out')} 2>> {shlex.quote(begun + '.err')}"
    script = f'exec "$0" "$@" {files}'
    told = arguments(["-c", script, job.program, *job.options, "--", *job.words])
    return told.replace(_CLUSTER, "$(ClusterId)")


def falcon_lines(needs: JobNeeds, max_age: int = MAX_AGE) -> list[str]:
    """Return the lines of a submit file by which a job takes the machine that Falcon would."""
    told = [f"My.{name} = {value}" for name, value in falcon_attributes(needs, max_age).items()]
    return [*told, f"rank = MY.{RANK}"]


def requirements(leave_below: float | None, max_age: int = MAX_AGE) -> str:
    """Return where a guest may go: not where its owner needs the machine or is about to, nor, for
    `AWAY` s, where it has just been."""
    told = [f"({not_refused(max_age)})"]
    if leave_below is not None:
        short = f"{fresh(max_age)} && ForestallReliability1h < {leave_below!r}"
        told.append(f"(({short}) =!= true)")
    left = 'TARGET.Machine =!= split(LastRemoteHost, "@")[1]'
    told.append(f"({left} || time() - EnteredCurrentStatus > {AWAY})")
    return " && ".join(told)


def taken(max_age: int = MAX_AGE) -> str:
    """Return whether the owner of a machine needs it, by its agent's fresh word: for PREEMPT."""
    return f"({fresh(max_age)} && {AVAILABLE} == false) =?= true"


def arguments(words: Sequence[str]) -> str:
    """Return a command line as a submit file takes it, in the newer of the two ways. Raises
    ParameterError for what cannot stand there.

    >>> print(arguments(["-c", "echo 'a b' \\"c\\""]))
    "-c 'echo ''a b'' ""c""'"
    """
    for word in words:
        if "\n" in word or "$(" in word or "$$" in word or "\0" in word:
            allowed = "words without line breaks, $( and $$, which HTCondor would replace"
            raise ParameterError("CMD", word, allowed)
    told = " ".join(_quoted(word) for word in words)
    return '"' + told.replace('"', '""') + '"'


def _quoted(word: str) -> str:
    plain = word and not set(word) & set(" \t'\"")
    return word if plain else "'" + word.replace("'", "''") + "'"
