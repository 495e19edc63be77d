"""`python -m forestall` is `forestall`."""

from forestall.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
