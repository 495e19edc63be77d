"""Sessions: a cookie that only its own page sends, and that ends everywhere at once."""

from __future__ import annotations

import pytest
from fastapi import Request, Response

from forestall.core.model.live.desk import Viewer
from forestall.live.web.page.sessions import COOKIE, MOST_ENDED, Sessions, is_foreign

ALICE = Viewer("alice", "user")


def request(scheme: str = "http", **headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), one.encode()) for name, one in headers.items()]
    server = ("localhost", 80)
    return Request(
        {"type": "http", "scheme": scheme, "headers": pairs, "server": server, "path": "/"}
    )


def begun(sessions: Sessions, asked: Request) -> str:
    answer = Response()
    assert sessions.begin(asked, answer, "secret")
    return answer.headers["set-cookie"]


def test_a_cookie_is_for_its_page_only() -> None:
    sessions = Sessions({"secret": ALICE}.get)
    told = begun(sessions, request())
    assert "HttpOnly" in told
    assert "SameSite=strict" in told
    assert "Secure" not in told
    assert "Secure" in begun(sessions, request("https"))
    assert "Secure" in begun(sessions, request(x_forwarded_proto="https"))


def test_only_tokens_of_somebody_begin_a_session() -> None:
    sessions, answer = Sessions({"secret": ALICE}.get), Response()
    assert not sessions.begin(request(), answer, "guess")
    assert not sessions.begin(request(), answer, "")
    assert "set-cookie" not in answer.headers
    for cookie in (None, "", "x", "x.", "x.guess", ".", "secret"):
        assert sessions.viewer(cookie) is None


def test_a_session_ends_but_not_another_of_the_same_token() -> None:
    sessions = Sessions({"secret": ALICE}.get)
    first, other = (begun(sessions, request()).split(";")[0] for _ in range(2))
    assert first != other
    assert sessions.viewer(first.partition("=")[2]) == ALICE
    sessions.end(request(cookie=first), Response())
    assert sessions.viewer(first.partition("=")[2]) is None
    assert sessions.viewer(other.partition("=")[2]) == ALICE


def test_ended_sessions_do_not_pile_up() -> None:
    sessions = Sessions({"secret": ALICE}.get)
    for k in range(MOST_ENDED + 5):
        sessions.end(request(cookie=f"{COOKIE}={k}.secret"), Response())
    assert len(sessions._ended) == MOST_ENDED
    assert sessions.viewer(f"{MOST_ENDED + 4}.secret") is None


@pytest.mark.parametrize(
    ("site", "foreign"), [("same-origin", False), ("none", False), ("cross-site", True),
                          ("same-site", True)],
)  # fmt: skip
def test_pages_of_other_sites_are_known(site: str, foreign: bool) -> None:
    assert is_foreign(request(sec_fetch_site=site)) == foreign
    assert not is_foreign(request())
