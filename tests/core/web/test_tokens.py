"""Tokens: only hashes are kept, nobody else reads them, and a change is known at once."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.live.desk import Viewer
from forestall.core.web.access import PEER, Access, RateLimit
from forestall.core.web.tokens import TokenStore


def test_a_token_is_known_and_not_kept(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "some" / "tokens")
    token = store.add("alice", "user")
    assert len(token) >= 43 + 4
    assert TokenStore(store.path).viewer(token) == Viewer("alice", "user")
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert token not in store.path.read_text()
    assert token.removeprefix("fst_") not in store.path.read_text()
    assert [one.name for one in store.all()] == ["alice"]


def test_each_is_another(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "tokens")
    one, other = store.add("a", "user"), store.add("a", "operator")
    assert one != other
    assert store.viewer(one) == Viewer("a", "user")
    assert store.viewer(other) == Viewer("a", "operator")
    assert store.revoke(store.all()[0].hash[:12]) == 1
    assert store.viewer(one) is None
    assert store.viewer(other) is not None


@pytest.mark.parametrize(
    "token", ["", "fst_", "fst_x", "x", "fst_" + "x" * 1000, "fst_é", "fst_\0"]
)
def test_what_is_no_token(tmp_path: Path, token: str) -> None:
    store = TokenStore(tmp_path / "tokens")
    assert store.viewer(token) is None
    store.add("alice", "user")
    assert store.viewer(token) is None


def test_a_change_by_another_process_is_known(tmp_path: Path) -> None:
    store, other = TokenStore(tmp_path / "tokens"), TokenStore(tmp_path / "tokens")
    token = other.add("bob", "user")
    assert store.viewer(token) is not None
    other.revoke("bob")
    assert store.viewer(token) is None
    with pytest.raises(InputError, match="no token of bob"):
        other.revoke("bob")


def test_many_add_at_once_and_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda k=k: made.append(TokenStore(path).add(f"u{k}", "user")))  # type: ignore[misc]
        for k in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    store = TokenStore(path)
    assert len(store.all()) == 8
    assert all(store.viewer(token) is not None for token in made)
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("tokens.")] == [
        "tokens.lock"
    ]


@pytest.mark.parametrize("name", ["", "a b", "-x", "a\n", "ä", "x" * 65])
def test_names_are_those_of_users(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="name"):
        TokenStore(tmp_path / "tokens").add(name, "user")
    with pytest.raises(ParameterError, match="role"):
        TokenStore(tmp_path / "tokens").add("a", "root")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 2, "tokens": []}', '{"version": 1, "tokens": [{"name": "a"}]}',
     '{"version": 1, "tokens": [{"name": "a", "role": "root", "hash": "b", "made": 1}]}',
     '{"version": 1, "tokens": [{"name": "../a", "role": "user", "hash": "b", "made": 1}]}'],
)  # fmt: skip
def test_a_file_that_is_none_of_tokens(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(TraceError, match="not a file of tokens"):
        TokenStore(path).viewer("fst_x")


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "tokens")
    token = store.add("alice", "user")
    store.path.chmod(0o640)
    raw = json.loads(store.path.read_text())
    store.path.write_text(json.dumps(raw))
    with pytest.raises(TraceError, match="chmod 600"):
        TokenStore(store.path).viewer(token)


def test_who_asks(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "tokens")
    token = store.add("alice", "user")
    access = Access(store, ("root",))
    assert access.viewer_of(f"Bearer {token}", "127.0.0.1") == Viewer("alice", "user")
    assert access.viewer_of(f"bearer  {token} ", "") == Viewer("alice", "user")
    assert access.viewer_of("", f"{PEER}0") == Viewer("root", "operator")
    assert access.viewer_of(f"Bearer {token}", f"{PEER}0") == Viewer("alice", "user")
    for header, client in [("", "127.0.0.1"), ("", f"{PEER}4294967294"), ("", f"{PEER}x"),
                           ("Bearer", f"{PEER}0"), (f"Token {token}", ""), ("", "")]:  # fmt: skip
        assert access.viewer_of(header, client) is None
    assert Access(store, ()).viewer_of("", f"{PEER}0") == Viewer("root", "user")


def test_so_many_requests_and_no_more() -> None:
    now = [0.0]
    limit = RateLimit(2.0, 4.0, lambda: now[0])
    assert [limit.wait("a") for _ in range(5)] == [0, 0, 0, 0, 1]
    assert limit.wait("b") == 0
    now[0] = 1.0
    assert [limit.wait("a") for _ in range(3)] == [0, 0, 1]
    now[0] = 100.0
    assert [limit.wait("a") for _ in range(5)] == [0, 0, 0, 0, 1]


def test_it_does_not_remember_everybody() -> None:
    limit = RateLimit(1.0, 1.0, lambda: 0.0)
    for k in range(20_001):
        limit.wait(str(k))
    assert len(limit._left) <= 10_000
