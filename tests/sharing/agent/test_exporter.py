"""The agent's figures as Prometheus reads them; one agent for a folder."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.processes.lock import only_agent, running
from forestall.sharing.agent.exporter import Exporter, parse_address
from sharing.agent.worlds import World, agent_in, run


def scraped(exporter: Exporter) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{exporter.address}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_what_is_scraped_is_what_the_agent_saw(tmp_path: Path) -> None:
    world = World()
    agent = agent_in(tmp_path, world)
    exporter = Exporter(("127.0.0.1", 0), lambda: agent.status)
    try:
        assert scraped(exporter) == {}
        run(agent, world, 60)
        found = scraped(exporter)
        told = dict(agent.status)
        told |= {"reliability": {"1h": 0.9, "2h": 0.5}, "mttf": 7200}
        agent.status = told
        later = scraped(exporter)
    finally:
        exporter.close()
    values = {name: family.samples[0].value for name, family in found.items()}
    assert values["forestall_host_cpu_load_ratio"] == pytest.approx(0.1)
    assert values["forestall_host_memory_free_ratio"] == 0.5
    assert values["forestall_host_samples"] == 10
    assert values["forestall_host_agent_resident_memory_bytes"] > 1e6
    assert values["forestall_host_agent_cpu_seconds"] >= 0
    assert found["forestall_host_samples"].samples[0].name == "forestall_host_samples_total"
    states = {one.labels["state"]: one.value for one in found["forestall_host_state"].samples}
    assert states == {"S1": 1, "S2": 0, "S3": 0, "S4": 0, "S5": 0}
    assert found["forestall_host_agent_info"].samples[0].labels["host"] == "node7"
    assert "forestall_host_mttf_seconds" not in found
    assert "forestall_host_reliability_ratio" not in found
    assert all(name.startswith("forestall_host_") for name in found)
    assert all(family.documentation.endswith(".") for family in found.values())
    chances = later["forestall_host_reliability_ratio"].samples
    assert {one.labels["horizon"]: one.value for one in chances} == {"1h": 0.9, "2h": 0.5}
    assert later["forestall_host_mttf_seconds"].samples[0].value == 7200


def test_a_port_that_is_taken_is_one_line() -> None:
    first = Exporter(("127.0.0.1", 0), dict)
    try:
        said = r"cannot listen on 127\.0\.0\.1:\d+: Address already in use"
        with pytest.raises(InputError, match=said) as error:
            Exporter(("127.0.0.1", first.port), dict)
        assert "no_listen" in str(error.value)
    finally:
        first.close()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("127.0.0.1:9108", ("127.0.0.1", 9108)),
        ("[::1]:80", ("::1", 80)),
        ("0", ("127.0.0.1", 0)),
        ("host:65535", ("host", 65_535)),
    ],
)
def test_addresses(text: str, wanted: tuple[str, int]) -> None:
    assert parse_address(text, "listen") == wanted


@pytest.mark.parametrize("text", ["", ":", ":80", "a:b", "a:65536", "a:-1", "localhost", "a:٣"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="listen"):
        parse_address(text, "listen")


def test_one_agent_for_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    code = (
        "import sys; from pathlib import Path\n"
        "from forestall.core.processes.lock import only_agent\n"
        "with only_agent(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    )
    assert running(folder) is None
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"in\n"
        assert running(folder) == other.pid
        said = rf"another agent \(process {other.pid}\) uses this folder"
        with pytest.raises(TraceError, match=said), only_agent(folder):
            pass
    finally:
        other.kill()
        other.communicate()
    assert running(folder) is None
    with only_agent(folder):
        assert running(folder) is not None


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot be written to"), only_agent(tmp_path / "file"):
        pass
