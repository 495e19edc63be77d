"""A job script as sbatch reads it, held against what was quoted.

Where the controller submits it, options that are given beside the script become #SBATCH lines
behind its own, which win over those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from forestall.core.model.errors import InputError, TraceError, of_system
from forestall.live.slurm.scripts import (
    LIMITED,
    OddLineError,
    check_options,
    environment_of,
    lines_of,
    options_of,
)

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
    try:
        asked, end = lines_of(text)
    except OddLineError as error:
        raise TraceError(path, str(error), line=error.line) from None
    return ReadScript(path, text, asked, end)


def order_of(
    script: ReadScript,
    words: Sequence[str],
    folder: Path,
    *,
    consents: Sequence[str],
    quoted: Mapping[str, Any] | None,
    variables: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the job for an offer as the API takes it (`forestall.core.model.live.desk.JobOrder`).

    Parameters
    ----------
    words : options of sbatch given beside the script
    folder : where the job runs and writes its output, unless it says otherwise
    consents : what may be done with the job
    quoted : the question that the offer answers, None where it is not known
    variables : the environment in which sbatch runs, None where it does not run here

    Raises InputError where script and options do not ask for what was quoted.
    """
    try:
        given = dict(options_of(words))
    except ValueError as error:
        raise InputError("", before=str(error)) from None
    set_by = environment_of(variables or {})
    asked = {**script.asked, **{name: value for name, (value, _) in set_by.items()}, **given}
    where = dict.fromkeys(script.asked, f"{script.path}: #SBATCH ")
    where |= {name: f"{variable}: " for name, (_, variable) in set_by.items()}
    check_options(asked, quoted, {name: at for name, at in where.items() if name not in given})
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
        "asks": {name: value for name, value in asked.items() if name in LIMITED},
    }


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
