"""Write what the cells give: `python -m golden.freeze --write`, or `--out DIR` to look at it.

With `--out DIR` every plain content becomes a file, so that two states of the package can be
compared with `diff -r`. `--write` renews the hashes that the test holds everything to. `--cells
WORD` takes only cells whose name that expression finds; hashes of the others stay.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from pathlib import Path

from golden.cells import CELLS
from golden.digest import digest
from golden.play import INPUTS, play

HASHES = Path(__file__).with_name("hashes.json")


def known() -> dict[str, dict[str, str]]:
    """Return the hashes of what every cell gave when it was frozen."""
    found: dict[str, dict[str, str]] = json.loads(HASHES.read_text())
    return found


def _keep(contents: dict[str, str], folder: Path) -> None:
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Play the cells and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the plain contents")
    parser.add_argument("--write", action="store_true", help="renew the hashes")
    parser.add_argument(
        "--cells", default="", metavar="WORD", help="only cells whose name this expression finds"
    )
    parser.add_argument("--times", action="store_true", help="say how long each cell took")
    asked = parser.parse_args()
    chosen = [one for one in CELLS if re.search(asked.cells, one.name) or one.name == INPUTS]
    hashes = known() if asked.cells and HASHES.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for cell in chosen:
            began = time.perf_counter()
            contents = play(cell, Path(folder))
            hashes[cell.name] = {name: digest(text) for name, text in contents.items()}
            if asked.out is not None:
                _keep(contents, asked.out / cell.name)
            if asked.times:
                sys.stdout.write(f"{time.perf_counter() - began:7.2f} s  {cell.name}\n")
    if asked.write:
        HASHES.write_text(json.dumps(hashes, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{len(chosen)} cells, {sum(map(len, hashes.values()))} contents\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
