"""A job script as sbatch reads it: what its #SBATCH lines ask for, held against what was quoted.

The controller submits the script as it is, with the quoted nodes and time as options of the
command, which win over lines of a script. So a script that asks for something else would run as
something else: it is refused here. Options that are given beside the script become #SBATCH lines
behind its own, which win over those.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from forestall.model.errors import InputError, ParameterError, TraceError, of_system
from forestall.model.units import exact_duration, parse_duration

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
    {"contiguous", "exclusive", "hold", "ignore-pbs", "no-kill", "no-requeue", "overcommit",
     "oversubscribe", "parsable", "quiet", "reboot", "requeue", "spread-job", "test-only",
     "use-min-nodes", "verbose", "version", "wait"}
)  # fmt: skip
"""Options that stand alone, or have their value after ``=`` only."""
REFUSED: Final = {
    "array": "a promise covers one job",
    "begin": "the offer says when it starts",
    "clusters": "the controller has one cluster",
    "deadline": "Slurm would end a late job",
    "dependency": "nobody can promise when others end",
    "hold": "a held job cannot keep a deadline",
    "immediate": "the offer says when it starts",
    "parsable": "the promise has the job id",
    "reservation": "the promise has its own",
    "test-only": "use forestall quote",
    "uid": "the job belongs to the user who asks",
    "wait": "use forestall promise",
    "wrap": "a script is needed",
}
"""Options that contradict a promise, and why."""
MOST: Final = 4 * 2**20
"""Bytes that Slurm takes for a script."""
_PLAIN: Final = re.compile(r"[\w@%+=:,./\[\]-]+")


@dataclass(frozen=True)
class ReadScript:
    """A job script: its text, and what its #SBATCH lines ask for (options by their long names).

    `end` : position in the text behind which sbatch takes no more #SBATCH lines
    """

    path: Path
    text: str
    asked: Mapping[str, str]
    end: int


def read_script(path: Path) -> ReadScript:
    """Return a script as sbatch would read it. Raises TraceError for what it would not take."""
    with of_system(path, "cannot be read"):
        raw = path.read_bytes()
    if len(raw) > MOST:
        raise TraceError(path, f"has {len(raw):,} bytes; Slurm takes at most {MOST:,}")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise TraceError(path, "is not UTF-8") from None
    if not text.startswith("#!"):
        raise TraceError(path, "not a script: expected a first line such as #!/bin/bash", line=1)
    if "\0" in text or "\r\n" in text:
        what = "a NUL" if "\0" in text else "DOS line endings"
        raise TraceError(path, f"has {what}, which sbatch does not take")
    asked: dict[str, str] = {}
    end = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if line.strip() and not line.startswith("#"):
            break
        end += len(line)
        if line.startswith("#SBATCH") and line[7:8].isspace():
            try:
                asked |= dict(options_of(shlex.split(line[7:], comments=True)))
            except ValueError as error:
                raise TraceError(path, f"{line.strip()!r}: {error}", line=number) from None
    return ReadScript(path, text, asked, end)


def options_of(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield options and values of sbatch's words. Raises ValueError for what is no option."""
    left = list(words)
    while left:
        word = left.pop(0)
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
        elif word.startswith("-") and len(word) > 1 and word[1] in SHORT:
            name, value = SHORT[word[1]], word[2:].removeprefix("=")
            equals = value
            if name in FLAGS and value and name != "exclusive":  # letters of several flags
                left.insert(0, f"-{value}")
                equals = value = ""
        else:
            raise ValueError(f"{word!r} is not an option of sbatch")
        if not equals and name not in FLAGS:
            if not left:
                raise ValueError(f"{word} has no value")
            value = left.pop(0)
        yield name, value


def order_of(
    script: ReadScript,
    words: Sequence[str],
    folder: Path,
    *,
    consents: Sequence[str],
    quoted: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the job for an offer as the API takes it (`forestall.model.live.desk.JobOrder`).

    Parameters
    ----------
    words : options of sbatch given beside the script
    folder : where the job runs and writes its output, unless it says otherwise
    consents : what may be done with the job
    quoted : the question that the offer answers, None where it is not known

    Raises InputError where script and options do not ask for what was quoted.
    """
    try:
        given = dict(options_of(words))
    except ValueError as error:
        raise InputError("", before=str(error)) from None
    asked = {**script.asked, **given}
    for name in asked:
        if name in REFUSED:
            raise _wrong(script, given, name, f"cannot be used with a promise: {REFUSED[name]}")
    if quoted is not None:
        _hold_to(script, given, quoted)
    more = dict(given)
    if "chdir" not in asked:
        more["chdir"] = str(folder)
    base = folder / asked.get("chdir", "")
    output = str(base / asked.get("output", "slurm-%j.out"))
    kept = [one for one in consents if one != "requeue" or "no-requeue" not in asked]
    return {
        "script": with_lines(script, more),
        "name": asked.get("job-name", script.path.name),
        "partition": asked.get("partition", "") or (quoted or {}).get("partition", ""),
        "words": asked.get("comment", ""),
        "consents": kept,
        "output": output,
    }


def _hold_to(script: ReadScript, given: Mapping[str, str], quoted: Mapping[str, Any]) -> None:
    """Raise InputError where a script does not ask for what was quoted."""
    asked = {**script.asked, **given}
    nodes = str(quoted["nodes"])
    if asked.get("nodes", nodes) not in {nodes, f"{nodes}-{nodes}"}:
        raise _wrong(script, given, "nodes", f"but {nodes} were quoted")
    time = asked.get("time")
    if time is not None and slurm_minutes(time) != -(-int(quoted["time"]) // 60):
        raise _wrong(script, given, "time", f"but {exact_duration(quoted['time'])} were quoted")
    partition = quoted.get("partition") or ""
    if partition and asked.get("partition", partition) != partition:
        raise _wrong(script, given, "partition", f"but {partition} was quoted")
    features = quoted.get("features") or ""
    if asked.get("constraint", features) != features:
        said = f"but {features} was quoted" if features else "but no features were quoted"
        raise _wrong(script, given, "constraint", said)


def slurm_minutes(text: str) -> int:
    """Return a time limit as Slurm writes it in whole minutes, rounded up; a bare number is
    minutes. -1: no limit, or none that can be read."""
    if text.isascii() and text.isdigit():
        return int(text) or -1
    try:
        return -(-parse_duration(text, "time") // 60)
    except ParameterError:
        return -1


def _wrong(script: ReadScript, given: Mapping[str, str], name: str, what: str) -> InputError:
    """Return the error for an option: where it stands, what it says, what was expected."""
    value = given.get(name, script.asked.get(name, ""))
    where = "" if name in given else f"{script.path}: #SBATCH "
    said = f"--{name}" + (f"={value}" if value else "")
    return InputError("", before=f"{where}{said} {what}")


def with_lines(script: ReadScript, options: Mapping[str, str]) -> str:
    """Return the text of a script with more options, as #SBATCH lines behind its own. Raises
    InputError for a value that sbatch would not read back."""
    lines = "".join(f"#SBATCH {_word(name, value)}\n" for name, value in options.items())
    head = script.text[: script.end]
    if head and not head.endswith("\n"):
        head += "\n"
    return head + lines + script.text[script.end :]


def _word(name: str, value: str) -> str:
    if not _PLAIN.fullmatch(name) or not value.isprintable() or set(value) & set("\"'\\"):
        message = f"--{name}: {value!r} cannot be used in a script; expected text without quotes"
        raise InputError("", before=message)
    if not value:
        return f"--{name}"
    return f"--{name}={value}" if _PLAIN.fullmatch(value) else f'--{name}="{value}"'
