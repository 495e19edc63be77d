"""What a job may ask for under a promise: one door for command line, API and page.

The nodes and the time that were quoted win over what a script says, so a script that asks for
something else would run as something else: it is refused. So are options that change a job's shape,
number or start in a way of which the offer knew nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.units import exact_duration, parse_duration

SHORT: Final = {
    "A": "account", "a": "array", "b": "begin", "C": "constraint", "c": "cpus-per-task",
    "D": "chdir", "d": "dependency", "e": "error", "F": "nodefile", "G": "gpus", "H": "hold",
    "I": "immediate", "i": "input", "J": "job-name", "k": "no-kill", "L": "licenses",
    "M": "clusters", "m": "distribution", "N": "nodes", "n": "ntasks", "O": "overcommit",
    "o": "output", "p": "partition", "Q": "quiet", "q": "qos", "S": "core-spec",
    "s": "oversubscribe", "t": "time", "V": "version", "v": "verbose", "W": "wait",
    "w": "nodelist", "x": "exclude",
}  # fmt: skip
"""Letters of sbatch, and the options that they stand for."""
FLAGS: Final = frozenset(
    {"contiguous", "exclusive", "get-user-env", "help", "hold", "ignore-pbs", "nice", "no-kill",
     "no-requeue", "overcommit", "oversubscribe", "parsable", "propagate", "quiet", "reboot",
     "requeue", "share", "spread-job", "test-only", "usage", "use-min-nodes", "verbose", "version",
     "wait"}
)  # fmt: skip
"""Options that stand alone, or have their value after ``=`` only."""
REFUSED: Final = {
    "array": "a promise covers one job",
    "begin": "the offer says when it starts",
    "cluster": "the controller has one cluster",
    "cluster-constraint": "the controller has one cluster",
    "clusters": "the controller has one cluster",
    "contiguous": "the offer counted nodes wherever they are",
    "deadline": "Slurm would end a late job",
    "dependency": "nobody can promise when others end",
    "exclude": "the offer counted all nodes",
    "hold": "a held job cannot keep a deadline",
    "immediate": "the offer says when it starts",
    "licenses": "the offer does not know when licenses are free",
    "nodefile": "the offer counted all nodes",
    "nodelist": "the offer counted all nodes",
    "oversubscribe": "a promise is for whole nodes",
    "parsable": "the promise has the job id",
    "reboot": "the offer counted no time for it",
    "reservation": "the promise has its own",
    "share": "a promise is for whole nodes",
    "switches": "the offer counted nodes wherever they are",
    "test-only": "use forestall quote",
    "time-min": "the job could get less time than the offer has",
    "uid": "the job belongs to the user who asks",
    "gid": "the job belongs to the user who asks",
    "wait": "use forestall promise",
    "wrap": "a script is needed",
}
"""Options that contradict a promise, and why."""
OTHERS: Final = (
    "account", "acctg-freq", "batch", "bb", "bbf", "chdir", "comment", "constraint", "container",
    "context", "core-spec", "cores-per-socket", "cpu-freq", "cpus-per-gpu", "cpus-per-task",
    "delay-boot", "distribution", "error", "export", "export-file", "extra-node-info", "gpu-bind",
    "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags",
    "hint", "input", "job-name", "kill-on-invalid-dep", "mail-type", "mail-user", "mcs-label",
    "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "network", "nodes", "ntasks",
    "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket",
    "ntasks-per-tres", "open-mode", "output", "partition", "power", "prefer", "priority", "profile",
    "qos", "signal", "sockets-per-node", "tasks-per-node", "thread-spec", "threads-per-core",
    "time", "tmp", "wait-all-nodes", "wckey",
)  # fmt: skip
"""All other options of sbatch: each may be shortened to what begins no other one."""
NAMES: Final = frozenset({*OTHERS, *REFUSED, *FLAGS})
ENVIRONMENT: Final = {
    "SBATCH_ARRAY_INX": "array", "SBATCH_CLUSTERS": "clusters",
    "SBATCH_CLUSTER_CONSTRAINT": "cluster-constraint", "SBATCH_CONSTRAINT": "constraint",
    "SBATCH_EXCLUSIVE": "exclusive", "SBATCH_IGNORE_PBS": "ignore-pbs",
    "SBATCH_NO_REQUEUE": "no-requeue", "SBATCH_PARTITION": "partition",
    "SBATCH_REQ_SWITCH": "switches", "SBATCH_RESERVATION": "reservation",
    "SBATCH_TIMELIMIT": "time", "SBATCH_WAIT": "wait",
}  # fmt: skip
"""Variables that sbatch takes options from, as far as they matter here: they win over a script."""
LIMITED: Final = frozenset(
    {"account", "qos", "gres", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task",
     "ntasks", "ntasks-per-node"}
)  # fmt: skip
"""Options that decide which limits count for a job, and whether its nodes have what it needs."""
HETEROGENEOUS: Final = "hetjob"
PBS: Final = "#PBS"
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_BLANK: Final = " \t\n\v\f\r"
"""What sbatch takes for space; Python knows more of it."""


class ScriptLines(NamedTuple):
    """What a script's #SBATCH lines ask for, by long names; `end` is the position in its text
    behind which sbatch takes no more of them."""

    asked: Mapping[str, str]
    end: int


class OddLineError(ValueError):
    """A #SBATCH line that sbatch would not take; `line` is its number."""

    def __init__(self, line: int, message: str) -> None:
        self.line = line
        super().__init__(message)


def lines_of(text: str) -> ScriptLines:
    """Return what a script asks for, as sbatch reads it. Raises OddLineError."""
    asked: dict[str, str] = {}
    end = 0
    for number, line in enumerate(_LINE.findall(text), 1):
        if line.strip(_BLANK) and not line.lstrip(_BLANK).startswith("#"):
            break
        end += len(line)
        if line.startswith(PBS):
            asked[PBS] = ""
        elif line.startswith("#SBATCH"):
            try:
                words = _words(line[7:])
                if words[:1] in (["hetjob"], ["packjob"]):
                    words = [":"]
                asked |= dict(options_of(words))
            except ValueError as error:
                raise OddLineError(number, f"{line.strip()!r}: {error}") from None
    return ScriptLines(asked, end)


def _words(text: str) -> list[str]:
    """Return the words of a #SBATCH line as sbatch splits it: a backslash stands before a sign that
    means itself, also between quotes. Raises ValueError for an open quote."""
    words, word, quote, escaped = [], "", "", False
    begun = False
    for sign in text.rstrip("\n"):
        if escaped:
            word, escaped = word + sign, False
        elif sign == "\\":
            begun = escaped = True
        elif quote:
            word, quote = (word, "") if sign == quote else (word + sign, quote)
        elif sign in "'\"":
            begun, quote = True, sign
        elif sign == "#":
            break
        elif sign not in _BLANK:
            begun, word = True, word + sign
        elif begun:
            words.append(word)
            begun, word = False, ""
    if quote:
        raise ValueError("a quote is not closed")
    return [*words, word] if begun else words


def environment_of(variables: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the options that sbatch takes from variables: by long names, value and variable."""
    return {
        option: ("" if option in FLAGS and option != "exclusive" else variables[name], name)
        for name, option in ENVIRONMENT.items()
        if name in variables
    }


def options_of(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield options and values of sbatch's words. Raises ValueError for what is no option."""
    left = list(words)
    while left:
        word = left.pop(0)
        if word == ":":
            yield HETEROGENEOUS, ""
            continue
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            name = _whole(name)
        elif word.startswith("-") and len(word) > 1 and word[1] in SHORT:
            name, value = SHORT[word[1]], word[2:].removeprefix("=")
            equals = value
            if name in FLAGS and value and name != "exclusive":  # letters of several flags
                left.insert(0, f"-{value}")
                equals = value = ""
        else:
            raise ValueError(f"{word!r} is not an option of sbatch")
        if not equals and name not in FLAGS:
            if left and (name in NAMES or not left[0].startswith("-")):
                value = left.pop(0)
            elif name in NAMES:  # else a newer one, which may need none
                raise ValueError(f"{word} has no value")
        yield name, value


def _whole(name: str) -> str:
    """Return the option that a name is the beginning of, as getopt does; one that nobody knows is
    a newer one. Raises ValueError where it may be several."""
    found = [name] if name in NAMES else sorted(one for one in NAMES if one.startswith(name))
    if len(found) > 1:
        raise ValueError(f"--{name} may be " + " or ".join(f"--{one}" for one in found[:4]))
    return found[0] if found else name


def check_options(
    asked: Mapping[str, str], quoted: Mapping[str, Any] | None, where: Mapping[str, str]
) -> None:
    """Raise InputError for options under which no promise can stand, or which do not ask for what
    was quoted.

    Parameters
    ----------
    asked : of script and command, by long names
    quoted : the question that the offer answers: `nodes`, `time` (s), `partition`, `features`; None
        where it is not known
    where : what stands before an option in the message, by its name; "" for those of the command
    """
    if HETEROGENEOUS in asked:
        raise InputError("a heterogeneous job cannot be used with a promise: it covers one job")
    if PBS in asked and "ignore-pbs" not in asked:
        raise InputError(
            "#PBS lines cannot be used with a promise: sbatch reads them as options of its own "
            "(--ignore-pbs leaves them out)"
        )
    for name in asked:
        if name in REFUSED:
            why = f"cannot be used with a promise: {REFUSED[name]}"
            raise _wrong(asked, where, name, why)
    if quoted is None:
        return
    nodes = str(quoted["nodes"])
    if asked.get("nodes", nodes) not in {nodes, f"{nodes}-{nodes}"}:
        raise _wrong(asked, where, "nodes", f"but the offer is for {nodes}")
    time = asked.get("time")
    if time is not None and slurm_minutes(time) != -(-int(quoted["time"]) // 60):
        raise _wrong(asked, where, "time", f"but the offer is for {exact_duration(quoted['time'])}")
    partition = quoted.get("partition") or ""
    if partition and asked.get("partition", partition) != partition:
        raise _wrong(asked, where, "partition", f"but the offer is for {partition}")
    features = quoted.get("features") or ""
    if asked.get("constraint", features) != features:
        raise _wrong(
            asked, where, "constraint", f"but the offer is for {features or 'no features'}"
        )


def check_script(text: str, quoted: Mapping[str, Any]) -> Mapping[str, str]:
    """Return what a script asks for. Raises InputError for one that cannot be submitted under what
    was quoted."""
    if not text.startswith("#!"):
        raise InputError("the script does not begin with #!, such as #!/bin/sh")
    try:
        asked = lines_of(text).asked
    except OddLineError as error:
        raise InputError(f"line {error.line} of the script: {error}") from None
    check_options(asked, quoted, dict.fromkeys(asked, "#SBATCH "))
    return asked


def slurm_minutes(text: str) -> int:
    """Return a time limit as Slurm writes it in whole minutes, rounded up; a bare number is
    minutes. -1: no limit, or none that can be read."""
    if text.isascii() and text.isdigit():
        return int(text) or -1
    try:
        return -(-parse_duration(text, "time") // 60)
    except ParameterError:
        return -1


def _wrong(asked: Mapping[str, str], where: Mapping[str, str], name: str, what: str) -> InputError:
    """Return the error for an option: where it stands, what it says, what was expected."""
    value = asked[name]
    said = f"--{name}" + (f"={value}" if value else "")
    return InputError("", before=f"{where.get(name, '')}{said} {what}")
