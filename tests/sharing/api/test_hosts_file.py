"""fleet.toml with hosts: what it means, and what is wrong in it, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.core.model.errors import TraceError
from forestall.machines.acting.hosts.images import FolderImages, Images
from forestall.machines.adapters.libvirt.pool import LibvirtHost
from forestall.machines.fleet.foreseen import read_foreseen
from forestall.machines.fleet.hosts_file import read_hosts
from forestall.machines.fleet.images import VaultImages
from forestall.machines.rules.overload import OverloadRule
from forestall.vaults.api.opened import open_checkpoints

TWO = '[hosts.h1]\nuri = "qemu+ssh://root@h1/system"\ncluster = "a"\n[hosts.h2]\nuri = "qemu:///system"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "fleet.toml"
    path.write_text(text)
    return path


def test_what_it_means(tmp_path: Path) -> None:
    more = '[overload]\nhold = "1m"\n[migration]\nbandwidth = "1G"\n[predictors]\nfiles = "p"\n'
    file = read_hosts(written(tmp_path, f'alpha = "dynamic"\n{TWO}processors = 4\n{more}'))
    assert file is not None
    plan = file.plan()
    assert plan.clusters == {"h1": "a", "h2": ""}
    assert (plan.alpha, plan.overload) == ("dynamic", OverloadRule(0.9, 60))
    assert file.reached()["h2"] == LibvirtHost("qemu:///system", processors=4.0)
    assert (file.moves().bandwidth, file.moves().copied) == (1024, False)
    copying = read_hosts(written(tmp_path, f"{TWO}[migration]\ndisks = 'copied'\n"))
    assert copying is not None
    assert copying.moves().copied
    assert file.predictors.files == ("p",)


def test_a_fleet_of_this_host_is_another_kind(tmp_path: Path) -> None:
    assert read_hosts(written(tmp_path, "[nodes]\na = 1\n")) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[hosts.h1]\nuri = "h1"\n', "hosts.h1.uri: 'h1' is not allowed; expected a connection"),
        ("[hosts.h1]\n", "hosts.h1.uri: is missing"),
        ('[hosts.h1]\nuri = "qemu:///system"\nprocesors = 2\n', "did you mean processors?"),
        ("[hosts]\n", "hosts: "),
        (f"{TWO}[overload]\nlimit = 2\n", "overload.limit: 2 is not allowed; expected a share"),
        (f"{TWO}[overload]\nholds = 2\n", "overload.holds: no such key; did you mean hold?"),
        (f"{TWO}[migration]\ndisks = 'moved'\n", "migration.disks: 'moved' is not allowed"),
        (f"{TWO}[migration]\ntunnelled = true\ndisks = 'copied'\n", "libvirt tunnels memory only"),
        (f"{TWO}[loss]\nsilence = 0\n", "loss.silence: 0 is not allowed"),
        (f"at_once = 0\n{TWO}", "at_once: 0 is not allowed"),
        (f"{TWO}memory = 'much'\n", "hosts.h2.memory"),
        (f"[nodes]\na = 1\n{TWO}", "nodes: no such key"),
    ],
)
def test_wrong_input(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(TraceError) as error:
        read_hosts(written(tmp_path, text))
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_predictions_with_a_spread(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text("time,node\n100,a,50,200\n100,b\n100,b,120,130\n9,c,1\n70,a\n80,c,60,90\n")
    found = read_foreseen(path, ("a", "b", "c"))
    assert found.failures == {"a": 70, "b": 100, "c": 80}
    assert found.spreads == {"c": (60, 90)}
    assert found.trouble.startswith(f"{path}:4: '100,b,120,130': expected early <= time <= late")
    assert "and 1 more" in found.trouble


@pytest.mark.parametrize("kind", ["folder", "vault"])
def test_images_are_kept_and_brought_back(tmp_path: Path, kind: str) -> None:
    images: Images = FolderImages(tmp_path / "images")
    if kind == "vault":
        pytest.importorskip("blosc2")
        stores = [str(tmp_path / f"store{number}") for number in range(3)]
        open_checkpoints(stores).init("blocks:64")
        images = VaultImages(tmp_path / "images", stores)
    names = []
    for number in range(4):
        room = images.room("vm1", number)
        room.write_bytes(bytes([number]) * 300_000)
        names.append(images.keep("vm1", room))
        images.forget("vm1", names[-1])
    assert images.bring("vm1", names[-1]).read_bytes() == bytes([3]) * 300_000
    images.forget("vm1", names[-1])
    left = [path for path in (tmp_path / "images").rglob("*") if path.is_file()]
    assert len(left) == (0 if kind == "vault" else 1)
    if kind == "vault":
        (tmp_path / "store1").rename(tmp_path / "gone")
        assert images.bring("vm1", names[-1]).read_bytes() == bytes([3]) * 300_000
