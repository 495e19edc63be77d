"""The API over a real desk: who sees what, what is refused, and what a promise looks like."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from forestall.core.model.live.intents import Action, Intent
from live.web.serving import SCRIPT, Served, serving

LISTS = ("nodes", "jobs", "promises", "calibration", "predictors")
OPERATORS = ("proposals", "costs")
OFFER = "0123456789abcdef"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as one:
        yield one


@pytest.fixture
def alice(served: Served) -> httpx.Client:
    return served.by("alice")


@pytest.fixture
def operator(served: Served) -> httpx.Client:
    return served.by("olga", "operator")


def test_health_needs_no_token(served: Served) -> None:
    served.until("a look", lambda: served.client().get("/healthz").status_code == 200)
    told = served.client().get("/healthz").json()
    assert told["status"] == "ok"
    assert told["age"] >= 0
    assert set(told) == {"status", "age", "version"}


def proposed(served: Served) -> str:
    """Propose to drain a node that is in service, and return the proposal's id."""
    controller = served.service.desk._controller
    view = controller.view
    assert view is not None
    now = view.looked
    for name, node in sorted(view.seen.nodes.items()):
        if node.reason:
            continue
        state = view.sight.standing(Action.DRAIN, name)
        made = Intent(Action.DRAIN, name, now, now + 10**7, state, "an odd <b>noise</b>")
        if controller.executor.propose([made]):  # not where its rules propose the same already
            return made.id
    raise AssertionError("no node to propose a drain of")


def test_a_proposal_is_decided_once(served: Served, operator: httpx.Client) -> None:
    served.until("a look", lambda: served.service.desk._controller.view)
    name = proposed(served)
    told = operator.post(f"/api/v1/proposals/{name}", json={"approved": False, "why": "not\ntoday"})
    assert (told.json()["state"], told.json()["why"]) == ("refused", "by olga: not today")
    assert told.json()["reason"] == "an odd <b>noise</b>"
    again = operator.post(f"/api/v1/proposals/{name}", json={"approved": True})
    assert again.status_code == 409
    known = {one["id"]: one for one in operator.get("/api/v1/proposals").json()["proposals"]}
    assert known[name]["state"] == "refused"
    missing = operator.post(f"/api/v1/proposals/{OFFER}", json={"approved": True})
    assert missing.status_code == 409
    assert operator.post(f"/api/v1/proposals/{OFFER}", json={"approved": 1}).status_code == 422


def test_the_schema_says_what_there_is(served: Served) -> None:
    told = served.client().get("/openapi.json").json()
    paths = {f"/api/v1/{name}" for name in (*LISTS, *OPERATORS, "cluster", "quotes")}
    assert paths | {"/api/v1/promises/{id}", "/api/v1/proposals/{id}", "/healthz"} <= set(
        told["paths"]
    )
    for path, methods in told["paths"].items():
        for one in methods.values():
            assert one["summary"], path
            assert one["description"], path


@pytest.mark.parametrize("name", [*LISTS, *OPERATORS, "cluster"])
def test_nothing_without_a_token(served: Served, name: str) -> None:
    for token in ("", "fst_wrong", "x" * 5000):
        told = served.client(token).get(f"/api/v1/{name}")
        assert told.status_code == 401
        assert told.headers["www-authenticate"] == "Bearer"
        assert set(told.json()) == {"detail"}


@pytest.mark.parametrize(
    "header", ["Basic cm9vdDpyb290", "Bearer", "bearer x y", "Bearer fst_\xe9"]
)
def test_nor_with_another_header(served: Served, header: str) -> None:
    told = served.client().get("/api/v1/nodes", headers={"Authorization": header.encode("latin1")})
    assert told.status_code == 401


def test_a_token_that_is_revoked_is_none_at_once(served: Served) -> None:
    brief = served.client(served.tokens.add("brief", "user"))
    assert brief.get("/api/v1/cluster").status_code == 200
    assert served.tokens.revoke("brief") == 1
    assert brief.get("/api/v1/cluster").status_code == 401


@pytest.mark.parametrize("name", LISTS)
def test_lists_stand_under_their_name(alice: httpx.Client, name: str) -> None:
    told = alice.get(f"/api/v1/{name}")
    assert told.status_code == 200
    assert list(told.json()) == [name]
    assert isinstance(told.json()[name], list)


@pytest.mark.parametrize("name", OPERATORS)
def test_only_operators_see_proposals_and_costs(
    alice: httpx.Client, operator: httpx.Client, name: str
) -> None:
    assert alice.get(f"/api/v1/{name}").status_code == 403
    assert list(operator.get(f"/api/v1/{name}").json()) == [name]


def test_an_owners_job_asks_for_what_the_nodes_have(served: Served, alice: httpx.Client) -> None:
    offer = served.offers(alice)[0]["id"]
    for asks, status, said in (
        ({"gres": "gpu:99"}, 409, "has 99 GPUs; the most is 0"),
        ({"gpus": "all"}, 409, "--gpus=all"), ({"gres": 1}, 422, "asks"), ([], 422, "asks"),
    ):  # fmt: skip
        told = alice.post("/api/v1/promises", json={"offer": offer, "job": {"asks": asks}})
        assert (told.status_code, said in told.json()["detail"]) == (status, True), told.text
    told = alice.post("/api/v1/promises", json={"offer": offer, "job": {"asks": {"gres": "none"}}})
    assert told.status_code == 201, told.text


def test_from_question_to_promise_kept(served: Served, alice: httpx.Client) -> None:
    offers = served.offers(alice)
    assert 1 <= len(offers) <= 7
    for one in offers:
        assert {"id", "start", "deadline", "probability", "record", "reasons"} <= set(one)
        assert one["start"] < one["deadline"]
    taken = {"offer": offers[0]["id"], "job": {"script": SCRIPT, "name": "mine"}}
    told = alice.post("/api/v1/promises", json=taken)
    assert told.status_code == 201, told.text
    made = told.json()
    assert (made["owner"], made["deadline"], made["outcome"]) == (
        "alice", offers[0]["deadline"], "open",
    )  # fmt: skip
    again = alice.post("/api/v1/promises", json=taken)
    assert again.json()["job"] == made["job"]
    where = f"/api/v1/promises/{made['id'][:9]}"
    served.until("it is over", lambda: alice.get(where).json()["outcome"] != "open")
    assert alice.get(where).json()["outcome"] in ("kept", "missed")
    assert made["id"] in [one["id"] for one in alice.get("/api/v1/promises").json()["promises"]]
    open_ones = alice.get("/api/v1/promises", params={"ended": "false"}).json()["promises"]
    assert made["id"] not in [one["id"] for one in open_ones]


def test_a_deadline_gets_its_probability(served: Served, alice: httpx.Client) -> None:
    now = alice.get("/api/v1/cluster").json()["now"]
    asked = {"nodes": 1, "time": 600, "by": now + 200_000, "probability": 0.2}
    told = alice.post("/api/v1/quotes", json=asked).json()
    assert told["by"]["deadline"] <= asked["by"]
    assert all(one["probability"] >= 0.2 for one in told["offers"])


def test_others_see_neither_promise_nor_offer_nor_job(served: Served, alice: httpx.Client) -> None:
    bob = served.by("bob")
    served.promise(alice, 1, 20_000)
    made = served.promise(alice, 1, 20_000)
    offer = served.offers(alice)[0]["id"]
    assert bob.get(f"/api/v1/promises/{made['id']}").status_code == 404
    assert made["id"] not in bob.get("/api/v1/promises").text
    taken = bob.post("/api/v1/promises", json={"offer": offer, "job": {"script": SCRIPT}})
    assert taken.status_code == 409

    def both() -> bool:
        mine = [one["id"] for one in alice.get("/api/v1/jobs").json()["jobs"] if one["user"]]
        return made["job"] in mine

    served.until("the job is seen", both)
    jobs = {one["id"]: one for one in bob.get("/api/v1/jobs").json()["jobs"]}
    assert jobs
    for one in jobs.values():
        told = (one["user"], one["name"], one["promise"], one["why"], one["partition"])
        assert told == ("", "", "", "", "")
    for node in bob.get("/api/v1/nodes").json()["nodes"]:
        assert node["jobs"] == []
        assert node["reason"] == ""
    assert bob.get("/api/v1/cluster").json()["promises_open"] == 0


def test_names_with_markup_and_control_characters_are_text(
    served: Served, operator: httpx.Client
) -> None:
    name = "<script>alert(1)</script>\n\x1b[2Jrm -rf /"
    mallory = served.by("mallory")
    offer = served.offers(mallory)[0]["id"]
    job = {"script": SCRIPT, "name": name, "words": "`reboot`"}
    told = mallory.post("/api/v1/promises", json={"offer": offer, "job": job})
    assert told.status_code in (201, 409, 422), told.text
    answer = operator.get("/api/v1/jobs")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert b"\x1b" not in answer.content
    assert json.loads(answer.content)["jobs"]


WRONG = [
    {},
    {"nodes": 0, "time": 1},
    {"nodes": 1, "time": 0},
    {"nodes": -1, "time": 600},
    {"nodes": 1.5, "time": 600},
    {"nodes": "1", "time": 600},
    {"nodes": True, "time": 600},
    {"nodes": 10**30, "time": 600},
    {"nodes": 1, "time": 2**63},
    {"nodes": 1, "time": 600, "by": 1},
    {"nodes": 1, "time": 600, "by": -1},
    {"nodes": 1, "time": 600, "probability": 1.0},
    {"nodes": 1, "time": 600, "probability": 0},
    {"nodes": 1, "time": 600, "partition": "a b"},
    {"nodes": 1, "time": 600, "partition": "a\n"},
    {"nodes": 1, "time": 600, "name": "x" * 201},
    {"nodes": 1, "time": 600, "features": "a,b"},
    {"nodes": 1, "time": 600, "features": "[a*2&b*2]"},
    {"nodes": 1, "time": 600, "whatever": 1},
    [],
    None,
    "text",
]


@pytest.mark.parametrize("question", WRONG, ids=str)
def test_a_question_that_cannot_be(alice: httpx.Client, question: object) -> None:
    told = alice.post("/api/v1/quotes", json=question)
    assert told.status_code == 422
    assert "\n" not in told.json()["detail"]


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", b"\xff\xfe", b'{"nodes": NaN, "time": 1}', b'{"nodes": 1, "time": Infinity}',
        b"[" * 100_000, b'{"nodes": 1' + b"0" * 5000 + b', "time": 1}',
        b'{"nodes": 1, "time": 600, "name": "\\ud800"}',
        b'{"nodes": 1, "time": 600, "name": "\\u0000"}',
    ],
    ids=range(9),
)  # fmt: skip
def test_a_body_that_is_no_question(alice: httpx.Client, raw: bytes) -> None:
    told = alice.post("/api/v1/quotes", content=raw, headers={"Content-Type": "application/json"})
    assert told.status_code in (200, 400, 422)
    assert told.status_code != 200 or b"\\u0000" in raw


@pytest.mark.parametrize(
    "job",
    [
        {"script": "no shebang"}, {"script": "#!/bin/sh\0"}, {"script": SCRIPT, "output": "a\0b"},
        {"script": SCRIPT, "consents": ["everything"]}, {"script": SCRIPT, "consents": "requeue"},
        {"script": SCRIPT, "words": "w" * 501}, {"script": SCRIPT, "uid": "root"}, {"script": ""},
        {"script": SCRIPT, "name": "\ud800"},
    ],
    ids=range(9),
)  # fmt: skip
def test_a_job_that_cannot_be(served: Served, alice: httpx.Client, job: object) -> None:
    offer = served.offers(alice)[0]["id"]
    raw = json.dumps({"offer": offer, "job": job})
    headers = {"Content-Type": "application/json"}
    told = alice.post("/api/v1/promises", content=raw, headers=headers)
    assert told.status_code in (400, 409, 422), told.text
    assert alice.get(f"/api/v1/promises/{offer}").status_code == 404


def test_an_offer_that_is_not_there(alice: httpx.Client) -> None:
    told = alice.post("/api/v1/promises", json={"offer": OFFER, "job": {"script": SCRIPT}})
    assert told.status_code == 409
    assert told.json() == {"detail": f"there is no offer {OFFER}"}
    assert alice.get(f"/api/v1/promises/{OFFER}").status_code == 404
    assert alice.get("/api/v1/promises/%2e%2e%2fetc").status_code in (404, 422)
    assert alice.get("/api/v1/promises/%").status_code == 422


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_is_refused(alice: httpx.Client, chunked: bool) -> None:
    body = b'{"script": "' + b"x" * 2**21
    content: object = (body[k : k + 65536] for k in range(0, len(body), 65536))
    try:
        told = alice.post("/api/v1/promises", content=content if chunked else body)  # type: ignore[arg-type]
    except httpx.TransportError:  # the server ended the connection while we still sent
        return
    assert told.status_code == 413


def test_browsers_are_kept_from_harm(alice: httpx.Client) -> None:
    told = alice.get("/api/v1/cluster", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in told.headers
    assert told.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in told.headers["content-security-policy"]
    assert told.headers["x-frame-options"] == "DENY"
    assert "server" not in told.headers
    asked = alice.options("/api/v1/cluster", headers={"Origin": "https://evil.example"})
    assert asked.status_code == 405


def test_on_the_socket_the_kernel_says_who_asks(served: Served) -> None:
    told = served.local().get("/api/v1/proposals")  # the tests' user, who is root or nobody there
    assert told.status_code in (200, 403)
    wrong = served.local().get("/api/v1/cluster", headers={"Authorization": "Bearer fst_wrong"})
    assert wrong.status_code == 401


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Remote-User"])
def test_nobody_can_send_who_they_are(served: Served, header: str) -> None:
    told = served.client().get("/api/v1/cluster", headers={header: "unix user 0"})
    assert told.status_code == 401


def test_another_user_of_this_machine(served: Served, tmp_path: Path) -> None:
    curl = shutil.which("curl")
    if curl is None or Path("/proc/self").owner() != "root":
        pytest.skip("needs curl, and root to become somebody else")
    for folder in (served.path.parent, *served.path.parent.parents):
        if folder == Path("/"):
            break
        if folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o011)
    where = ["--unix-socket", str(served.path), "-s", "-o", "/dev/null", "-w", "%{http_code}"]
    codes = [
        subprocess.run(
            [curl, *where, f"http://x/api/v1/{name}"], user="nobody", capture_output=True,
            text=True, check=True, timeout=60,
        ).stdout
        for name in ("cluster", "proposals")
    ]  # fmt: skip
    assert codes == ["200", "403"]
