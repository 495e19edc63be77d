"""`forestall report`: text, page, JSON and metrics from files; what a newcomer sees; refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.commands.calls import call
from forestall.site import report as site_report
from forestall.slurm.queue import SNAPSHOT

Capsys = pytest.CaptureFixture[str]
DAY = 86_400
T0 = 1_700_000_000


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    # The sections have tests of their own; what they take long for is not of interest here.
    monkeypatch.setattr("forestall.site.report.SECTIONS", {})
    monkeypatch.setattr("forestall.site.report.report.__kwdefaults__", {
        "sections": {}, "told": False, "options": None, "progress": None,
    })  # fmt: skip


def jobs(path: Path, count: int = 40) -> Path:
    lines = ["JobIDRaw|JobName|User|Partition|State|Submit|Start|End|NNodes|NodeList"]
    for k in range(count):
        state = "NODE_FAIL" if k % 5 == 0 else "COMPLETED"
        start = T0 + k * 3600
        lines.append(
            f"{k + 1}|train|ann|gpu|{state}|{start - 60}|{start}|{start + 2 * DAY}|4|n[1-4]"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def events(path: Path) -> Path:
    rows = [
        f"c1|n{k}|{T0 + k * DAY // 4}|{T0 + k * DAY // 4 + 3600}|DOWN|root(0)|Not responding"
        for k in range(1, 5)
    ]
    head = "Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return jobs(tmp_path / "jobs.txt"), events(tmp_path / "events.txt")


def test_a_newcomer_sees_the_commands(capsys: Capsys) -> None:
    done = call(capsys, "report")
    assert done.code == 2
    assert done.err == ""
    for words in ("forestall report --slurm", "sacct ", "sacctmgr ", "scontrol ", "jobs.txt",
                  "starts.txt", SNAPSHOT):  # fmt: skip
        assert words in done.out


def test_text_first_says_what_was_looked_at(capsys: Capsys, files: tuple[Path, Path]) -> None:
    done = call(capsys, "report", *files)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("40 jobs by 1 user, 4 nodes; 2023-11-16 22:1")
    assert "What was read, and what was odd" in done.out
    assert "--full" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    full = call(capsys, "report", *files, "--full").out
    assert len(full) > len(done.out)


def test_json_and_options(capsys: Capsys, files: tuple[Path, Path]) -> None:
    done = call(
        capsys, "report", *files, "--json", "--price", "0.5", "--currency", "USD", "--since", "1d",
        "--partition", "gpu", "--min-nodes", 2, "--checkpoint-interval", "2h",
        "--checkpoint-overhead", "10m", "--restart-overhead", "0", "--zone", "Europe/Berlin",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    asked = told["asked"]
    assert (asked["node_hour_cost"], asked["currency"], asked["partition"]) == (0.5, "USD", "gpu")
    assert (asked["checkpoint_interval"], asked["checkpoint_cost"], asked["restart"]) == (
        7200, 600, 0,
    )  # fmt: skip
    assert (asked["min_nodes"], asked["zone"]) == (2, "Europe/Berlin")
    assert told["window"]["days"] == pytest.approx(1.0)
    assert told["options"]["--price"] == "0.5 USD a node-hour"
    assert told["options"]["--checkpoint-interval"] == "7200 s"


def test_nothing_tells_the_folders_of_this_machine(
    capsys: Capsys, files: tuple[Path, Path], tmp_path: Path
) -> None:
    log = tmp_path / "failures.csv"
    log.write_text("time,node\n10,1\n20,2\n")
    for arguments in (files, (files[0], "--failures", log)):
        for more in (("--json",), ("--full",), ("--openmetrics", "-")):
            done = call(capsys, "report", *arguments, *more)
            assert done.code == 0
            assert str(tmp_path) not in done.out
    told = json.loads(call(capsys, "report", *files, "--json").out)
    assert told["options"]["files"] == "jobs.txt, events.txt"
    assert told["options"]["--checkpoint-interval"] == "3600 s (assumed)"
    assert told["sources"][0] == "jobs.txt: 40 runs (sacct)"


def test_where_metrics_go_is_checked_first(
    capsys: Capsys, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forestall.site.report.make", None)  # would be a traceback
    page = tmp_path / "page.html"
    for more, said in (
        (("--openmetrics", tmp_path / "no" / "x.prom"), "a folder that is there"),
        (("--openmetrics", tmp_path), "not a folder"),
        (("--openmetrics", "-", "--json"), "both cannot be printed"),
    ):
        done = call(capsys, "report", *files, *more, "--out", page)
        assert done.code == 2
        assert said in done.err
    assert not page.exists()


def test_the_page_in_a_file_and_in_a_folder(
    capsys: Capsys, files: tuple[Path, Path], tmp_path: Path
) -> None:
    one = tmp_path / "mine.html"
    done = call(capsys, "report", *files, "--out", one)
    assert done.code == 0
    assert done.out.splitlines()[-1] == f"Written: {one}"
    assert one.read_text().startswith("<!DOCTYPE html>")
    folder = tmp_path / "new" / "deep"
    assert call(capsys, "report", *files, "--out", folder, "--quiet") == (0, "", "")
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    assert call(capsys, "report", *files, "--out", folder, "-q").code == 0
    (folder / "else.txt").write_text("keep")
    refused = call(capsys, "report", *files, "--out", folder)
    assert refused.code == 2
    assert "--force" in refused.err
    assert call(capsys, "report", *files, "--out", folder, "--force", "-q").code == 0


def test_metrics(capsys: Capsys, files: tuple[Path, Path], tmp_path: Path) -> None:
    place = tmp_path / "forestall.prom"
    assert call(capsys, "report", *files, "--openmetrics", place, "--quiet") == (0, "", "")
    assert place.read_text().endswith("# EOF\n")
    done = call(capsys, "report", *files, "--openmetrics", "-")
    assert (done.code, done.out) == (0, place.read_text())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--price", "-1"), "--price"),
        (("--price", "nan"), "--price"),
        (("--currency", " "), "--currency"),
        (("--checkpoint-interval", "0"), "--checkpoint-interval"),
        (("--checkpoint-overhead", "long"), "--checkpoint-overhead"),
        (("--since", "yesterday"), "--since"),
        (("--until", "1999-01-01"), "--until"),
        (("--partition", "cpu"), "one of gpu"),
        (("--min-nodes", "0"), "--min-nodes"),
        (("--zone", "Mars"), "--zone"),
        (("--timeout", "soon"), "--timeout"),
        (("--processors-per-node", "x"), "--processors-per-node"),
        (("--days", "-1"), "--days"),
        (("--days", "3"), "a failure log to go with it"),
        (("--system", "20"), "a failure log to go with it"),
        (("--processors-per-node", "4"), "a job log in SWF"),
        (("--since", "30"), "a duration such as 30d"),
        (("--min-nodes", "999"), "at most 4"),
        (("--since", "all", "--until", "2020-01-01"), "--until"),
        (("--failures", "gone.csv"), "--failures"),
        (("--out", "no/such/place.html"), "--out"),
        (("--openmetrics", "no/such/place.prom"), "no/such/place.prom"),
    ],
)
def test_refusals_are_one_line(
    capsys: Capsys, files: tuple[Path, Path], options: tuple[str, ...], words: str
) -> None:
    done = call(capsys, "report", *files, *options)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert words in done.err
    assert "Traceback" not in done.err


def test_files_that_are_nothing(capsys: Capsys, tmp_path: Path) -> None:
    odd = tmp_path / "odd.txt"
    odd.write_text("hello\n")
    done = call(capsys, "report", odd)
    assert done.code == 2
    assert "expected output of sacct" in done.err


def test_slurm_that_is_not_there(capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = call(capsys, "report", "--slurm")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "sacct" in done.err


def test_quotes_are_learned_unless_told_not_to(capsys: Capsys, files: tuple[Path, Path]) -> None:
    asked = [
        json.loads(call(capsys, "report", *files, *more, "--json").out)
        for more in ((), ("--no-learn",))
    ]
    assert [one["asked"]["learn"] for one in asked] == [True, False]
    assert [one["options"].get("--no-learn") for one in asked] == [None, "yes"]


@pytest.mark.parametrize("stopped", [False, True])
def test_a_first_page_is_replaced(
    stopped: bool, capsys: Capsys, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    make, page = site_report.make, tmp_path / "page.html"

    def slow(*given: Any) -> Any:
        *others, early = given
        made = make(*others)
        early(replace(made, headline="First."))
        assert "First." in page.read_text()
        if stopped:
            raise KeyboardInterrupt
        return made

    monkeypatch.setattr(site_report, "make", slow)
    done = call(capsys, "report", *files, "--out", page)
    said = f"Written: {page}; quotes are being learned, then it is replaced.\n"
    assert done.err.startswith(said)
    assert ("First." in page.read_text()) == stopped
    if stopped:
        assert done.code == 130
        assert done.err == f"{said}forestall: interrupted; {page} is the first page\n"
    else:
        assert done.code == 0
        assert f"Written: {page}" in done.out
