"""The job of a promise, submitted by its owner: their own sbatch runs, in their name, with their
environment and all their options."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from forestall.core.model.errors import ForestallError, InputError
from forestall.core.model.marks import one_line
from forestall.live.client.connection import ServerAnswer, ServerConnection

_NUMBER: Final = re.compile(r"(\d+)(?:;\S*)?\s*")
_COMMENT: Final = "--comment="
_WAIT: Final = 120
"""s that sbatch may take; it gives up by itself before that."""


def submits(server: ServerConnection) -> bool:
    """Whether jobs are submitted from here: there is an sbatch, and the cluster is no model."""
    return shutil.which("sbatch") is not None and not server.get("/cluster").value["simulated"]


def submit(
    server: ServerConnection,
    offer: str,
    order: Mapping[str, Any],
    words: Sequence[str],
    script: Path,
) -> ServerAnswer:
    """Take an offer and submit its job with sbatch; return the promise as the controller tells it.

    Parameters
    ----------
    order : the job as the controller would submit it (`script.order_of`)
    words : options of sbatch as they were given

    Raises InputError where sbatch refuses: the promise is given back then. Raises as
    `ServerConnection.post`.
    """
    job = {name: value for name, value in order.items() if name not in ("script", "output")}
    made = server.post("/promises", {"offer": offer, "job": job}).value
    if not made["submit"]:
        raise InputError(f"promise {made['id']} has a job already: forestall promise {made['id']}")
    try:
        number = _sbatch([*words, *_commented(made["submit"], order["words"])], script)
    except InputError:
        with suppress(ForestallError):  # else it ends by itself, where no job comes
            server.delete(f"/promises/{made['id']}")
        raise
    return server.post(f"/promises/{made['id']}/job", {"job": number})


def _commented(options: Sequence[str], words: str) -> list[str]:
    """Return options with the owner's words behind the tag in the comment."""
    return [
        f"{one} {one_line(words)}".rstrip() if one.startswith(_COMMENT) else one for one in options
    ]


def _sbatch(options: Sequence[str], script: Path) -> int:
    """Return the number of the job that sbatch submitted. Raises InputError with what it says."""
    command = ["sbatch", "--parsable", *options, str(script)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_WAIT, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        message = f"sbatch did not answer within {_WAIT} s; squeue --me shows whether it submitted"
        raise InputError(message) from None
    except OSError as error:
        raise InputError(f"sbatch cannot be run: {error.strerror}") from None
    found = _NUMBER.fullmatch(done.stdout)
    if done.returncode or found is None:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = one_line(lines[0].removeprefix("sbatch: ").removeprefix("error: ")) if lines else ""
        raise InputError(f"sbatch refused the job: {said or f'exit code {done.returncode}'}")
    return int(found[1])
