"""`python -m studies`: the papers behind forestall, redrawn and judged."""

import sys

from forestall.cli import main
from studies.commands import group

if __name__ == "__main__":
    sys.exit(main(app=group(), name="python -m studies"))
