"""Images on this host: files as they were, back where they belong, or an error and nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from forestall.vaults.acting import images
from forestall.vaults.acting.held import RunError
from forestall.vaults.acting.images import (
    ImageError,
    ImageTold,
    fresh_image,
    keep_files,
    put_back,
    signature,
    size_of,
)


def told(paths: tuple[str, ...]) -> ImageTold:
    return ImageTold("job", ("x", "y"), "/", "files", paths, 1.5, "boot", "id")


def test_files_and_folders_come_back(tmp_path: Path) -> None:
    folder, file, none = tmp_path / "folder", tmp_path / "file", tmp_path / "none"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a").write_bytes(b"abc" * 1000)
    os.symlink("in/a", folder / "link")
    with file.open("wb") as sparse:
        sparse.write(b"begin")
        sparse.truncate(10_000_000)
        sparse.seek(9_000_000)
        sparse.write(b"end")
    file.chmod(0o640)
    os.utime(file, ns=(1, 1_234_567_890_123_456_789))
    before = file.read_bytes()
    image = fresh_image(tmp_path / "place")
    made = told(keep_files([folder, file, none], image))
    assert made.paths == (str(folder), str(file), "")
    assert (image / "files" / "1").stat().st_blocks * 512 < 1_000_000
    assert size_of(image) >= 10_000_000
    made.write(image)
    assert ImageTold.read(image) == made
    (folder / "in" / "a").write_bytes(b"new")
    (folder / "more").write_bytes(b"")
    file.unlink()
    put_back(made, image)
    assert (folder / "link").read_bytes() == b"abc" * 1000
    assert not (folder / "more").exists()
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (before, 0o640)
    assert file.stat().st_mtime_ns == 1_234_567_890_123_456_789
    other = tmp_path / "deep" / "other"
    put_back(made, image, [other / "f", other / "g", other / "h"])
    assert (other / "g").read_bytes() == before
    assert sorted(one.name for one in other.iterdir()) == ["f", "g"]
    with pytest.raises(ImageError, match="3 files and folders, but 1 are named"):
        put_back(made, image, [other])


def test_a_file_that_changes_all_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, count = tmp_path / "log", iter(range(1000))
    path.write_text("x")
    copy = images._copy

    def changing(source: str | Path, to: str | Path) -> None:
        copy(source, to)
        path.write_text("x" * next(count))

    monkeypatch.setattr(images, "_copy", changing)
    with pytest.raises(RunError, match="changes while it is copied"):
        keep_files([path], fresh_image(tmp_path / "place"))


@pytest.mark.parametrize(
    "change",
    [
        {"form": 2}, {"paths": ["/a/../etc/passwd"]}, {"paths": ["/a//b"]}, {"odd": 1},
        {"words": 1}, {"paths": ["relative/../x"]},
    ],
)  # fmt: skip
def test_what_is_no_image(tmp_path: Path, change: dict[str, object]) -> None:
    image = fresh_image(tmp_path)
    told(("/a",)).write(image)
    raw = json.loads((image / "image.json").read_bytes())
    (image / "image.json").write_text(json.dumps(raw | change))
    with pytest.raises(ImageError):
        ImageTold.read(image)
    (image / "image.json").write_text("[]")
    with pytest.raises(ImageError):
        ImageTold.read(image)


def test_signatures(tmp_path: Path) -> None:
    path = tmp_path / "file"
    none = signature([path])
    path.write_text("x")
    first = signature([path])
    (tmp_path / "new").write_text("x")
    os.utime(tmp_path / "new", ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    os.replace(tmp_path / "new", path)
    assert len({none, first, signature([path])}) == 3


def test_where_nothing_can_be_put(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    image = fresh_image(tmp_path / "place")
    keep_files([file], image)
    with pytest.raises(RunError, match="cannot be put back"):
        put_back(told((str(file / "below"),)), image)
    assert file.read_text() == "x"
