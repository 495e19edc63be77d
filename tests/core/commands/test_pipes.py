"""Commands read logs that come through a pipe as they read files."""

from __future__ import annotations

import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from core.commands.calls import call, failure_log, job_log
from core.commands.test_help import ALL, LEAVES, PLAINS

READS: Final = {
    "reliability": "reliability PIPE --json",
    "fit": "fit PIPE --family exponential --json",
    "interval": "interval PIPE --nodes 4 --checkpoint-overhead 5m --json",
    "spares": "spares PIPE --nodes 4 --hours 5h --json",
    "lemons": "lemons PIPE --json",
    "traces info": "traces info PIPE --json",
    "traces convert": "traces convert PIPE OUT --json",
    "traces filter": "traces filter PIPE --json",
    "simulate": "simulate JOBS --failures PIPE --nodes 16 --json",
    "predict train": "predict train rate PIPE --out OUT --json",
    "assess alarms": "assess alarms PIPE --failures FAILURES --json",
    "assess scores": "assess scores PIPE --json",
    "design": "design PIPE --json",
}  # fmt: skip
"""A command for each reader of files, with one of them through a pipe."""

CONTENT: Final = {
    "fit": "gap\n" + "".join(f"{1000 + 37 * k}\n" for k in range(30)),
    "assess alarms": "time,node\n100000,1\n150000,2\n",
    "assess scores": "score,failed\n" + "".join(f"{k / 40},{int(k > 20)}\n" for k in range(40)),
    "design": '[[groups]]\nname = "a"\ncount = 64\nmttf = "1000d"\n[[queues]]\nname = "q"\n'
    'nodes = 32\nlimit = "1-00:00:00"\nslots = 2\n[checkpoint]\ncost = "5m"\n',
}


@pytest.mark.parametrize("words", READS)
def test_a_pipe_is_read_as_a_file(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failures, jobs = failure_log(tmp_path / "failures.csv", 60), job_log(tmp_path / "jobs.csv", 20)
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_text(CONTENT.get(words, failures.read_text()))
    if words == "traces filter":
        made = call(capsys, "traces", "generate", "ras", f"{file}.csv", "--nodes", 8, "--days", 9)
        assert made.code == 0
        Path(f"{file}.csv").rename(file)
    os.mkfifo(pipe)

    def write() -> None:
        with suppress(BrokenPipeError):
            pipe.write_bytes(file.read_bytes())

    threading.Thread(target=write, daemon=True).start()
    out = tmp_path / ("o.csv" if words == "traces convert" else "o.predictor")
    known = {"JOBS": jobs, "FAILURES": failures, "OUT": out}
    plain, piped = (
        call(capsys, *[known.get(word, place if word == "PIPE" else word)
                       for word in READS[words].split()])
        for place in (file, pipe)
    )  # fmt: skip
    assert plain.code == 0, plain.err
    assert piped.code == 0, piped.err
    named = piped.out.replace(str(pipe), str(file))
    assert re.sub(r'"pipe\b', '"file', named) == plain.out


def test_the_commands_are_there() -> None:
    assert {tuple(words.split()) for words in READS} <= set(ALL) | set(LEAVES) | set(PLAINS)
