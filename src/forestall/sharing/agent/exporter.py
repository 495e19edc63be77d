"""The agent's figures for Prometheus, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from forestall.core.model.errors import InputError, MissingExtraError, ParameterError
from forestall.prediction.availability.states import NAMES

ALLOWED: Final = "an address such as 127.0.0.1:9108"

GAUGES: Final = (
    ("cpu", "cpu_load_ratio", "Share of the machine's CPU time that its owner uses, 0 to 1."),
    ("guest_cpu", "guest_cpu_ratio", "Share of the machine's CPU time that guests use, 0 to 1."),
    ("memory_free", "memory_free_ratio", "Share of the memory that the owner leaves free, 0 to 1."),
    ("io", "io_bytes_per_second", "Bytes read from and written to disks, per second."),
    ("since", "state_since_timestamp_seconds", "Unix time since which the host is in its state."),
    ("time", "sample_timestamp_seconds", "Unix time of the last sample."),
    ("mttf", "mttf_seconds", "Mean time until a guest must leave the host, learned from its past."),
    ("learnt_days", "learnt_days", "Days of its own past that the agent has learned from."),
    ("samples_waiting", "samples_waiting", "Samples in memory that could not be written yet."),
    ("own_memory", "agent_resident_memory_bytes", "Memory that the agent uses."),
    ("storage_disk", "storage_disk_busy_ratio", "Share of the time a storage disk was busy."),
    ("storage_clients", "storage_clients", "Clients that the storage daemon serves."),
    ("storage_bytes", "storage_bytes", "Bytes that count against the storage daemon's quota."),
)
COUNTERS: Final = (
    ("samples", "samples", "Samples taken since the agent was started."),
    (
        "samples_lost",
        "samples_lost",
        "Samples lost: dropped, or in a file that was removed.",
    ),
    (
        "own_cpu_seconds",
        "agent_cpu_seconds",
        "CPU time of the agent, its forecasts included, in seconds.",
    ),
)


class Figures:
    """Collects the metrics at each scrape from the agent's status."""

    def __init__(self, status: Callable[[], Mapping[str, Any]]) -> None:
        self._status = status

    def collect(self) -> Iterator[Any]:
        """Yield the metrics; those that are not known are left out."""
        core = import_module("prometheus_client.core")
        gauge, counter = core.GaugeMetricFamily, core.CounterMetricFamily
        told = self._status()
        if not told:
            return
        info = core.InfoMetricFamily("forestall_host_agent", "The agent and its host.")
        info.add_metric([], {"version": told["version"], "host": told["host"]})
        yield info
        state = gauge("forestall_host_state", "1 for the state the host is in, else 0.",
                      labels=["state"])  # fmt: skip
        for name in NAMES:
            state.add_metric([name], float(name == told["state"]))
        yield state
        for key, name, text in GAUGES:
            if told[key] is not None:
                yield gauge(f"forestall_host_{name}", text, float(told[key]))
        for key, name, text in COUNTERS:
            yield counter(f"forestall_host_{name}", text, float(told[key]))
        if told["reliability"] is not None:
            text = "Probability that a guest can stay for the horizon, 0 to 1."
            chance = gauge("forestall_host_reliability_ratio", text, labels=["horizon"])
            for horizon, value in told["reliability"].items():
                chance.add_metric([horizon], value)
            yield chance


def parse_address(text: str, name: str) -> tuple[str, int]:
    """Return host and port of ``127.0.0.1:9108``, ``[::1]:9108`` or ``9108`` (this host only)."""
    host, colon, port = text.strip().rpartition(":")
    if not colon:
        host = "127.0.0.1"
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not (host and port.isascii() and port.isdigit() and 0 <= int(port) < 65_536):
        raise ParameterError(name, text, ALLOWED)
    return host, int(port)


class Exporter:
    """Serves the metrics until it is closed.

    Attributes
    ----------
    port, address : where; of port 0 the one that was free

    Raises InputError where the port is taken, MissingExtraError without prometheus-client.
    """

    def __init__(self, address: tuple[str, int], status: Callable[[], Mapping[str, Any]]) -> None:
        try:
            client = import_module("prometheus_client")
        except ImportError:
            raise MissingExtraError("serving metrics for Prometheus", "live") from None
        registry = client.CollectorRegistry()
        registry.register(Figures(status))
        host, port = address
        shown = f"[{host}]" if ":" in host else host
        try:
            self._server, self._thread = client.start_http_server(port, host, registry)
        except (OSError, UnicodeError) as error:
            said = getattr(error, "strerror", None) or str(error)
            message = f"{{listen}}: cannot listen on {shown}:{port}: {said}"
            raise InputError(f"{message}; give another address, or {{no_listen}}") from None
        self.port: int = self._server.server_port
        self.address = f"{shown}:{self.port}"

    def close(self) -> None:
        """End the service."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
