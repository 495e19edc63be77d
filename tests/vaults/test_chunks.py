"""Where data is cut does not depend on how much of it is read at once."""

from __future__ import annotations

import io

import numpy as np
import pytest
from pyfastcdc import FastCDC

from forestall.vaults import chunks
from forestall.vaults.chunks import Cutting, Method, cut_file, cut_stream, plain_name

NOISE = np.random.default_rng(6).bytes(300_000)


def cut_whole(data: bytes, cutting: Cutting) -> list[bytes]:
    size = cutting.size
    if cutting.method == "blocks":
        return [data[k : k + size] for k in range(0, len(data), size)]
    if not data:
        return []
    made = FastCDC(avg_size=size, min_size=size // 4, max_size=8 * size).cut_buf(memoryview(data))
    return [bytes(one.data) for one in made]


@pytest.mark.parametrize("method", ["content", "blocks"])
@pytest.mark.parametrize("window", [1024, 40_000, 1 << 20])
@pytest.mark.parametrize("data", [b"", NOISE[:1], NOISE[:4096], NOISE, bytes(100_000) + NOISE])
def test_cut_alike_whatever_is_read_at_once(
    method: Method, window: int, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "WINDOW", window)
    cutting = Cutting(method, 1024)
    found = list(cut_stream(io.BytesIO(data), cutting))
    parts = [bytes(one) for cuts in found for one in cuts.parts]
    assert parts == cut_whole(data, cutting)
    assert [one for cuts in found for one in cuts.names] == [
        plain_name(memoryview(one)) for one in parts
    ]


@pytest.mark.parametrize("method", ["content", "blocks"])
@pytest.mark.parametrize("more", [-1, 0, 1, 5000])
@pytest.mark.parametrize("size", [1, 255, 256, 257, 1024, 4097, 300_000])
def test_a_small_file_is_cut_alike_also_where_its_size_is_another(
    method: Method, size: int, more: int
) -> None:
    cutting = Cutting(method, 1024)
    cuts = list(cut_file(io.BytesIO(NOISE[:size]), size + more, cutting))
    parts = [bytes(part) for one in cuts for part in one.parts]
    assert parts == cut_whole(NOISE[:size], cutting)
    assert [name for one in cuts for name in one.names] == [
        plain_name(memoryview(part)) for part in parts
    ]
