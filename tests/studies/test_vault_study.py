"""The study of checkpoints on shared hosts: its runs, its claims on made-up figures, its programs,
and its network of namespaces, where these can be had."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from forestall.core.model.errors import TraceError
from studies.kit.claims import FOLLOWS, UNTESTED
from studies.vault import STUDY
from studies.vault.claims import evaluate
from studies.vault.delayed import Way
from studies.vault.found import Found, Measured, asked, left_out, read
from studies.vault.network import Link, network, why_not
from studies.vault.plan import FREE, GIB, KINDS, LAYOUTS, PARTS, QUICK, Case, Plan, batches
from studies.vault.programs import PROGRAMS
from studies.vault.simulated import Given, play_batch, stores_of

SET = "own hours"
TINY = Given(21, 7)


def test_plans_have_every_layout_and_each_part_once() -> None:
    full = batches(Plan(), ("Grid'5000",))
    cases = [case for batch in full for case in batch]
    assert len(set(cases)) == len(cases)
    assert {case.hosts_of for case in cases} == {SET, "Grid'5000"}
    mine = [case for case in full[0] if case.size == GIB]
    assert [case.layout for case in mine] == [*LAYOUTS, FREE, *PARTS]
    assert len(batches(QUICK, ())) == QUICK.seeds


def test_runs_of_a_batch_share_hosts_and_jobs() -> None:
    cases = tuple(Case(SET, 1, one) for one in ("free", "vault", "remote", "local"))
    rows = {row["layout"]: row for row in play_batch(cases, TINY)}
    assert len({row["jobs"] for row in rows.values()}) == 1
    assert rows["free"]["makespan"] < rows["vault"]["makespan"] < rows["remote"]["makespan"]
    assert rows["free"]["time_share"] == 0 < rows["vault"]["time_share"]
    assert rows["remote"]["save_seconds"] == 215  # 1 GiB at 5 MB/s
    assert rows["local"]["bytes_between_sites"] <= rows["remote"]["bytes_between_sites"]
    assert json.loads(json.dumps(list(rows.values()), allow_nan=False)) == list(rows.values())


def test_free_checkpoints_have_no_stores() -> None:
    assert stores_of(Case(SET, 1, FREE)) is None
    assert "size=7" in str(stores_of(Case(SET, 1, "vault", 7)))


# Claims ------------------------------------------------------------------------------------------


def made_up(vault: float, remote: float) -> Found:
    """Return runs in which the vault and a remote server give these makespans, h."""
    plan = Plan(seeds=2, sizes=(GIB,))
    rows = []
    for seed in (1, 2):
        for layout in (*KINDS, FREE):
            span = {"vault": vault, "remote": remote, FREE: 1.0}.get(layout, 1.5) + seed / 1000
            slow = layout in ("remote", "submitter")
            rows.append({
                "hosts_of": SET, "seed": seed, "layout": layout, "size": GIB, "jobs": 10,
                "makespan": span, "unfinished": 0.5 if layout == "submitter" else 0.0,
                "save_seconds": 200.0 if slow else 20.0, "restore_seconds": 30.0,
                "time_share": {"remote": 0.12, "submitter": 0.9}.get(layout, 0.01),
                "bytes_between_sites": 9e9 if slow else 1e9, "unrecovered": 0.0,
            })  # fmt: skip
    return Found(plan, pl.DataFrame(rows), left_out("a test"))


@pytest.mark.parametrize(
    ("vault", "remote", "verdict"),
    [(1.2, 1.6, "confirmed"), (1.2, 1.21, "not confirmed"), (1.0, 3.0, "not confirmed")],
)
def test_a_claim_can_fail(vault: float, remote: float, verdict: str) -> None:
    claims = evaluate(made_up(vault, remote))
    shorter = next(one for one in claims if one.name == "run times")
    assert shorter.verdict == verdict
    by_name = {one.name: one.verdict for one in claims}
    assert by_name["shared bandwidth"] == by_name["submitting machine"] == "confirmed"
    assert by_name["time lost"] == FOLLOWS


def changed(measure: str, **by_layout: float) -> dict[str, str]:
    """Return the verdicts where a measure is another for some layouts, or for all of them."""
    found = made_up(1.2, 1.6)
    usual = pl.col(measure) if "every" not in by_layout else pl.lit(by_layout["every"])
    layout = pl.col("layout").replace_strict(by_layout, default=None, return_dtype=pl.Float64)
    runs = found.runs.with_columns(pl.coalesce(layout, usual).alias(measure))
    return {one.name: one.verdict for one in evaluate(replace(found, runs=runs))}


def test_the_submitting_machine_must_cost_most_and_the_time_be_lost() -> None:
    assert changed("time_share", remote=0.95)["submitting machine"] == "not confirmed"
    assert changed("time_share", submitter=0.13)["submitting machine"] == "confirmed"
    assert changed("time_share", remote=0.4)["time lost"] == "not confirmed"
    nothing = changed("time_share", every=0.0)
    assert nothing["submitting machine"] == nothing["time lost"] == UNTESTED


def measured_rows(tmp_path: Path) -> Measured:
    """Return a table as if it had been measured."""
    rows = []
    for layout in LAYOUTS:
        slow = layout in ("remote", "submitter")
        rows.append({"test": "size", "layout": layout, "bytes": 2**20, "save": 9.0 if slow else 1.0,
                     "restore": 2.0 if slow else 1.0, "stored": 2**19})  # fmt: skip
        for clients in (1, 2):
            rows.append({"test": "clients", "layout": layout, "clients": clients,
                         "save": clients * (1.0 if layout == "vault" else 2.0) + 1})  # fmt: skip
    for layout, down, same in (("vault", 2, True), ("vault", 3, False), ("copy", 1, False)):
        rows.append({"test": "failures", "layout": layout, "down": down, "same": same})
    rows.append({"test": "parts", "layout": "all", "version": 0, "save": 1.0, "restore": 1.0,
                 "stored": 5})  # fmt: skip
    for program in PROGRAMS:
        for layout in ("none", *LAYOUTS):
            seconds = 30.0 if layout == "remote" else 24.0
            rows.append({"test": "program", "layout": layout, "program": program, "done": True,
                         "seconds": seconds, "answer": "x"})  # fmt: skip
    pl.DataFrame(rows, infer_schema_length=None).write_csv(tmp_path / "network.csv")
    return read(tmp_path)


def test_what_was_measured_is_read_again_and_judged(tmp_path: Path) -> None:
    measured = measured_rows(tmp_path)
    assert measured.there
    assert measured.mean("save", test="size", layout="remote") == 9.0
    assert math.isnan(measured.mean("save", test="none"))
    found = made_up(1.2, 1.6)
    claims = evaluate(Found(found.plan, found.runs, measured))
    by_name = {one.name: one for one in claims if "namespaces" in one.where}
    assert by_name["run times"].verdict == "confirmed"  # 20 %
    assert "the same answer" in by_name["run times"].measured
    assert by_name["storage failures"].verdict == "confirmed"
    assert by_name["overhead"].verdict == "confirmed"


def test_a_run_that_never_ended_confirms_nothing(tmp_path: Path) -> None:
    def verdicts(seconds: float) -> set[str]:
        stopped = (pl.col("test") == "program") & (pl.col("layout") == "remote")
        table = measured_rows(tmp_path).rows.with_columns(
            done=pl.when(stopped).then(statement=False).otherwise("done"),
            seconds=pl.when(stopped).then(seconds).otherwise("seconds"),
        )
        found = made_up(1.2, 1.6)
        claims = evaluate(Found(found.plan, found.runs, Measured(table, "a test")))
        return {one.verdict for one in claims if one.name == "run times" and "namesp" in one.where}

    assert verdicts(30.0) == {UNTESTED}  # at least 20 %
    assert verdicts(60.0) == {"not confirmed"}  # at least 60 %: more than 44


def test_a_study_is_written_with_all_its_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = made_up(1.2, 1.6)
    made = STUDY.write(tmp_path, Found(found.plan, found.runs, measured_rows(tmp_path)))
    names = {path.name for path in made.files}
    assert {"verdict.md", "claims.json", "runs.csv", "network.csv", "makespans.png"} <= names
    assert {"programs.png", "clients.png", "overhead-measured.png", "parts.png"} <= names
    assert "11 to 44 %" in (tmp_path / "verdict.md").read_text()


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "network.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TraceError, match="no table of this study"):
        read(tmp_path)
    assert not asked("none", False, lambda done, total: None).there
    assert "not asked for" in asked(None, True, lambda done, total: None).why


# Programs and network ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_goes_on_from_its_files_to_the_same_answer(name: str, tmp_path: Path) -> None:
    straight, begun, later = (PROGRAMS[name](64, 6) for _ in range(3))
    while straight.done < 1:
        straight.step()
    for _ in range(3):
        begun.step()
    begun.save(tmp_path)
    later.load(tmp_path)
    assert later.done == 0.5
    assert later.answer() != straight.answer()
    while later.done < 1:
        later.step()
    assert later.answer() == straight.answer()


def test_a_way_keeps_frames_in_its_rate_and_drops_what_is_too_much() -> None:
    way = Way(out=0, rate=8000.0, delay=0.5, loss=0.0)
    assert way.due(1000, 10.0) == pytest.approx(11.5)  # 1 s to send, half a second on its way
    assert way.due(1000, 10.0) == pytest.approx(12.5)  # after the first
    assert way.due(1000, 99.0) == pytest.approx(100.5)
    assert Way(0, 1.0, 0.0, 1.0).due(1, 0.0) is None
    slow = Way(0, 1.0, 0.0, 0.0)
    assert slow.due(2**20, 0.0) is not None
    assert slow.due(1, 0.0) is None  # a megabyte waits already


def test_hosts_in_namespaces_reach_each_other_and_nobody_else() -> None:
    why = why_not()
    if why:
        pytest.skip(f"no network namespaces here: {why}")
    links = {"a": Link(10**8, 10**8), "b": Link(10**7, 10**7, 5.0)}
    serve = "import socket; s = socket.create_server(('', 7)); print('up', flush=True); "
    serve += "c = s.accept()[0]; n = 0\nwhile d := c.recv(65536): n += len(d)\nprint(n)"
    with network(links) as net:
        server = subprocess.Popen(
            net.inside("b", [sys.executable, "-c", serve]), stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        assert server.stdout.readline() == "up\n"
        send = f"import socket; c = socket.create_connection(('{net.address('b')}', 7)); "
        send += "c.sendall(bytes(300_000))"
        subprocess.run(net.inside("a", [sys.executable, "-c", send]), check=True, timeout=30)
        assert server.communicate(timeout=30)[0] == "300000\n"
        assert min(net.carried(host) for host in links) > 300_000
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert net.prefix not in left.stdout
