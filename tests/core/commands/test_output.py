"""What is printed: on outputs that are full, closed, left by their reader, or lack characters."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.commands.calls import call, failure_log, job_log
from forestall.core.commands.output import GuardedStream, OutputError, guarded, own_codes
from forestall.core.commands.screen import say_utf8
from forestall.core.show.clean import ENCODING, encodable
from forestall.core.show.text import breadth, grid
from forestall.runs.commands.entry import main

INTERVAL = ("interval", "--mtbf", "4d", "--checkpoint-overhead", "5m")
FULL = "forestall: standard output cannot be written: No space left on device\n"
CLOSED = "forestall: standard output cannot be written: Bad file descriptor\n"


def shell(words: str) -> tuple[int, str, str]:
    """Run a command line, `forestall` among its words."""
    line = words.replace("forestall", f"{sys.executable} -m forestall")
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (f"forestall {' '.join(INTERVAL)} > /dev/full", 4, FULL),
        ("forestall --help > /dev/full", 4, FULL),
        ("forestall --version >&-", 4, CLOSED),
        ("forestall --version >&- 2>&-", 4, ""),
        ("forestall --version 2>&-", 0, ""),
        ("forestall fit no.csv 2> /dev/full", 2, ""),
        ("forestall fit no.csv 2>&-", 2, ""),
        ("forestall --version <&- >/dev/full 2>/dev/full", 4, ""),
    ],
)
def test_output_that_cannot_be_written(words: str, code: int, told: str) -> None:
    done = shell(words)
    assert (done[0], done[2]) == (code, told)
    assert "forestall:" not in done[1]  # what is wrong never stands among what was found


def test_a_check_that_could_not_be_told_has_not_failed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(["simulate", str(job_log(tmp_path / "jobs.csv")), "--out", str(run), "-q"]) == 0
    assert shell(f"forestall certify {run} > /dev/full") == (4, "", FULL)


def test_files_are_whole_where_nothing_can_be_printed(tmp_path: Path) -> None:
    jobs, run = job_log(tmp_path / "jobs.csv"), tmp_path / "run"
    assert shell(f"forestall simulate {jobs} --out {run} > /dev/full")[0] == 4
    assert main(["certify", str(run)]) == 0


@pytest.mark.parametrize("stream", ["2>&1", "2>&1 >/dev/null"])
def test_a_reader_of_both_that_went_away(stream: str) -> None:
    line = f"{sys.executable} -m forestall fit no.csv {stream} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


# ------------------------------------------------------------------------------------ encodings

PRINTING = """
import os, sys
from forestall.runs.commands.entry import main
jobs, failures = sys.argv[1:]
codes = [main(words) for words in (
    ["--help"], ["interval", "--mtbf", "4d", "--checkpoint-overhead", "5m"],
    ["reliability", failures], ["traces", "info", jobs],
    ["traces", "info", os.fsdecode(b"caf\\xc3\\xa9.csv")],
)]
assert codes == [0, 0, 0, 0, 2], codes
print("JSON", flush=True)
assert main(["reliability", failures, "--json"]) == 0
"""


@pytest.mark.parametrize(
    ("given", "encoding", "name"),
    [
        ({"PYTHONIOENCODING": "ascii"}, "ascii", r"caf\xe9"),
        ({"PYTHONIOENCODING": "latin-1"}, "latin-1", "caf\u00e9"),
        ({"LC_ALL": "C", "PYTHONUTF8": "0"}, "ascii", r"caf\udcc3\udca9"),
    ],
    ids=["ascii", "latin-1", "C"],
)
def test_encodings(given: dict[str, str], encoding: str, name: str, tmp_path: Path) -> None:
    failures = failure_log(tmp_path / "failures.csv")
    text = failures.read_text().splitlines()
    names = [f"{line.rpartition(',')[0]},n\u00e9\u2264{line.rpartition(',')[2]}" for line in text]
    failures.write_text("\n".join(["time,node", *names[1:]]) + "\n", encoding="utf-8")
    around = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LANG", "PYTHONUTF8")}
    words = [sys.executable, "-c", PRINTING, job_log(tmp_path / "jobs.csv"), failures]
    done = subprocess.run(words, env=around | given, capture_output=True, check=False)
    wrong = done.stderr.decode(encoding)
    assert done.returncode == 0, wrong
    assert "Traceback" not in wrong
    out, _, told = done.stdout.decode(encoding).partition("JSON\n")
    assert "Usage: forestall" in out
    assert wrong == f"forestall: {name}.csv: cannot be read: No such file or directory\n"
    assert "n\u00e9\u2264" in json.dumps(json.loads(told), ensure_ascii=False)


def test_stand_ins() -> None:
    assert encodable("±5 ≤ \u03c3…│─ █\u2003é", "ascii") == "+/-5 <= sigma...|- # \\xe9"
    assert encodable("±5 ≤ é", "latin-1") == "±5 <= é"
    assert encodable("±5", "no-such-encoding") == "+/-5"
    assert encodable("\udce9", "utf-8") == "\\udce9"


# ------------------------------------------------------------------------------------- the guard


def test_only_what_is_ours_may_move_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    under = io.StringIO()
    monkeypatch.setattr(sys, "stdout", under)
    with guarded() as out:
        sys.stdout.write("\x1b[31mname\r\u202e\u200b\tx\n\x9b\n")
        with own_codes():
            sys.stdout.write("\x1b[1mhead\x1b[0m\n")
        assert out.encoding == "utf-8"
        out.write_utf8("\x7f\n")
    assert sys.stdout is under
    first, _, rest = under.getvalue().partition("\n")
    assert first == "\\x1b[31mname\\r\\u202e\\u200b\tx"
    assert rest == "\\x9b\n\x1b[1mhead\x1b[0m\n\\x7f\n"


class Broken(io.StringIO):
    """A stream that cannot be written."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_errors_of_ours_are_no_errors_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutputError, match="No space left"):
        GuardedStream(Broken(), must=True).write("x")
    assert GuardedStream(Broken(), must=False).write("x") == 1
    monkeypatch.setattr(sys, "stderr", Broken())
    assert main(["fit", "no.csv"]) == 2


def test_a_format_that_is_utf_8_is_so_on_any_output(monkeypatch: pytest.MonkeyPatch) -> None:
    under = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(under, encoding="ascii"))
    with guarded() as out:
        sys.stdout.write("\u00e9\n")
        say_utf8('{node="n\u00e9\u2264"} 1\n')
        out.flush()
    assert under.getvalue() == '\\xe9\n{node="n\u00e9\u2264"} 1\n'.encode()


# -------------------------------------------------------------------------------------- signals


def test_a_signal_that_is_ignored_stays_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with nohup; another one ends the work, and the shell's SIGHUP after the kernel's nothing
    more."""
    from forestall.runs.commands import application

    said: list[str] = []

    def work(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        said.append("went on")
        return 0

    def ends(*_: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGHUP)
        finally:
            os.kill(os.getpid(), signal.SIGHUP)
            said.append("cleaned up")
        return 0

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(application, "run", work)
        assert call(capsys).code == 0
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        monkeypatch.setattr(application, "run", ends)
        assert call(capsys) == (130, "", "forestall: interrupted\n")
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    assert said == ["went on", "cleaned up"]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "shift_jis"])
@pytest.mark.parametrize("width", [100, 40])
def test_names_do_not_shift_tables(encoding: str, width: int) -> None:
    """Wide characters, marks that stand on others, escapes, and stand-ins of more characters."""
    names = ("日本語 太郎", "a\x1b[31mnn\u202e", "e\u0301mile", "Ωmega ≥ 5", "bob", "名" * 30)
    rows = [[name, "7", "± 5 %", name] for name in names]
    before = ENCODING.set(encoding)
    try:
        lines = grid(rows, ("User", "Runs", "Share", "Again"), width, right=(1,))
    finally:
        ENCODING.reset(before)
    assert lines[0].split() == ["User", "Runs", "Share", "Again"]
    column = lines[0].index("Runs") + len("Runs")
    first = [line for line in lines[1:] if breadth(line) >= column and " 7 " in line]
    assert len(first) == len(names)
    for line in lines:
        assert encodable(line, encoding) == line
        assert breadth(line) <= width
    for line in first:
        assert breadth(line[: line.index(" 7 ") + 2]) == column
