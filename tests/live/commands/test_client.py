"""The terminal's client against a served controller: quotes, promises, proposals."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.commands.calls import call
from forestall.core.model.errors import InputError
from forestall.core.model.live.desk import Viewer
from forestall.live.client.kept import KeptQuotes
from forestall.live.client.moments import told_when
from forestall.live.client.script import order_of as order_at_terminal
from forestall.live.client.script import read_script
from forestall.live.ledger.rows import PromiseRow
from forestall.live.slurm.scripts import check_script
from forestall.live.web.page.questions import order_of
from live.commands.client_cases import JOB, Terminal
from live.web.serving import Served, serving

WIDTH = 100


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), speed=60.0) as one:
        one.until("a look", lambda: one.client().get("/healthz").status_code == 200)
        yield one


@pytest.fixture(scope="module")
def tokens(served: Served) -> dict[str, str]:
    add = served.tokens.add
    return {
        "alice": add("alice", "user"),
        "bob": add("bob", "user"),
        "olga": add("olga", "operator"),
    }


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("FORESTALL_SERVER", "FORESTALL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(JOB)


@pytest.fixture
def alice(served: Served, tokens: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(served, capsys, tokens["alice"], "user")


@pytest.fixture
def bob(served: Served, tokens: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(served, capsys, tokens["bob"], "user")


@pytest.fixture
def olga(served: Served, tokens: dict[str, str], capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(served, capsys, tokens["olga"], "operator")


def submitted(who: Terminal) -> str:
    """Ask, take the first offer, and return the id of the promise."""
    assert who("quote", "-N", 2, "-t", "10m").code == 0
    done = who("submit", "--quote", 1, "job.sh", "--json")
    assert done.code == 0, done.err
    return str(json.loads(done.out)["id"])


def test_a_quote_is_a_list_of_offers(alice: Terminal) -> None:
    done = alice("quote", "-N", 2, "-t", "10m")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert re.match(r"\s+Start\s+Done by\s+Probability\s+Record\s+Why", lines[0])
    assert re.match(r"\s*1  \w{3} \d\d \w{3} \d\d:\d\d", lines[1])
    assert lines[-1].startswith("Offers hold until ")
    assert all(len(line) <= WIDTH for line in lines)


def test_json_is_the_answer_of_the_api(alice: Terminal, served: Served) -> None:
    told = alice.told("quote", "-N", 2, "-t", "10m", "--by", "+2d")
    assert {"now", "offers", "by", "said"} == set(told)
    offer = told["offers"][0]
    assert {"id", "start", "deadline", "probability", "record", "reasons"} <= set(offer)
    assert told["by"]["deadline"] <= told["now"] + 2 * 86_400
    same = served.by("alice").get("/api/v1/promises").text
    assert alice("promises", "--json").out == same + "\n"


def test_a_named_deadline_gets_its_probability_first(alice: Terminal) -> None:
    done = alice("quote", "-N", 2, "-t", "10m", "--by", "+1d")
    assert done.code == 0
    assert re.match(r"2 nodes for 10 min, by \w{3} .*: [\d.]+ % \(row \d\)\.", done.out)
    row = re.search(r"\(row (\d)\)", done.out)
    assert row
    assert f"{row[1]}*  " in done.out
    never = alice("quote", "-N", 2, "-t", "1d", "--by", "+1h")
    assert "not by" in never.out


def test_a_job_too_large_has_no_offer(alice: Terminal) -> None:
    done = alice("quote", "-N", 5000, "-t", "10m")
    assert done.code in {1, 2}
    assert (done.out + done.err).strip()


def test_a_dialogue_goes_on_until_enter(alice: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("+20h\nnonsense\n1h ago\n99 %\n200 %\n\n"))
    done = alice("quote", "-N", 2, "-t", "10m", "--ask")
    assert done.code == 0
    assert done.out.count("Offers hold until") == 3
    assert done.out.count("(row ") == 2  # the least probability keeps the deadline
    assert done.err.count("expected") == 3
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert alice("quote", "-N", 2, "-t", "10m", "--ask").code == 0


def test_a_row_becomes_a_promise_once(alice: Terminal) -> None:
    alice("quote", "-N", 2, "-t", "10m")
    first = alice("submit", "--quote", 1, "job.sh")
    assert first.code == 0, first.err
    found = re.match(r"Promised: job (\d+) is done by .* with [\d.]+ %", first.out)
    assert found
    again = alice("submit", "--quote", 1, "job.sh")
    assert again.code == 0
    assert again.out == first.out
    name = first.out.split()[-1]
    [mine] = [one for one in alice.told("promises")["promises"] if one["id"] == name]
    assert mine["nodes"] == 2
    assert mine["length"] == 600


def test_an_id_without_a_list_is_taken_and_said(alice: Terminal, tmp_path: Path) -> None:
    offer = alice.told("quote", "-N", 2, "-t", "10m")["offers"][0]["id"]
    (tmp_path / "XDG_CACHE_HOME" / "forestall" / "quotes.json").unlink()
    done = alice("submit", "--quote", offer, "job.sh")
    assert done.code == 0, done.err
    assert "not in your last lists" in done.out


def test_a_promise_is_told_by_its_job_and_by_its_id(alice: Terminal) -> None:
    name = submitted(alice)
    told = alice.told("promise", name)
    assert told["id"] == name
    by_id = alice("promise", name[:8])
    assert by_id.code == 0, by_id.err
    assert by_id.out.startswith(("Open: ", "Kept: ", "Missed", "Void"))
    assert f"Promise {name} to alice." in by_id.out
    if told["job"] is not None:
        assert alice.told("promise", told["job"])["id"] == name
    assert alice("promise", "beef").code == 2
    assert alice("promise", "../nodes").code == 2


def test_others_promises_are_not_seen(alice: Terminal, bob: Terminal, olga: Terminal) -> None:
    name = submitted(alice)
    assert name not in bob("promises").out
    assert bob("promise", name).code == 2
    assert name in olga("promises").out
    assert "alice" in olga("promises").out


def test_lists_stay_within_a_hundred_columns(alice: Terminal, olga: Terminal) -> None:
    submitted(alice)
    for words in (("promises",), ("promises", "--open"), ("proposals", "--all")):
        done = olga(*words)
        assert done.code == 0, done.err
        assert all(len(line) <= WIDTH for line in done.out.splitlines()), words


def test_an_offer_that_holds_no_more_shows_a_new_list(alice: Terminal) -> None:
    old = "00000000000000ab"
    question = {"nodes": 2, "time": 600, "probability": 0.9, "partition": "", "by": 1000}
    KeptQuotes().keep(alice.served.address, question, [{"id": old}])
    done = alice("submit", "--quote", 1, "job.sh")
    assert done.code == 1
    assert "nothing was submitted" in done.err
    assert "Offers hold until" in done.out
    assert old not in {one["id"] for one in alice.told("promises")["promises"]}
    again = alice("submit", "--quote", 1, "job.sh")  # of the new list
    assert again.code == 0, again.err
    KeptQuotes().keep(alice.served.address, question, [{"id": old}])
    assert alice("submit", "--quote", old, "job.sh", "--json").code == 1


def test_a_script_for_another_job_is_refused_before_anything_is_asked(
    alice: Terminal, tmp_path: Path
) -> None:
    alice("quote", "-N", 2, "-t", "10m")
    before = len(alice.told("promises")["promises"])
    (tmp_path / "job.sh").write_text(JOB.replace("--nodes=2", "--nodes=3"))
    done = alice("submit", "--quote", 1, "job.sh")
    assert done.code == 2
    assert done.err == "forestall: job.sh: #SBATCH --nodes=3 but the offer is for 2\n"
    assert alice("submit", "--quote", 1, "job.sh", "-N", 2, "--array", "1-3").code == 2
    assert alice("submit", "job.sh").code == 2
    assert alice("submit", "--quote", 9, "job.sh").code == 2
    assert alice("submit", "--quote", 1, "none.sh").code == 2
    assert alice("submit", "--quote", 1, "job.sh", "--agree", "all").code == 2
    assert len(alice.told("promises")["promises"]) == before


@pytest.mark.parametrize(
    "line",
    ["--array=1-3", "--arr=1-3", "-a1-3", "-H", "-d afterok:1", "--begin=now+1hour", "-s",
     "--share", "--nodes=2-4", "--test-only", "--parsable", "-W", "hetjob", "--nice --hold",
     "--licenses=a", "--time-min=1"],
)  # fmt: skip
def test_all_doors_say_the_same(alice: Terminal, tmp_path: Path, line: str) -> None:
    """Command line, API and page, of an option in a script: nothing is promised."""
    quoted = alice.told("quote", "-N", 2, "-t", "10m")["offers"][-1]["id"]
    text = JOB.replace("sleep", f"#SBATCH {line}\nsleep")
    (tmp_path / "job.sh").write_text(text)
    said = alice("submit", "--quote", quoted, "job.sh", "--below").err.strip()
    job = {"script": text, "below": True}
    by_name = alice.served.by("alice")
    by_api = by_name.post("/api/v1/promises", json={"offer": quoted, "job": job})
    order = order_of({"script": text, "consents": [], "below": True})
    with pytest.raises(InputError) as by_page:
        alice.served.service.desk.accept(Viewer("alice", "user"), quoted, order)
    assert by_api.status_code == 409
    assert by_api.json()["detail"] == str(by_page.value)
    assert said.removeprefix("forestall: ").removeprefix("job.sh: ") == str(by_page.value)


@pytest.mark.parametrize(
    "line", ["--requeue", "--gres=none", "--exclusive", "--wait-all-nodes=1", "--nodes=2-2"]
)
def test_all_doors_understand_the_same(alice: Terminal, tmp_path: Path, line: str) -> None:
    asked = {"nodes": 2, "time": 600, "partition": ""}
    text = JOB.replace("sleep", f"#SBATCH {line}\nsleep") + "#SBATCH --array=1-3\n"
    (tmp_path / "job.sh").write_text(text)
    assert check_script(text, asked)
    read = read_script(tmp_path / "job.sh")
    assert order_at_terminal(read, (), tmp_path, consents=(), quoted=asked)


def test_a_script_that_is_not_to_be_requeued_is_not(alice: Terminal) -> None:
    who = alice.served.by("alice")
    offer = alice.served.offers(who)[-1]["id"]
    job = {"script": JOB.replace("sleep", "#SBATCH --no-requeue\nsleep"), "below": True}
    assert who.post("/api/v1/promises", json={"offer": offer, "job": job}).status_code == 201
    row = alice.served.service.ledger.one(PromiseRow, offer)
    assert row is not None
    assert row.consents == ["exclude", "signal", "start"]


def test_proposals_are_for_operators(alice: Terminal, olga: Terminal) -> None:
    done = alice("proposals")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert olga("proposals").code == 0
    assert "proposals" in olga.told("proposals")
    for word in ("approve", "reject"):
        assert olga("proposals", word, "0000").code == 2
        assert olga("proposals", word, "../x").code == 2


def test_the_socket_knows_who_asks_without_a_token(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, "proposals", "--socket", served.path)  # root is an operator there
    assert done.code == 0, done.err


def test_server_and_token_from_the_environment_and_a_file(
    served: Served, tokens: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("FORESTALL_SERVER", served.address + "/")
    assert call(capsys, "promises").code == 2  # nobody
    monkeypatch.setenv("FORESTALL_TOKEN", tokens["alice"])
    assert call(capsys, "promises").code == 0
    monkeypatch.delenv("FORESTALL_TOKEN")
    usual = tmp_path / "XDG_CONFIG_HOME" / "forestall" / "token"
    usual.parent.mkdir(parents=True)
    usual.write_text(tokens["alice"] + "\n")
    done = call(capsys, "promises")
    assert done.code == 2
    assert "others may read this token" in done.err
    usual.chmod(0o600)
    assert call(capsys, "promises").code == 0
    assert call(capsys, "promises", "--token-file", usual).code == 0
    assert call(capsys, "promises", "--token-file", tmp_path / "none").code == 2
    wrong = call(capsys, "promises", "--token", "fst_wrong")
    assert wrong.code == 2
    assert "a valid token is needed" in wrong.err
    assert "fst_wrong" not in wrong.err


def test_the_doctor_sees_the_controller(
    served: Served, alice: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    done = alice("doctor")
    assert f"answers at {served.address}" in " ".join(done.out.split())
    assert "Last read" in done.out
    told = json.loads(alice("doctor", "--json").out)
    states = {one["subject"]: one["state"] for one in told["checks"]}
    assert states["Controller"] == "ok"
    assert states["Last read"] == "ok"


def test_moments_are_shown_in_the_zone_of_the_machine(alice: Terminal) -> None:
    told = alice.told("quote", "-N", 2, "-t", "10m")
    shown = told_when(told["offers"][0]["deadline"], told["now"])
    assert shown == time.strftime("%a %d %b %H:%M", time.localtime(told["offers"][0]["deadline"]))
