"""Submit files of guests, and the words of HTCondor's commands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.sharing.adapters.condor import commands
from forestall.sharing.adapters.condor.commands import CondorError
from forestall.sharing.adapters.condor.falcon import JobNeeds
from forestall.sharing.adapters.condor.submit import GuestJob, arguments, requirements, submit_text


def words_of(told: str) -> list[str]:
    """Return the words that HTCondor makes of arguments in double quotation marks: its manual,
    "condor_submit", arguments, the new syntax."""
    inner = told[1:-1].replace('""', '"')
    words: list[str] = []
    word, quoted, begun, k = "", False, False, 0
    while k < len(inner):
        one = inner[k]
        if quoted and one == "'" and inner[k + 1 : k + 2] == "'":
            word, k = word + "'", k + 1
        elif one == "'":
            quoted, begun = not quoted, True
        elif one in " \t" and not quoted:
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + one, True
        k += 1
    return [*words, word] if begun else words


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\0$"), max_size=12)))
def test_arguments_come_back_as_they_were(words: list[str]) -> None:
    assert words_of(arguments(words)) == words


@pytest.mark.parametrize("word", ["a\nb", "$(HOME)", "$$(Name)", "a\0"])
def test_what_htcondor_would_change_is_refused(word: str) -> None:
    with pytest.raises(ParameterError, match="CMD"):
        arguments([word])
    assert arguments(["$0", "a$b"]) == '"$0 a$b"'


JOB = GuestJob("heat", "/opt/forestall", ["run", "--name", "heat", "--store", "/a b"], ["./heat"],
               JobNeeds(4), "/home/me", 0.25, ("request_memory = 2GB",))  # fmt: skip


def test_a_guest_is_saved_and_queued_again_elsewhere() -> None:
    lines = dict(line.split(" = ", 1) for line in submit_text(JOB).splitlines() if " = " in line)
    words = words_of(lines["arguments"])
    assert words[0] == "-c"
    files = "/home/me/heat.$(ClusterId)"
    assert words[1] == f'exec "$0" "$@" >> {files}.out 2>> {files}.err'
    assert words[2:] == ["/opt/forestall", *JOB.options, "--", "./heat"]
    assert lines["on_exit_remove"] == "(ExitCode =!= 75)"
    assert lines["kill_sig"] == "SIGTERM"
    assert lines["rank"] == "MY.ForestallFalconRank"
    assert lines["request_memory"] == "2GB"
    assert lines["environment"] == '"FORESTALL_AGENT=$$(ForestallFolder:)"'
    assert "ForestallReliability1h < 0.25" in lines["requirements"]
    assert "ForestallReliability1h" not in requirements(None)
    assert submit_text(JOB).endswith("request_memory = 2GB\nqueue\n")


@pytest.mark.parametrize("line", ["rank = 1", "queue 5", "Executable=/bin/sh", "a = b\nqueue"])
def test_lines_that_cannot_be_added_are_refused(line: str) -> None:
    job = GuestJob("x", "/f", [], ["x"], JobNeeds(1), "/", None, (line,))
    with pytest.raises(ParameterError, match="line"):
        submit_text(job)


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!{sys.executable} -S\n{script}")
    path.chmod(0o755)


def test_what_a_command_says_wrong_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CondorError, match="condor_q: not found; HTCondor is not installed here"):
        commands.jobs([1])
    program(tmp_path, "condor_q", "print('[{')")
    with pytest.raises(CondorError, match="not JSON"):
        commands.jobs([1])
    program(tmp_path, "condor_q", "print('{}')")
    with pytest.raises(CondorError, match="not a list of ads"):
        commands.jobs([1])
    program(tmp_path, "condor_q", "import sys\nsys.exit('no\\n  schedd')")
    with pytest.raises(CondorError, match=r"^condor_q: no schedd$"):
        commands.jobs([1])
    program(tmp_path, "condor_submit", "print('what?')")
    with pytest.raises(CondorError, match="no job id in its answer: 'what"):
        commands.submit(tmp_path / "x.sub")
    with pytest.raises(CondorError, match=r"no answer within 0\.1 s"):
        commands.run([sys.executable, "-c", "import time; time.sleep(9)"], timeout=0.1)


def test_nothing_is_asked_for_no_jobs() -> None:
    assert commands.ads("") == []
