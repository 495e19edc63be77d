"""What all commands share: their options, their output, and their exit codes."""

from __future__ import annotations

import sys

INTERRUPTED = 130
UNUSABLE = 2
UNREACHABLE = 3
UNWRITTEN = 4


def complain(text: str, code: int = UNUSABLE) -> int:
    """Print one line on standard error and return the exit code."""
    print(f"forestall: {' '.join(text.split())}", file=sys.stderr)
    return code
