"""`python -m forestall` is `forestall`."""

from forestall.runs.commands.entry import main

if __name__ == "__main__":
    raise SystemExit(main())
