"""What a job may ask for under a promise: one door for command line, API and page."""

from __future__ import annotations

import pytest

from forestall.core.model.errors import InputError
from forestall.live.slurm.scripts import (
    FLAGS,
    REFUSED,
    SHORT,
    check_script,
    environment_of,
    lines_of,
    options_of,
    slurm_minutes,
)

QUOTED = {"nodes": 16, "time": 21_600, "partition": "batch", "features": ""}


def test_words_of_sbatch() -> None:
    words = ["-N16", "--time", "6:00:00", "--exclusive", "-Hk", "-t=5", "--mem=0", "--requeue"]
    assert list(options_of(words)) == [
        ("nodes", "16"), ("time", "6:00:00"), ("exclusive", ""), ("hold", ""), ("no-kill", ""),
        ("time", "5"), ("mem", "0"), ("requeue", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("words", [["16"], ["-N"], ["--"], ["-"], ["-Z"], ["--time"]])
def test_what_is_no_option(words: list[str]) -> None:
    with pytest.raises(ValueError, match=r"option|value"):
        list(options_of(words))


def test_bare_minutes_are_minutes() -> None:
    assert [slurm_minutes(one) for one in ("90", "1:30", "1:00:00", "1-0", "0", "x")] == [
        90, 2, 60, 1440, -1, -1,
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_changes_a_job_is_refused_with_its_reason(name: str) -> None:
    value = "" if name in FLAGS else "=7"
    line = f"--{name}{value}"
    with pytest.raises(InputError) as caught:
        check_script(f"#!/bin/sh\n#SBATCH -N 16\n#SBATCH {line}\ntrue\n", QUOTED)
    assert str(caught.value) == f"#SBATCH {line} cannot be used with a promise: {REFUSED[name]}"
    for letter, long in SHORT.items():
        if long == name:
            with pytest.raises(InputError, match=f"--{name}.* cannot be used with a promise"):
                check_script(f"#!/bin/sh\n#SBATCH -{letter}{value[1:]}\n", QUOTED)


@pytest.mark.parametrize(
    "line",
    ["-N 16", "-N 16-16", "-t 360", "-p batch", "--exclusive", "--signal=B:USR1@60", "-A physics",
     "--requeue", "--mem=0", "--ntasks-per-node=8", "-o out.%j"],
)  # fmt: skip
def test_what_leaves_a_job_as_quoted_is_taken(line: str) -> None:
    check_script(f"#!/bin/sh\n#SBATCH {line}\nsrun x\n#SBATCH --array=1-9\n", QUOTED)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo\n", "does not begin with #!"),
        ("#!/bin/sh\n#SBATCH -N 8\n", "#SBATCH --nodes=8 but the offer is for 16"),
        ("#!/bin/sh\n#SBATCH -N 16-32\n", "#SBATCH --nodes=16-32 but the offer is for 16"),
        ("#!/bin/sh\n#SBATCH -t 1-0\n", "#SBATCH --time=1-0 but the offer is for 6 h"),
        ("#!/bin/sh\n#SBATCH -p fast\n", "#SBATCH --partition=fast but the offer is for batch"),
        ("#!/bin/sh\n#SBATCH -C gpu\n", "--constraint=gpu but the offer is for no features"),
        ("#!/bin/sh\n\n#SBATCH --time\n", "line 3 of the script: '#SBATCH --time': --time has no"),
        ("#!/bin/sh\n#SBATCH -N 1\n#SBATCH hetjob\n#SBATCH -N 2\n", "a heterogeneous job cannot"),
        ("#!/bin/sh\n#SBATCH packjob\n", "a heterogeneous job cannot"),
        ("#!/bin/sh\n#SBATCH -N 1 : -N 2\n", "a heterogeneous job cannot"),
    ],
)
def test_what_is_not_what_was_quoted(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        check_script(text, QUOTED)
    assert said in str(caught.value)


ARRAY = "#SBATCH --array=1-3 cannot be used with a promise: a promise covers one job"


LINES: list[tuple[str, str]] = [
    ("#SBATCH --arr=1-3", ARRAY),
    ("#SBATCH -a1-3", ARRAY),
    ("#SBATCH -a 1-3", ARRAY),
    ("#SBATCH--array=1-3", ARRAY),
    ("  # a remark\n#SBATCH --array=1-3", ARRAY),
    ("# x\fecho\n#SBATCH --array=1-3", ARRAY),
    ("# x\N{LINE SEPARATOR}echo\n#SBATCH --array=1-3", ARRAY),
    ("#SBATCH --job-name='a#b' --array=1-3", ARRAY),
    ('#SBATCH --job-name="a #b" --array=1-3', ARRAY),
    (r"#SBATCH --job-name=a\#b --array=1-3", ARRAY),
    (r"#SBATCH --job-name='a\'b' --array=1-3", ARRAY),
    ("#SBATCH --nice --array=1-3", ARRAY),
    ("#SBATCH --newer-than-this --array=1-3", ARRAY),
    ("#PBS -t 1-3", "#PBS lines cannot be used with a promise"),
    ("#SBATCH --hol", "#SBATCH --hold cannot be used with a promise"),
    ("#SBATCH --no=1", "--no may be --no-kill or --no-requeue or --nodefile or --nodelist"),
    ("#SBATCH hetjob x", "a heterogeneous job cannot"),
    ("#SBATCHx --hold", "'x' is not an option of sbatch"),
    ("#SBATCH --job-name='a", "a quote is not closed"),
    ("#SBATCH --time-m=1", "--time-min=1 cannot be used"),
    ("#SBATCH --job-name=a#b --array=1-3", ""),
    (r"#SBATCH --job-name='a\' --array=1-3'", ""),
    ("  #SBATCH --array=1-3", ""),
    ("#sbatch --array=1-3", ""),
    ("#PBS -t 1-3\n#SBATCH --ignore-pbs", ""),
    ("\v\n#SBATCH --wait-all=1 --get-user-env", ""),
    ("#SBATCH --nodes=16 --tim=6:00:00", "--tim may be --time or --time-min"),
]
"""Lines of a script, and what is said against them; "": nothing."""


@pytest.mark.parametrize(("lines", "said"), LINES)
def test_lines_are_read_as_sbatch_reads_them(lines: str, said: str) -> None:
    text = f"#!/bin/sh\n{lines}\ntrue\n"
    if not said:
        check_script(text, QUOTED)
        return
    with pytest.raises(InputError) as caught:
        check_script(text, QUOTED)
    assert said in str(caught.value)


def test_variables_of_sbatch_are_options() -> None:
    found = environment_of({"SBATCH_ARRAY_INX": "1-3", "SBATCH_WAIT": "1", "SBATCH_HOLD": "1"})
    assert found == {"array": ("1-3", "SBATCH_ARRAY_INX"), "wait": ("", "SBATCH_WAIT")}


def test_lines_end_at_the_first_command() -> None:
    text = "#!/bin/sh\n#SBATCH -N 16\n# a remark\n\nsrun x\n#SBATCH --array=1-9\n"
    found = lines_of(text)
    assert found.asked == {"nodes": "16"}
    assert text[found.end :].startswith("srun x")
