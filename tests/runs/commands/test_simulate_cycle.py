"""`forestall simulate --model cycle`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from core.commands.calls import call, failure_log
from forestall.sharing.settings import CYCLE
from sharing.report.cycle_small import QUICK, guests_file, hosts_file

Capsys = pytest.CaptureFixture[str]
FILES = {
    "summary.json", "jobs.csv", "stays.csv", "hosts.csv", "availability.csv", "skipped.csv",
    "manifest.json", "report.html",
}  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    hosts_file(folder / "hosts.csv")
    guests_file(folder / "guests.csv")
    failure_log(folder / "failures.csv", span=600_000)
    return folder


def cycle(logs: Path, *more: object) -> tuple[object, ...]:
    base = ("simulate", logs / "guests.csv", "--model", "cycle", "--hosts", logs / "hosts.csv")
    return (*base, *QUICK, *more)


def summary_of(capsys: Capsys, *arguments: object) -> dict[str, object]:
    done = call(capsys, *arguments, "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert isinstance(summary, dict)
    return summary


@pytest.mark.parametrize("scheduler", ["falcon", "falcon-slides", "condor", "omniscient"])
def test_a_run_prints_and_writes(
    scheduler: str, logs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "deep" / "run"
    done = call(capsys, *cycle(logs, "--scheduler", scheduler, "--restart", "checkpoint",
                               "--checkpoint-interval", "20m", "--out", out))  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert {path.name for path in out.iterdir()} == FILES
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["model"], summary["scheduler"]) == ("cycle", scheduler)
    assert summary["jobs_simulated"] == 30
    asked = {
        "scheduler": scheduler, "restart": "checkpoint", "checkpoint_interval": 1200,
        "warm_up": 604_800, "predict_every": 21_600, "horizon": 21_600, "predict_step": 300,
    }  # fmt: skip
    assert summary["parameters"] == {**CYCLE.parameters().model_dump(), **asked}
    words = ("Jobs completed", "Makespan", "Failures per job", "Harvested", "30 jobs, 4 hosts")
    for text in (*words, str(out / "report.html")):
        assert text in done.out
    assert "nothing failed" not in done.out
    table = done.out.split("\n\n")[1]
    assert max(map(len, table.splitlines())) <= 100
    assert call(capsys, *cycle(logs, "--quiet", "--no-report", "--out", out)) == (0, "", "")
    assert {path.name for path in out.iterdir()} == FILES - {"report.html"}


def test_the_same_bytes_again(logs: Path, tmp_path: Path, capsys: Capsys) -> None:
    for name in ("one", "two"):
        base = cycle(logs, "--scheduler", "condor", "--log-events", "--no-report", "-q")
        assert call(capsys, *base, "--out", tmp_path / name).code == 0
    one, two = (sorted((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert {"events.csv", "decisions.csv", "candidates.csv"} <= {path.name for path in one}
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_runs_are_certified_replayed_and_compared(
    logs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    folders = [tmp_path / name for name in ("falcon", "condor")]
    for folder in folders:
        more = ("--scheduler", folder.name, "--log-events", "--no-report", "-q", "--out", folder)
        assert call(capsys, *cycle(logs, *more)).code == 0
        replayed = call(capsys, "replay", folder)
        assert (replayed.code, replayed.err) == (0, "")
        assert "every byte the same" in replayed.out
        certified = call(capsys, "certify", folder)
        assert certified.code == 0, certified.out + certified.err
    page = tmp_path / "page.html"
    done = call(capsys, "compare", *folders, "--out", page)
    assert done.code == 0
    assert "Makespan, mean" in done.out + page.read_text()
    plain = json.loads(call(capsys, "compare", *folders, "--json").out)
    assert plain["differing"] == {"scheduler": ["falcon", "condor"]}
    assert set(plain["measures"]) == {one.name for one in CYCLE.measures()}


def test_comparisons_tell_durations_with_units(logs: Path, tmp_path: Path, capsys: Capsys) -> None:
    for name, retry in (("a", "90s"), ("b", "10m")):
        words = ("--scheduler", "condor", "--retry", retry, "--out", tmp_path / name)
        assert call(capsys, *cycle(logs, *words)).code == 0
    page = tmp_path / "page.html"
    done = call(capsys, "compare", tmp_path / "a", tmp_path / "b", "--out", page)
    assert [line.split() for line in done.out.splitlines() if line.startswith("retry")] == [
        ["retry", "90", "s", "10", "min"]
    ]
    assert "<td>90 s</td><td>10 min</td>" in page.read_text()


def test_speeds_and_a_part_of_the_traces(logs: Path, tmp_path: Path, capsys: Capsys) -> None:
    speeds = tmp_path / "speeds.csv"
    speeds.write_text("host,speed\n" + "".join(f"{k},2\n" for k in range(4)))
    given = ("--scheduler", "omniscient")
    plain = summary_of(capsys, *cycle(logs, *given))
    fast = summary_of(capsys, *cycle(logs, *given, "--host-speeds", speeds))
    assert fast["makespan"] < 0.6 * plain["makespan"]  # type: ignore[operator]
    assert fast["sources"]["host_speeds"] == str(speeds)  # type: ignore[index]
    part = summary_of(capsys, *cycle(logs, *given, "--from", "2024-01-02", "--days", "10"))
    assert part["host_traces"] == {"begin": -604_800, "end": 3 * 86_400, "period": 300}
    assert part["jobs_simulated"] < 30  # type: ignore[operator]
    coarse = summary_of(capsys, *cycle(logs, *given, "--period", "15m", "--predict-step", "15m"))
    assert coarse["host_traces"]["period"] == 900  # type: ignore[index]


def test_failures_say_when_hosts_are_there(logs: Path, capsys: Capsys) -> None:
    base = ("simulate", logs / "guests.csv", "--model", "cycle", "--scheduler", "condor",
            "--warm-up", "1d", "--failures", logs / "failures.csv")  # fmt: skip
    summary = summary_of(capsys, *base)
    nodes = int(pl.read_csv(logs / "failures.csv")["node"].max()) + 1  # type: ignore[operator, arg-type]
    assert summary["hosts_count"] == nodes
    assert summary["state_shares"]["s5"] > 0  # type: ignore[index]
    assert summary["skipped"]["no_down_time"] == 30  # type: ignore[index]
    folded = summary_of(capsys, *base, "--fold-nodes", 4, "--days", 5)
    assert folded["hosts_count"] == 4
    assert folded["host_traces"]["end"] == 4 * 86_400  # type: ignore[index]


def test_options_from_a_file(logs: Path, tmp_path: Path, capsys: Capsys) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        f'model = "cycle"\nhosts = "{logs / "hosts.csv"}"\nscheduler = "condor"\nrank = "speed"\n'
        'warm-up = "7d"\nth2 = 0.5\ncheckpoint-interval = "none"\ncheckpoint-at-end = false\n'
        'retries = 4\nperiod = "5m"\nspikes = "stop"\n'
    )
    base = ("simulate", logs / "guests.csv", "--config", config)
    parameters = summary_of(capsys, *base, "--retry", "10m")["parameters"]
    asked = {
        "scheduler": "condor", "rank": "speed", "warm_up": 604_800, "th2": 0.5,
        "checkpoint_interval": None, "checkpoint_at_end": False, "retries": 4, "retry": 600,
        "spikes": "stop",
    }  # fmt: skip
    assert parameters == {**CYCLE.parameters().model_dump(), **asked}
    done = call(capsys, *base, "--model", "virtual")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "only with --model cycle" in done.err


def test_a_folder_goes_from_one_model_to_the_other(
    logs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "run"
    more = ("--scheduler", "condor", "--no-report", "-q", "--out", out)
    assert call(capsys, *cycle(logs, "--log-events", *more)).code == 0
    promise = ("simulate", logs / "guests.csv", "--nodes", 16, "--out", out, "-q", "--no-report")
    assert call(capsys, *promise).code == 0
    names = {path.name for path in out.iterdir()}
    assert not {"stays.csv", "hosts.csv", "availability.csv", "candidates.csv"} & names
    assert call(capsys, *cycle(logs, *more)).code == 0
    assert {path.name for path in out.iterdir()} == FILES - {"report.html"}


def test_hints_are_printed(logs: Path, capsys: Capsys) -> None:
    done = call(capsys, *cycle(logs, "--warm-up", "11d", "--from", "2024-01-01T01:00"))
    assert "hint: 79 % of the host traces come before the jobs" in done.out
    assert "hint: time 0 of the jobs is 1:00 of 2024-01-12" in done.out
    assert "left out: " in done.out
    assert "submitted after the host traces end" in done.out


WRONG = [
    *(["--scheduler", "best"], ["--rank", "memory"], ["--restart", "never"], ["--spikes", "run"]),
    *(["--job-length", "0"], ["--job-length", "long"], ["--checkpoint-interval", "0"]),
    *(["--checkpoint-interval", "never"], ["--checkpoint-overhead", "-1"], ["--retry", "0"]),
    *(["--restart-overhead", "x"], ["--retries", "-1"], ["--retries", "1.5"], ["--th1", "1.1"]),
    *(["--th1", "nan"], ["--th1", "0.7"], ["--th2", "high"], ["--hold", "-1"]),
    *(["--guest-memory", "2"], ["--warm-up", "14d"], ["--warm-up", "-1"], ["--history", "0"]),
    *(["--predict-every", "10"], ["--predict-step", "0"], ["--horizon", "1m"]),
    *(["--horizon", "65m", "--predict-step", "7m"], ["--seed", "-1"], ["--load-memory", "x"]),
    *(["--period", "0"], ["--period", "x"], ["--hosts", "nowhere"], ["--host-speeds", "nowhere"]),
    *(["--failures", "x"], ["--system", "3"], ["--fold-nodes", "2"], ["--failure-format", "own"]),
    *(["--from", "noon"], ["--from", "2030-01-01"], ["--days", "0"], ["--days", "-1"]),
    *(["--nodes", "3"], ["--train", "x"], ["--predictor", "rate"], ["--accuracy", "1"]),
    *(["--strategy", "random"], ["--policy", "easy"], ["--downtime", "5"], ["--log-events"]),
    ["--job-length", "1h,2h"],
]


@pytest.mark.parametrize("more", WRONG, ids=" ".join)
def test_what_is_wrong_is_one_line(more: list[str], logs: Path, capsys: Capsys) -> None:
    done = call(capsys, *cycle(logs, *more))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("forestall: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--hold", "0.5"], "--hold: '0.5' is not allowed; expected a duration such as 90s, 15m, "
         "36h, 4d or 1-12:00:00, in whole seconds"),
        (["--horizon", "1m"], "--horizon: '1 min' is not allowed; expected at least 1 h"),
        (["--th1", "0.7"], "--th1: 0.7 is not allowed; expected at most --th2"),
        (["--th1", "high"], "--th1: 'high' is not allowed"),
    ],
)  # fmt: skip
def test_messages_have_units(more: list[str], said: str, logs: Path, capsys: Capsys) -> None:
    assert said in call(capsys, *cycle(logs, *more)).err


FILES_WRONG = {
    "empty": ("", "is empty"),
    "a job log": ("job,submit,size,runtime\n1,0,1,60\n", "is a job log"),
    "no load": ("time,node,heat\n0,a,30\n60,a,31\n", "has no load of hosts; it has 'heat'"),
    "no values": ("time,node,cpu\n0,a,\n60,a,nan\n", "has no sample with a cpu"),
    "per cent": ("time,node,cpu\n0,a,30\n60,a,31\n", "expected shares of the machine"),
    "one sample": ("time,node,cpu\n0,a,0.5\n", "one sample of each host"),
    "short": ("time,node,cpu\n0,a,0.5\n60,a,0.5\n", "--warm-up: '7 d' is not allowed; expected "
              "less than the 2 min"),
    "a header": ("time,node,cpu\n", "samples"),
    "words": ("once upon a time\n", "holds no traces of hosts"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), FILES_WRONG.values(), ids=FILES_WRONG)
def test_wrong_host_traces_are_one_line(
    text: str, words: str, logs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    place = tmp_path / "hosts.csv"
    place.write_text(text)
    done = call(capsys, *cycle(logs, "--hosts", place))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err


def test_hosts_are_asked_for(logs: Path, tmp_path: Path, capsys: Capsys) -> None:
    done = call(capsys, "simulate", logs / "guests.csv", "--model", "cycle")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "forestall traces generate hosts" in done.err
    late = tmp_path / "late.csv"
    pl.read_csv(logs / "guests.csv").with_columns(pl.col("submit") + 10**7).write_csv(late)
    base = cycle(logs)
    done = call(capsys, *base[:1], late, *base[2:])
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "after the host traces end" in done.err


def test_options_without_effect_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--model",
        "cycle",
        "--hosts",
        str(hosts_file(tmp_path / "hosts.csv")),
        "--warm-up",
        "7d",
    ]
    words += ["--rank", "speed", "--checkpoint-overhead", "1m"]
    done = call(capsys, "simulate", str(guests_file(tmp_path / "guests.csv")), *words)
    assert done.code == 0
    said = " ".join((done.out + done.err).split())
    assert "--rank has no effect without --scheduler condor" in said
    assert "--checkpoint-overhead has no effect without --restart checkpoint" in said
    words += ["--scheduler", "condor", "--restart", "checkpoint"]
    done = call(capsys, "simulate", str(guests_file(tmp_path / "guests.csv")), *words)
    assert "has no effect" not in done.out + done.err
    words += ["--pooling", "none", "--load-memory", "2h", "--move-below", "0.5"]
    done = call(capsys, "simulate", str(guests_file(tmp_path / "guests.csv")), *words)
    said = " ".join((done.out + done.err).split())
    assert "--pooling has no effect without --scheduler falcon" in said
    assert "--move-below has no effect without --scheduler falcon or falcon-slides" in said
    assert "--load-memory" not in said  # the default
