"""`forestall run` killed again and again: does its program come to the same end?

    PYTHONPATH=tests:. python -m benchmarks.run_kills criu|files [--first SEED] [--count N]

runs a numerical program on three storage hosts (2 + 1) and, at random moments, kills `forestall
run`, or the program, or ends it by SIGTERM; sometimes a storage host is deleted and the vault
repaired. The answer, and with CRIU the program's log, must be right to the last bit.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from criu_program import criu
from vaults.commands import test_run
from vaults.commands.test_run import Site

KILLS = 8
OVER = re.compile(r"ended with code [05]$", re.MULTILINE)


def main() -> int:
    """Play the seeds; return 1 where an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method", choices=("criu", "files"))
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2500)
    asked = parser.parse_args()
    if asked.method == "criu" and (reason := criu.why_not()):
        sys.exit(reason)
    test_run.STEPS = asked.steps
    wanted = test_run.pendulum() if asked.method == "criu" else test_run.heat()
    wrong = 0
    for seed in range(asked.first, asked.first + asked.count):
        with tempfile.TemporaryDirectory(prefix="forestall-kills-") as folder:
            right, told = play(asked.method, Path(folder), asked.steps, wanted, seed)
        wrong += not right
        print(f"seed {seed}: {'right' if right else 'WRONG'}: {told}", flush=True)
    return int(wrong > 0)


def play(method: str, folder: Path, steps: int, wanted: str, seed: int) -> tuple[bool, str]:
    """Run one program to its end; return whether its answer is right, and what was done."""
    chance, done = random.Random(seed), list[str]()
    (folder / "pendulum.py").write_text(test_run.PENDULUM)
    (folder / "heat.py").write_text(test_run.HEAT)
    site, mark = Site(folder), str(folder / "log")
    way = ("--criu", criu.program()) if method == "criu" else (
        "--signal", "USR1", "--files", mark)  # fmt: skip
    program = folder / ("pendulum.py" if method == "criu" else "heat.py")
    words = site.words("job", *way, "--", sys.executable, str(program), str(steps), mark)
    shown = ""
    while True:
        running = site.begin(*words)
        try:
            patience = chance.uniform(4, 11) if len(done) < KILLS else 900
            out, said = running.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            how, out, said = _hurt(site, running, mark, chance)
            done.append(how)
            shown += out
            if not OVER.search(said):  # it may have come to its end just then
                continue
        if not OVER.search(said):
            return False, f"{', '.join(done)}; code {running.returncode}: {said[-300:]}"
        right = wanted in shown + out
        if method == "criu":
            right &= Path(mark).read_text() == "".join(f"{k}\n" for k in range(steps))
        return right, f"{', '.join(done)}; {said.strip().splitlines()[-2]}"


def _hurt(
    site: Site, running: subprocess.Popen[str], mark: str, chance: random.Random
) -> tuple[str, str, str]:
    how, worker = chance.choice(("kill", "worker", "term")), site.program(running, mark)
    if how == "worker" and worker > 1:
        os.kill(worker, signal.SIGKILL)
    elif how == "term":
        running.terminate()
    else:
        running.kill()
    out, said = running.communicate(timeout=120)
    if chance.random() < 0.4 and site.saved("job"):
        shutil.rmtree(site.stores[chance.randrange(3)], ignore_errors=True)
        stores = [word for one in site.stores for word in ("--store", str(one))]
        call = [sys.executable, "-m", "forestall", "checkpoint", "repair", "--quiet", *stores]
        subprocess.run(call, check=False, capture_output=True)
        how += " and a host lost"
    return how, out, said


if __name__ == "__main__":
    sys.exit(main())
