"""A command that goes wrong in every way that the harness should notice."""

from __future__ import annotations

import ctypes
import sys
import time
import warnings
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Go wrong as the first argument says; the second is the file that was read."""
    what, file = arguments[:2]
    code = 2
    match what:
        case "traceback":
            raise KeyError(file)
        case "hang":
            while True:
                time.process_time()
        case "sleep":
            time.sleep(600)
        case "memory":
            len(bytearray(600 << 20))
        case "far too much memory":
            bytearray(50 << 30)
        case "escape":
            print("\x1b[31mred")
            code = 0
        case "direction":
            print("\u202ered")
            code = 0
        case "latin":
            sys.stdout.buffer.write(b"caf\xe9\n")
            code = 0
        case "segfault":
            ctypes.string_at(0)
        case "warning":
            warnings.warn("odd", RuntimeWarning, stacklevel=1)
            code = 0
        case "code":
            code = 5
        case "nameless":
            print("forestall: it cannot be read", file=sys.stderr)
        case "two lines":
            print(f"forestall: {file}:\nit cannot be read", file=sys.stderr)
        case "long":
            print(f"forestall: {file}: {'x' * 200_000} is not a number", file=sys.stderr)
        case "bounds":
            said = "is damaged (IndexError: index is out of bounds)"
            print(f"forestall: {file}: {said}", file=sys.stderr)
        case "half":
            Path("out.csv").write_text("a,b\n")
            print(f"forestall: {file}: is cut off", file=sys.stderr)
        case "litter":
            Path(".out.csv-x").write_text("a,b\n")
            code = 0
        case "changed":
            Path(file).write_text("gone")
            code = 0
        case "json":
            print("{'a': 1}")
            code = 0
        case "refused":
            print(f"forestall: {file}: is cut off", file=sys.stderr)
        case _:
            print("well")
            Path("out.csv").write_text("a,b\n")
            code = 0
    return code
