"""Lines for HTCondor's configuration and for submit files."""

from __future__ import annotations

import pytest

from forestall.core.model.errors import ParameterError
from forestall.sharing.adapters.condor.config import machine_lines, submit_lines
from forestall.sharing.adapters.condor.expressions import not_refused, rank, survival


def said(text: str) -> dict[str, str]:
    """Return what lines set, without comments."""
    plain = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in (line.split("=", 1) for line in plain)}


def test_the_file_is_read_by_cat_in_the_folder_of_the_agent() -> None:
    assert said(machine_lines("/var/lib/my agent", every=30, way="file")) == {
        "STARTD_CRON_JOBLIST": "$(STARTD_CRON_JOBLIST) FORESTALL",
        "STARTD_CRON_FORESTALL_EXECUTABLE": "/bin/cat",
        "STARTD_CRON_FORESTALL_ARGS": "condor.ad",
        "STARTD_CRON_FORESTALL_CWD": "/var/lib/my agent",
        "STARTD_CRON_FORESTALL_MODE": "Periodic",
        "STARTD_CRON_FORESTALL_PERIOD": "30s",
        "UPDATE_INTERVAL": "30",
        "ForestallFolder": '"/var/lib/my agent"',
        "STARTD_ATTRS": "$(STARTD_ATTRS) ForestallFolder",
    }


def test_the_command_is_run_in_the_folder_of_the_agent() -> None:
    told = said(machine_lines("/a", every=60, way="command", command="/opt/f/bin/forestall"))
    assert told["STARTD_CRON_FORESTALL_EXECUTABLE"] == "/opt/f/bin/forestall"
    assert told["STARTD_CRON_FORESTALL_ARGS"] == "agent ad --folder ."
    assert told["STARTD_CRON_FORESTALL_CWD"] == "/a"


def test_what_changes_policy_is_left_to_whoever_runs_the_pool() -> None:
    text = machine_lines("/a", every=60, way="file", max_age=300)
    assert f"\n#START = ($(START)) && ({not_refused(300)})\n" in text
    assert "\n#NEGOTIATOR_PRE_JOB_RANK = (10000000 * My.Rank)" in text
    assert all(line == "" or line[0] == "#" or " = " in line for line in text.splitlines())


@pytest.mark.parametrize(
    "folder", ["agent", "", "/a$(HOME)", "/a\\", "/a\nSTART = True", "/a ", "/a\x7f"]
)
def test_a_folder_that_cannot_stand_in_a_configuration_is_refused(folder: str) -> None:
    with pytest.raises(ParameterError, match="folder"):
        machine_lines(folder, every=60, way="file")


def test_bad_numbers_and_words_are_refused() -> None:
    for every, max_age in ((0, 600), (601, 600)):
        with pytest.raises(ParameterError, match="every"):
            machine_lines("/a", every=every, way="file", max_age=max_age)
    with pytest.raises(ParameterError, match="way: 'mail' is not allowed; expected one of file"):
        machine_lines("/a", every=60, way="mail")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="command"):
        machine_lines("/a", every=60, way="command")  # not an absolute path
    with pytest.raises(ParameterError, match="max_age"):
        rank(4, 0)
    for hours in (0, -1, 10_001, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="hours"):
            submit_lines(hours)


def test_a_submit_file_gets_a_rank_and_a_requirement() -> None:
    text = submit_lines(4, max_age=900)
    assert said(text) == {"rank": rank(4, 900), "requirements": not_refused(900)}
    assert "stays available for 4 hours" in text
    assert "for 1 hour," in submit_lines(1)
    assert "for 0.5 hours," in submit_lines(0.5)


def test_the_rank_is_the_value_itself_where_one_is_published() -> None:
    assert rank(4) == (
        "ifThenElse((time() - ForestallUpdated <= 600 && ForestallUpdated - time() <= 600 && "
        "ForestallAvailable && ForestallReliability4h >= 0) =?= true, ForestallReliability4h, 0.0)"
    )


def test_between_published_values_the_hazard_is_constant() -> None:
    assert survival(0.5) == "pow(ForestallReliability1h, 0.5)"
    assert survival(3) == "pow(ForestallReliability2h, 0.5) * pow(ForestallReliability4h, 0.5)"
    assert survival(5) == "pow(ForestallReliability4h, 0.75) * pow(ForestallReliability8h, 0.25)"
    assert survival(24) == "pow(ForestallReliability8h, 3)"
