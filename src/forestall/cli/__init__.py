"""The command line: parsing and rendering. What commands do is in `forestall.app`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130
UNUSABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    It is 0 where all went well, 1 where a check failed, 2 for unusable input, 130 after Ctrl-C.
    Whatever is wrong with the input is one line on standard error.
    """
    try:
        from forestall.cli.application import run

        code = run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        code = complain(str(stop) or "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader went away, as `head` does. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    return code


def complain(text: str, code: int = UNUSABLE) -> int:
    """Print one line on standard error and return the exit code."""
    print(f"forestall: {' '.join(text.split())}", file=sys.stderr)
    return code
