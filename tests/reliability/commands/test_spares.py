"""`forestall spares`: the paper's table, the pool's numbers, JSON, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.commands.calls import call

PAPER = ("--nodes", 256, "--hours", 128, "--mtbf", "102840h")


def asked(capsys: pytest.CaptureFixture[str], *options: object) -> dict:  # type: ignore[type-arg]
    code, out, err = call(capsys, "spares", *options, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert isinstance(told, dict)
    return told


def test_table_5(capsys: pytest.CaptureFixture[str]) -> None:
    told = asked(capsys, *PAPER, "--target", 0.99)
    assert (told["spares"], told["target"]) == (2, 0.99)
    found = [round(100 * row["reliability"], 2) for row in told["reliability"]]
    assert found[:4] == [72.71, 95.90, 99.58, 99.97]
    assert [row["spares"] for row in told["reliability"]] == list(range(6))
    weibull = asked(capsys, *PAPER, "--shape", 0.7)
    found = [round(100 * row["reliability"], 2) for row in weibull["reliability"]]
    assert found[:6] == [6.11, 23.28, 47.32, 69.66, 85.18, 93.76]


@pytest.mark.parametrize(
    ("nodes", "expected"), [(64, (8, 21, 4)), (512, (35, 124, 13)), (2048, (116, 447, 39))]
)
def test_pools(
    nodes: int, expected: tuple[int, int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    found = tuple(
        asked(capsys, "--nodes", nodes, "--target", 0.99, *more)["spares"]
        for more in (
            ("--hours", "7d", "--pool", "--rate", 6.5),
            ("--hours", "30d", "--pool"),
            ("--hours", "30d", "--repair", "2d"),
        )
    )
    assert found == expected


def test_the_answer_is_the_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "spares", "--nodes", 512, "--hours", 96, "--target", 0.99)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("22 spares among 512 nodes: no more are lost in 4.0 d with at least")
    default = "6.5 per 1000 node-days (the default, of two large training clusters"
    assert default in " ".join(out.split())
    assert [line for line in lines if line.endswith("<")] == ["    22      99.22 %  <"]
    assert max(len(line) for line in lines[: lines.index("", 2)]) <= 100


def test_hours_as_numbers_and_durations(capsys: pytest.CaptureFixture[str]) -> None:
    texts = (96, "96h", "4-00:00:00", "4d", "96.0")
    found = [asked(capsys, "--nodes", 512, "--hours", text) for text in texts]
    assert all(one == found[0] for one in found)


def test_ages_copies_and_whole_missions(capsys: pytest.CaptureFixture[str]) -> None:
    options = (*PAPER, "--shape", 0.7, "--target", 0.99)
    new, old, steady = (
        asked(capsys, *options, "--ages", a)["spares"] for a in ("new", "52w", "steady")
    )
    assert new >= old >= steady
    ring = asked(capsys, *options, "--copies", 3)
    assert ring["spares"] >= new
    assert "3 copies" in ring["assumes"]
    assert asked(capsys, *options, "--copies", 1)["spares"] is None
    pool = asked(capsys, "--nodes", 64, "--hours", "30d", "--repair", "2d")
    assert (pool["spares"], pool["spares_whole_mission"]) == (4, 6)
    young = asked(capsys, "--nodes", 64, "--hours", "7d", "--pool", "--shape", 0.6, "--ages", "new")
    assert young["spares"] > 8


def test_no_number_reaches_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "spares", "--nodes", 4, "--hours", 9e6, "--target", 0.9)
    assert code == 0
    assert out.startswith("No number of spares among 4 nodes gives 90 % over")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--nodes", 0, "--hours", 1), "--nodes"),
        (("--nodes", 5, "--hours", 0), "--hours"),
        (("--nodes", 5, "--hours", "soon"), "--hours"),
        (("--nodes", 5, "--hours", "nan"), "--hours"),
        (("--nodes", 5, "--hours", 1, "--target", 1), "--target"),
        (("--nodes", 5, "--hours", 1, "--rate", 0), "--rate"),
        (("--nodes", 5, "--hours", 1, "--rate", 1, "--mtbf", "1h"), "--rate"),
        (("--nodes", 5, "--hours", 1, "--mtbf", "0"), "--mtbf"),
        (("--nodes", 5, "--hours", 1, "--shape", 0), "--shape"),
        (("--nodes", 5, "--hours", 1, "--shape", "nan"), "--shape"),
        (("--nodes", 5, "--hours", 1, "--ages", "old"), "--ages"),
        (("--nodes", 5, "--hours", 1, "--copies", -1), "--copies"),
        (("--nodes", 5, "--hours", 1, "--pool", "--copies", 3), "--copies"),
        (("--nodes", 5, "--hours", 1, "--repair", "0"), "--repair"),
        (("--nodes", 5, "--hours", 1, "--repair", "1h", "--ages", "new"), "--ages"),
        (("--hours", 1), "--nodes"),
        (("--nodes", 5, "--hours", 1, "--since", "30d"), "records to go with it"),
        (("--nodes", 5, "--hours", 1, "--partition", "gpu"), "--partition"),
        (("--nodes", 5, "--hours", 1, "--from", "2003-01-01"), "--from"),
    ],
)
def test_refusals(
    options: tuple[object, ...], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "spares", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert named in err


def test_the_rate_is_measured_from_records(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    day, begin = 86_400, 1_700_000_000
    path = tmp_path / "events.txt"
    rows = [
        f"c1|n{k % 4}|{begin + k * day}|{begin + k * day + 3600}|DOWN|root(0)|Not responding"
        for k in range(8)
    ]
    path.write_text("\n".join(["Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason", *rows]))
    base = ("spares", path, "--nodes", 64, "--hours", "24")
    found = json.loads(call(capsys, *base, "--json").out)
    rate = found["measured"]
    assert rate["failures"] == 8
    assert found["mttf_s"] == pytest.approx(rate["node_mttf_s"])
    told = json.loads(
        call(
            capsys, "spares", "--nodes", 64, "--hours", "24", "--json",
            "--mtbf", f"{rate['node_mttf_s']}s",
        ).out
    )  # fmt: skip
    assert found["spares"] == told["spares"]
    assert rate["spares_low"] <= found["spares"] <= rate["spares_high"]
    assert "Measured: 8 outages" in call(capsys, *base).out
    refused = call(capsys, *base, "--mtbf", "4d")
    assert refused.code == 2
    assert "either" in refused.err


def test_repair_as_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "events.txt"
    begin = 1_700_000_000
    rows = [
        f"c1|n{k}|{begin + k * 86_400}|{begin + k * 86_400 + 7200}|DOWN|root(0)|Not responding"
        for k in range(8)
    ]
    head = "Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason"
    path.write_text("\n".join([head, *rows]) + "\n")
    base = ("spares", path, "--nodes", 64, "--hours", "24")
    said = call(capsys, *base, "--repair", "measured")
    told = call(capsys, *base, "--repair", "2h")
    assert (said.code, told.code) == (0, 0)
    assert said.out.splitlines()[:4] == told.out.splitlines()[:4]
    assert "Repair: 2 h on average, as measured." in said.out
    pool = " ".join(call(capsys, *base, "--pool").out.split())
    assert "--repair measured uses that" in pool
    alone = call(capsys, "spares", "--nodes", 64, "--hours", "24", "--repair", "measured")
    assert alone.code == 2
    assert "where there are no records" in alone.err
    log = tmp_path / "log.csv"
    log.write_text("time,node\n100,0\n90000,1\n")
    untold = call(capsys, "spares", log, "--nodes", 64, "--hours", "24", "--repair", "measured")
    assert untold.code == 2
    assert "do not tell when failed nodes were back" in untold.err
    one_line = [line for line in said.out.splitlines() if len(line) > 100]
    assert not any(line.startswith("Measured") for line in one_line)


def test_no_number_at_one_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time,node\n100,0\n90000,1\n900000,1\n")
    found = call(capsys, "spares", log, "--nodes", 4, "--hours", "20d", "--target", 0.9)
    assert found.code == 0, found.err
    assert "no number spares" not in found.out
    assert "at the other no number suffices" in found.out
