"""`forestall interval`: the one line, the table, JSON that others script against, and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.commands.calls import call
from forestall.reliability.checkpoints.checkpoints import checkpoint_interval
from forestall.reliability.checkpoints.completion import completion_time
from forestall.reliability.report.interval import clock, percent

Capsys = pytest.CaptureFixture[str]
T0 = 1_700_000_000
BASE = ("interval", "--mtbf", "4d", "--checkpoint-overhead", "5m")


def told(capsys: Capsys, *arguments: object) -> dict[str, object]:
    done = call(capsys, *BASE, "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)  # type: ignore[no-any-return]


def test_the_answer_in_one_line(capsys: Capsys) -> None:
    done = call(capsys, *BASE)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == ("Checkpoint every 03:56:41 of work: efficiency 95.89 %, overhead 4.29 %.")
    for words in ("Young", "Daly, first order", "Daly ", "optimum", "04:00:00", "Assumes:"):
        assert words in done.out
    assert max(map(len, lines)) <= 100


def test_options_about_records_that_are_not_there(capsys: Capsys) -> None:
    done = call(capsys, *BASE, "--since", "30d")
    assert (done.code, done.out) == (2, "")
    assert "--since" in done.err
    assert "records to go with it" in done.err


def test_json_that_others_script_against(capsys: Capsys) -> None:
    found = told(capsys)
    assert found["young_s"] == pytest.approx(14_400)
    assert found["daly_first_s"] == pytest.approx(14_100)
    assert found["daly_s"] == pytest.approx(14_200.69, abs=0.01)
    assert found["optimal_s"] == pytest.approx(14_200.70, abs=0.01)
    assert found["mttf_s"] == 345_600
    assert set(found["efficiency"]) == {"young", "daly_first", "daly", "optimal"}  # type: ignore[call-overload]
    assert "completion" not in found
    assert "constant" in str(found["assumes"])


@pytest.mark.parametrize("ages", ["new", "steady", "400d"])
def test_nodes_for_a_wanted_interval(ages: str, capsys: Capsys) -> None:
    base = ("interval", "--mtbf", "100000h", "--shape", 0.7, "--checkpoint-overhead", "15m",
            "--ages", ages, "--json")  # fmt: skip
    found = json.loads(call(capsys, *base, "--shortest", "10h").out)
    assert found["wanted"]["nodes_first_order"] == pytest.approx(74.86, abs=0.005)  # page 2
    most = found["wanted"]["nodes"]
    assert found["nodes"] == most > 70
    at, beyond = (json.loads(call(capsys, *base, "--nodes", n).out) for n in (most, most + 1))
    assert beyond["optimal_s"] < 36_000 <= at["optimal_s"] == found["optimal_s"]


def test_no_nodes_for_a_wanted_interval(capsys: Capsys) -> None:
    done = call(capsys, *BASE, "--shortest", "10d")
    assert done.out.startswith(
        "Even a job on one node has a best interval shorter than 10-00:00:00"
    )
    for more in (("--nodes", 4), ("--work", "3d")):
        done = call(capsys, *BASE, "--shortest", "1h", *more)
        assert (done.code, done.out) == (2, "")
        assert "nothing with --shortest" in done.err


def test_all_options_reach_the_model(capsys: Capsys) -> None:
    found = told(
        capsys, "--shape", 0.7, "--nodes", 16, "--ages", "new", "--restart-overhead", "5m",
        "--downtime", "00:02:00",
    )  # fmt: skip
    wanted = checkpoint_interval(
        345_600, 300, shape=0.7, nodes=16, ages="new", restart=300, downtime=120
    )
    assert found["optimal_s"] == pytest.approx(wanted.optimal)
    assert found["mttf_s"] == pytest.approx(wanted.mttf)
    assert (found["nodes"], found["shape"]) == (16, 0.7)
    steady = told(capsys, "--shape", 0.7, "--nodes", 16)
    assert steady["mttf_s"] == pytest.approx(345_600 / 16)


def test_promises_of_a_job(capsys: Capsys) -> None:
    found = told(capsys, "--work", "30d", "--restart-overhead", "5m")
    job = completion_time(
        "30d", "4d", interval=found["optimal_s"], cost="5m", restart="5m"  # type: ignore[arg-type]
    )  # fmt: skip
    completion = found["completion"]
    assert completion["mean_s"] == pytest.approx(job.mean())  # type: ignore[index]
    for one in completion["promises"]:  # type: ignore[index]
        assert one["deadline_s"] == pytest.approx(job.promise(one["probability"]), rel=1e-4)
    text = call(capsys, *BASE, "--work", "30d", "--restart-overhead", "5m").out
    for words in ("50 % done by", "90 % done by", "99 % done by"):
        assert words in text


def test_ages_in_words(capsys: Capsys) -> None:
    for ages, words in (
        ("new", "as new at the start"),
        ("steady", "steady state"),
        ("90d", "given"),
    ):
        done = call(capsys, *BASE, "--shape", 0.7, "--nodes", 8, "--ages", ages)
        assert done.code == 0
        assert words in done.out


def test_jobs_at_the_ends_of_the_scale(capsys: Capsys) -> None:
    short = call(capsys, *BASE, "--work", "10m").out
    assert short.startswith("Take no checkpoint, as the job is short")
    assert short.splitlines()[0].count(":") == 1
    hopeless = call(
        capsys, "interval", "--mtbf", "1m", "--checkpoint-overhead", "1h", "--work", "10d"
    )
    assert hopeless.code == 0
    assert "never finishes" in hopeless.out
    found = told(capsys, "--work", "10d", "--nodes", 20_000)
    assert found["daly_first_s"] is None
    long = call(
        capsys, "interval", "--mtbf", "1h", "--checkpoint-overhead", "1s", "--work", "2000w",
        "--shape", 0.7,
    )  # fmt: skip
    assert "too many checkpoints" in long.out


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--mtbf", "soon"),
        ("--mtbf", "0"),
        ("--checkpoint-overhead", "0"),
        ("--checkpoint-overhead", "-5m"),
        ("--checkpoint-overhead", "2000w"),
        ("--shape", "nan"),
        ("--shape", "0"),
        ("--shape", "steep"),
        ("--nodes", "0"),
        ("--nodes", "1.5"),
        ("--ages", "old"),
        ("--ages", "-1d"),
        ("--restart-overhead", "x"),
        ("--downtime", "nan"),
        ("--work", "0"),
        ("--work", "inf"),
    ],
)
def test_bad_input_is_one_line(capsys: Capsys, option: str, value: str) -> None:
    done = call(capsys, *BASE, option, value)
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert option in done.err


def test_fresh_nodes_without_a_work_length(capsys: Capsys) -> None:
    done = call(capsys, *BASE, "--shape", 0.5, "--nodes", 3, "--ages", "0")
    assert done.code == 2
    assert "--ages" in done.err


def test_what_is_needed(capsys: Capsys) -> None:
    done = call(capsys, "interval", "--mtbf", "4d")
    assert done.code == 2
    assert "--checkpoint-overhead" in done.err


def test_writing_of_times_and_shares() -> None:
    assert clock(3661) == "01:01:01"
    assert clock(90_061) == "1-01:01:01"
    assert clock(float("inf")) == "never"
    assert percent(0.12345) == "12.35 %"
    assert percent(1234.0) == "x 1.23e+03"
    assert percent(float("inf")) == "no end"


def test_it_says_when_promises_are_an_approximation(capsys: Capsys) -> None:
    asked = (*BASE, "--shape", 0.7, "--nodes", 8, "--work", "2d", "--ages")
    assert "approximation" not in call(capsys, *asked, "steady").out
    said = " ".join(call(capsys, *asked, "90d").out.split())
    assert said.endswith(
        "The completion times are an approximation (Poisson failures whose rate follows the "
        "ages): the mean is accurate, the spread less so."
    )


@pytest.mark.parametrize("work", [(), ("--work", "30d")])
def test_nodes_of_which_some_fails_at_once(capsys: Capsys, work: tuple[str, ...]) -> None:
    asked = ("interval", "--mtbf", "1000d", "--checkpoint-overhead", "5m", "--shape", 0.3)
    done = call(capsys, *asked, "--ages", "new", "--nodes", 5120, *work)
    assert done.code == 0
    assert done.out.startswith("No interval helps: failures come before practically any")
    assert "failures of the system: 3.7e-05 s." in done.out
    never = call(capsys, *asked, "--ages", "new", "--nodes", 500_000, *work)
    assert never.code == 2
    assert "--checkpoint-overhead" in never.err
    assert "practically no checkpoint would be finished" in never.err
    assert "1e9" not in never.err


def outages(path: Path, count: int = 8) -> Path:
    day = 86_400
    rows = [
        f"c1|n{k % 4}|{T0 + k * day}|{T0 + k * day + 3600}|DOWN|root(0)|Not responding"
        for k in range(count)
    ]
    path.write_text("\n".join(["Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason", *rows]))
    return path


def test_the_mttf_is_measured_from_records(capsys: Capsys, tmp_path: Path) -> None:
    path = outages(tmp_path / "events.txt")
    base = ("interval", path, "--nodes", 16, "--checkpoint-overhead", "5m")
    done = call(capsys, *base, "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    rate = found["measured"]
    assert (rate["failures"], rate["of"]) == (8, "outages that are faults")
    # Four nodes over seven days and an hour, less eight hours in outages.
    assert rate["node_days"] == pytest.approx(4 * (7 + 1 / 24) - 8 / 24)
    assert found["mttf_s"] == pytest.approx(rate["node_mttf_s"] / 16)
    wanted = checkpoint_interval(rate["node_mttf_s"], 300, nodes=16)
    assert found["optimal_s"] == pytest.approx(wanted.optimal)
    assert rate["optimal_low_s"] < found["optimal_s"] < rate["optimal_high_s"]
    text = call(capsys, *base).out
    assert "Measured: 8 outages that are faults" in text
    assert "The best interval at the ends of that" in text


def test_recall_lets_the_interval_grow(capsys: Capsys) -> None:
    without, found = told(capsys), told(capsys, "--recall", 0.36)
    # sqrt(2 M C / (1 - r)): Young's interval grows by 1 / sqrt(0.64).
    assert found["young_s"] == pytest.approx(without["young_s"] / 0.8)  # type: ignore[operator]
    assert found["recall"] == 0.36
    assert "foresees 36 %" in call(capsys, *BASE, "--recall", 0.36).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--checkpoint-overhead", "5m"), "--mtbf"),
        (("{log}", "--mtbf", "4d", "--checkpoint-overhead", "5m"), "either"),
        (("{quiet}", "--checkpoint-overhead", "5m"), "failure"),
        (("--mtbf", "4d", "--checkpoint-overhead", "5m", "--recall", "1"), "--recall"),
        (
            ("--mtbf", "4d", "--checkpoint-overhead", "5m", "--recall", ".5", "--shape", "2"),
            "--recall",
        ),
    ],
)
def test_where_the_rate_comes_from(
    capsys: Capsys, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    log = outages(tmp_path / "events.txt")
    quiet = tmp_path / "quiet.txt"
    quiet.write_text(log.read_text().replace("Not responding", "planned maintenance"))
    filled = [one.format(log=log, quiet=quiet) for one in arguments]
    done = call(capsys, "interval", *filled)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert words in done.err


def measured_json(capsys: Capsys, path: Path, *arguments: object) -> dict[str, object]:
    done = call(capsys, "interval", path, "--checkpoint-overhead", "5m", "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "options",
    [("--shape", 0.7, "--nodes", 8), ("--shape", 0.5, "--nodes", 8, "--ages", "365d"),
     ("--work", "2h", "--nodes", 4), ("--work", "9d", "--nodes", 4)],
)  # fmt: skip
def test_the_ends_answer_the_same_question(
    capsys: Capsys, tmp_path: Path, options: tuple[object, ...]
) -> None:
    """They were those of an endless job on nodes without ages."""
    path = outages(tmp_path / "events.txt")
    rate = measured_json(capsys, path, *options)["measured"]
    for end in ("low", "high"):
        mttf = f"{rate[f'node_mttf_{end}_s']:.0f}s"  # type: ignore[index]
        other = call(
            capsys, "interval", "--mtbf", mttf, "--checkpoint-overhead", "5m", "--json", *options
        )
        wanted = json.loads(other.out)["optimal_s"]
        assert rate[f"optimal_{end}_s"] == pytest.approx(wanted, rel=1e-3)  # type: ignore[index]


def test_measured_in_lines_that_fit(capsys: Capsys, tmp_path: Path) -> None:
    path = outages(tmp_path / "events.txt")
    base = ("interval", path, "--checkpoint-overhead", "5m")
    text = call(capsys, *base, "--shape", 0.7, "--nodes", 8).out
    assert max(map(len, text.splitlines())) <= 100
    assert "the shape is the one given" in text
    short = call(capsys, *base, "--work", "10m").out
    assert "at the ends of that interval: no checkpoint." in short


def test_options_that_do_nothing_to_a_measured_rate(capsys: Capsys, tmp_path: Path) -> None:
    path = outages(tmp_path / "events.txt")
    for name, value in (("--min-nodes", 8), ("--timeout", "5m"), ("--timeout", "0")):
        done = call(capsys, "interval", path, "--checkpoint-overhead", "5m", name, value)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert name in done.err


def test_nodes_that_were_never_in_service(capsys: Capsys, tmp_path: Path) -> None:
    path = tmp_path / "events.txt"
    path.write_text(
        "NodeName|TimeStart|TimeEnd|State|Reason\n"
        f"n1|{T0}|{T0 + 9 * 86_400}|DRAIN|planned maintenance\n"
    )
    done = call(capsys, "interval", path, "--checkpoint-overhead", "5m")
    assert done.code == 2
    assert "no node was in service" in done.err
