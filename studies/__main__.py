"""`python -m studies`: the papers behind forestall, redrawn and judged."""

import sys

import forestall as fs
from studies import STUDIES
from studies.kit.commands import group

if __name__ == "__main__":
    sys.exit(fs.screen.main(app=group(STUDIES.values()), name="python -m studies"))
