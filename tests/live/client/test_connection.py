"""Where a controller is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.model.errors import ParameterError
from forestall.live.client.connection import ServerOptions, place_of


def test_a_socket_is_spelled_as_serve_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("/run/site/api.sock")
    places = [place_of(ServerOptions(server=f"unix:{path}")), place_of(ServerOptions(socket=path))]
    monkeypatch.setenv("FORESTALL_SERVER", f"unix:{path}")
    places.append(place_of(ServerOptions()))
    assert {one.socket for one in places} == {path}


@pytest.mark.parametrize("wrong", ["unix:api.sock", "unix:", "ftp://x", "http://", "http://a:b@x"])
def test_what_is_no_address(wrong: str) -> None:
    with pytest.raises(ParameterError, match="unix:/PATH"):
        place_of(ServerOptions(server=wrong))
