"""What the client says where no controller answers, or something else does; and wrong input."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from core.commands.calls import call
from live.commands.client_cases import JOB, answering

QUOTE = ("quote", "-N", "2", "-t", "10m")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("FORESTALL_SERVER", "FORESTALL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(JOB)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize(
    "words",
    [QUOTE, ("submit", "--quote", "abcd", "job.sh"), ("promises",), ("promise", "17"),
     ("proposals",), ("proposals", "approve", "ab")],
)  # fmt: skip
def test_no_controller_is_exit_3_and_one_line(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    done = call(capsys, *words, "--server", f"http://127.0.0.1:{free_port()}")
    assert done.code == 3
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert "cannot be reached" in done.err
    done = call(capsys, *words, "--socket", tmp_path / "none.sock")
    assert done.code == 3
    assert "does not exist; name the controller with --server URL" in done.err


@pytest.mark.parametrize(
    ("status", "body", "code", "said"),
    [
        (200, b"<html>", 3, "not a forestall controller"),
        (200, b"[1]", 3, "not a forestall controller"),
        (200, b'{"other": 1}', 3, "that this version cannot read"),
        (200, b'{"promises": [{"id": 1}]}', 3, "that this version cannot read"),
        (302, b"", 3, "not a forestall controller"),
        (500, b"oh", 3, "HTTP status 500"),
        (503, b'{"detail": "not yet"}', 3, "failed: not yet"),
        (403, b'{"detail": "not you"}', 2, "not you"),
        (409, b'{"detail": "a\\u001b[31mb\\nc {force}"}', 2, r"a\x1b[31mb\nc {force}"),
        (422, b'{"detail": [{"msg": "too small"}]}', 2, "too small"),
        (404, b"", 2, "HTTP status 404"),
        (401, b"{}", 2, "a valid token is needed"),
    ],
)
def test_answers_of_all_kinds(
    status: int, body: bytes, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = (200, b'{"now": 1}')
    with answering({"/api/v1/promises": (status, body), "/api/v1/cluster": clock}) as address:
        done = call(capsys, "promises", "--server", address)
    assert done.code == code, done.err
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_a_redirect_is_not_followed_with_the_token(capsys: pytest.CaptureFixture[str]) -> None:
    there = (200, b'{"promises": []}')
    with answering({"/api/v1/promises": (302, b""), "/api/v1/elsewhere": there}) as address:
        assert call(capsys, "promises", "--server", address, "--token", "fst_x").code == 3


def test_proxies_are_not_used(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("NO_PROXY", "")
    told = {"/api/v1/promises": (200, b'{"promises": []}'), "/api/v1/cluster": (200, b'{"now": 1}')}
    with answering(told) as address:
        done = call(capsys, "promises", "--server", address)
    assert done.code == 0, done.err
    assert done.out == "No promises.\n"


def test_a_server_that_says_nothing_is_not_waited_for_forever(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forestall.live.client.connection.ServerConnection.__init__.__defaults__",
                        (0.2,))  # fmt: skip
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        done = call(capsys, "promises", "--server", f"http://127.0.0.1:{one.getsockname()[1]}")
    assert done.code == 3
    assert "does not answer within 0.2 s" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("quote", "-N", "0", "-t", "1h"), "--nodes: 0 is not allowed"),
        (("quote", "-N", "2", "-t", "90"), "--time: '90' is not allowed; expected a time with its"),
        (("quote", "-N", "2", "-t", "soon"), "--time: 'soon'"),
        (("quote", "-N", "2", "-t", "0s"), "--time: '0s'"),
        (("quote", "-N", "2", "-t", "1h", "--probability", "1.5"), "--probability: 1.5"),
        (("quote", "-N", "2", "-t", "1h", "--probability", "nan"), "--probability: nan"),
        (("quote", "-N", "2", "-t", "1h", "--ask", "--json"), "--ask"),
        (("quote", "-N", "2"), "Missing option"),
        (("promise", "x;y"), "promise: 'x;y' is not allowed"),
        (("promises", "--server", "localhost:80"), "--server: 'localhost:80' is not allowed"),
        (("promises", "--server", "ftp://x"), "--server"),
        (("promises", "--server", "http://u:p@x"), "--server: 'an address with a user or more'"),
        (("promises", "--server", "http://x:99999"), "--server"),
        (("promises", "--server", "http://x", "--socket", "s"), "--socket"),
        (("promises", "--token", "a b"), "holds no token"),
        (("promises", "--token", "x", "--token-file", "y"), "--token-file"),
    ],
)
def test_wrong_input_is_exit_2_and_one_line(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = call(capsys, *words)
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert "u:p" not in done.err


def test_a_token_in_the_clear_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    place = f"http://0.0.0.0:{free_port()}"
    done = call(capsys, "promises", "--server", place, "--token", "fst_x")
    assert done.code == 3
    assert "the token is sent to 0.0.0.0 unencrypted; use https" in done.err
