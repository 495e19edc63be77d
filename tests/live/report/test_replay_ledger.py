"""`forestall replay LEDGER`: text, JSON and page, exit codes, and questions that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.commands.calls import call
from forestall.live.ledger.store import LiveLedger
from forestall.live.report.promises import judged
from forestall.live.rules.settings import RuleSettings
from forestall.slurm.simulation.settings import WorldSettings
from live.replays.ledgers import spoilt, written
from live.rules.world import Oracle, Ruled
from postgresql_server.server import PostgresqlServer

LIMITS = """
[guard]
floor_percent = 10
[keeper]
switch = "on"
nodes = 2
[warden]
switch = "approve"
socket = "/run/warden.sock"
[serve]
port = 1
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ledger") / "ledger.db"
    written(place, seed=8, steps=120)
    return place


def test_by_path_and_by_url(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = call(capsys, "replay", path)
    assert one.code == 0
    assert "every byte the same." in one.out
    assert "Kept share" in one.out
    assert call(capsys, "replay", f"sqlite:///{path}").out == one.out
    assert call(capsys, "replay", path, "--quiet").out == ""


def test_as_json(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(call(capsys, "replay", path, "--json").out)
    assert told["same"]
    assert told["first_difference"] is None
    assert told["what_if"] == {}
    made = told["promises"]
    assert made["made"] == sum(made[name] for name in ("kept", "missed", "void", "open"))
    assert sum(one["promises"] for one in made["deciles"]) == made["kept"] + made["missed"]


def test_a_difference_is_told(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = "(SELECT number FROM cycles WHERE length(decisions) > 20 LIMIT 1)"
    change = f"UPDATE cycles SET decisions = '[]' WHERE number = {first}"
    done = call(capsys, "replay", spoilt(path, tmp_path / "other.db", change))
    assert done.code == 1
    assert "Decisions differ in 1 of" in done.out
    assert "of run 1 at 2027-01-15" in done.out
    assert "(nothing)" in done.out


def test_damage_is_told_in_a_line(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = spoilt(path, tmp_path / "bad.db", "UPDATE cycles SET events = '7' WHERE number = 9")
    text = tmp_path / "text.db"
    text.write_text("no ledger\n" * 50)
    for place in (bad, text, f"sqlite:///{tmp_path}/nowhere.db", "mysql://host/base"):
        done = call(capsys, "replay", place)
        assert done.code == 2
        assert done.out == ""
        assert done.err.count("\n") == 1


def test_what_if(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = tmp_path / "serve.toml"
    limits.write_text(LIMITS)
    asked = ("--wanted", "0.9", "--predictor", "hindsight", "--guard", limits)
    done = call(capsys, "replay", path, *asked)
    assert done.code == 0
    assert "With another rule or predictor" in done.out
    assert "With other limits" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    told = json.loads(call(capsys, "replay", path, *asked, "--json").out)["what_if"]
    assert told["engine"]["promises_asked_again"] > 0
    assert told["guard"]["warden"]["other"].get("passed", 0) == 0
    out = tmp_path / "out"
    assert call(capsys, "replay", path, *asked, "--out", out).code == 0
    page = (out / "report.html").read_text()
    assert "is unknown" in page
    assert "A ledger does not hold the cluster" in page
    assert json.loads((out / "summary.json").read_text())["what_if"] == told
    assert (out / "said.csv").is_file()
    assert call(capsys, "replay", path, *asked, "--out", out).code == 0, "its own folder again"


def test_other_rules_on_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = WorldSettings(nodes=16, load=0.7, run=3600.0, widest=4, failure=6 * 3600.0)
    path, rules = tmp_path / "ledger.db", tmp_path / "serve.toml"
    with LiveLedger(f"sqlite:///{path}") as ledger:
        Ruled(2, world, RuleSettings(), Oracle, ledger=ledger).play(20_000)
    rules.write_text("[rules]\nworth = 0.5\n")
    asked = ("--rules", rules, "--predictor", "hindsight")
    done = call(capsys, "replay", path, *asked)
    assert done.code == 0
    assert "With other rules on nodes" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    told = json.loads(call(capsys, "replay", path, *asked, "--json").out)["what_if"]["rules"]
    assert told["drains"] == told["failures_in_time"] > 0  # hindsight is never wrong
    assert told["of_nodes_in_service"]["drains"] <= told["drains"]
    assert told["proposed"]["risk"] > 0
    assert call(capsys, "replay", path, *asked, "--out", tmp_path / "out").code == 0
    assert len((tmp_path / "out" / "drains.csv").read_text().splitlines()) == told["drains"] + 1
    rules.write_text("[rules]\nleast = 2\n")
    done = call(capsys, "replay", path, "--rules", rules)
    assert (done.code, "least" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--predictor", "nobody"), "none, hindsight, or a file"),
        (("--wanted", "1.5"), "wanted"),
        (("--guard", "/nowhere.toml"), "nowhere.toml"),
        (("--rules", "/nowhere.toml"), "nowhere.toml"),
        (("--policy", "a:B"), "nothing: a ledger's engine has its own"),
    ],
)
def test_questions_that_cannot_be(
    path: Path, asked: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, "replay", path, *asked)
    assert done.code == 2
    assert said in done.err


def test_an_empty_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "ledger.db", steps=0)
    done = call(capsys, "replay", tmp_path / "ledger.db", "--predictor", "none")
    assert done.code == 0
    assert "no cycles yet" in done.out


def test_in_postgresql(capsys: pytest.CaptureFixture[str]) -> None:
    from forestall.live.ledger.store import LiveLedger
    from live.slurm.scenarios import play

    with PostgresqlServer.started_or_skipped() as server:
        url = server.new_database()
        with LiveLedger(url) as ledger:
            play(3, steps=10, ledger=ledger)
            assert call(capsys, "replay", url).code == 0, "while another process may write to it"


def test_probabilities_are_judged() -> None:
    """By hand: Brier ((0.1)^2 + (0.9)^2 + (0.5)^2) / 3."""
    found = judged([(0.9, True), (0.9, False), (0.5, True)])
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.25) / 3)
    assert found.said == pytest.approx(2.3 / 3)
    assert [(one["promises"], one["kept"]) for one in found.rows] == [(1, 1), (2, 1)]
    assert judged([]).as_dict()["brier"] is None
    assert judged([(1.0, True)]).rows[0]["to"] == 1.0
