"""What is frozen: the inputs, and every cell, as lines that a user could type.

Commands run in a folder beside that of the inputs, and name these by `../inputs/`. A step that
begins with `@` is an act of `golden.play`.
"""

from __future__ import annotations

from golden.cells_books import BOOKS
from golden.cells_logs import LOGS
from golden.cells_runs import RUNS
from golden.play import INPUTS, Cell

INPUT_STEPS = (
    "traces generate jobs jobs.swf --nodes 16 --count 90 --load 0.9 --seed 3",
    "traces generate jobs many.swf --nodes 16 --count 2300 --load 0.9 --seed 5",
    "traces generate jobs few.csv --nodes 16 --count 40 --load 0.7 --seed 4",
    "traces generate failures failures.csv --nodes 16 --days 120 --rate-per-year 2500"
    " --repair constant --seed 2",
    "traces generate failures hot.csv --nodes 8 --days 30 --rate-per-year 12000 --seed 5",
    "traces generate hosts hosts.parquet --hosts 4 --days 16 --period 5m --owners own"
    " --speeds speeds.csv",
    "traces generate guests guests.csv --count 24 --days 5 --lengths 2h,4h,8h",
    "predict train renewal failures.csv --until 100d --out renewal.predictor",
    "predict train renewal hot.csv --until 15d --out hot.predictor",
)
"""Made once; all cells share them, and they are frozen as a cell, too."""

CELLS = (
    Cell(INPUTS, INPUT_STEPS),
    Cell("help", ("@help",)),
    *RUNS,
    *LOGS,
    *BOOKS,
)
