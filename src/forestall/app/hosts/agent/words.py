"""What an agent says of its host, in words: the line on a terminal, and the table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from forestall.live.agent.lock import running
from forestall.live.agent.status import read_status
from forestall.model.units import format_duration

FAR: Final = 10 * 365 * 86_400
OLD: Final = 10
"""Periods after which a status is old: the agent hangs, or the clock was set."""

MEANING: Final = {
    "S1": "available",
    "S2": "available at lowest priority",
    "S3": "not available: the owner needs the CPU",
    "S4": "not available: too little free memory",
    "S5": "not available: away",
}


def line(status: Mapping[str, Any]) -> str:
    """Return the status in one line."""
    parts = [str(status["state"]), f"load {_percent(status['cpu'])}"]
    if status["guest_cpu"]:
        parts.append(f"guests {_percent(status['guest_cpu'])}")
    parts.append(f"memory free {_percent(status['memory_free'])}")
    chances = status["reliability"]
    if chances is None:
        parts.append(f"stays: not known yet ({status['learnt_days']:.1f} of 1 day seen)")
    else:
        told = ", ".join(f"{_hours(key)} {_chance(p)}" for key, p in chances.items())
        parts.append(f"stays {told}")
    return "  ".join(parts)


def rows(folder: Path, status: Mapping[str, Any], now: float) -> list[tuple[str, str]]:
    """Return the status as (name, value) for a table."""
    state = str(status["state"])
    found = [
        ("host", str(status.get("host", ""))),
        ("state", f"{state}, {_meaning(status)}"),
        ("since", f"{_date(status['since'])} ({format_duration(max(now - status['since'], 0))})"),
        ("owner's load", _percent(status["cpu"])),
        ("guests' load", _percent(status["guest_cpu"])),
        ("memory free", _percent(status["memory_free"])),
        ("thresholds", f"Th1 {status['th1']:.0%}, Th2 {status['th2']:.0%}, hold "
                       f"{format_duration(status['hold'])}, guest's memory "
                       f"{status['guest_memory']:.0%}"),
    ]  # fmt: skip
    chances = status["reliability"]
    if chances is None:
        found.append(("stays available", "not known yet: less than a day was seen"))
    else:
        for key, value in chances.items():
            found.append((f"stays {_hours(key)}", _chance(value)))
        found.append(("mean time to failure", _mean_time(status["mttf"])))
    found.append(("learnt from", f"{status['learnt_days']:.1f} days"))
    waiting, lost = status.get("samples_waiting", 0), status.get("samples_lost", 0)
    kept = f", {waiting:,} wait to be written" if waiting else ""
    gone = f", {lost:,} lost" if lost else ""
    found.append(("samples", f"{status['samples']:,} of {format_duration(status['period'])} "
                             f"since {_date(status['started'])}{kept}{gone}"))  # fmt: skip
    found.append(("own cost", _cost(status)))
    found.append(("agent", _agent(folder, status, now)))
    return found


def trouble(folder: Path, status: Mapping[str, Any], now: float) -> str:
    """Return a line where the agent does not run or its status is old, else nothing."""
    age = now - status["time"]
    if running(folder) is None:
        return f"{folder}: no agent is at work here; this is of {format_duration(abs(age))} ago"
    if abs(age) > OLD * status["period"]:
        return f"{folder}: the agent's status is of {format_duration(abs(age))} ago"
    return ""


def facts(folder: Path, now: float) -> dict[str, Any]:
    """Return the status with ``running`` and ``age``, s. Raises TraceError where there is none."""
    status = read_status(folder)
    return {**status, "running": running(folder) is not None, "age": round(now - status["time"], 1)}


def _meaning(status: Mapping[str, Any]) -> str:
    load = status["cpu"]
    spike = status["state"] == "S2" and load is not None and load > status["th2"]
    return f"{MEANING[status['state']]}{', in a spike of the load of its owner' if spike else ''}"


def _agent(folder: Path, status: Mapping[str, Any], now: float) -> str:
    at_work = running(folder)
    if at_work is None:
        return "not running"
    age = format_duration(max(now - status["time"], 0))
    return f"process {at_work or status['pid']}, last sample {age} ago"


def _cost(status: Mapping[str, Any]) -> str:
    share, memory = status.get("own_cpu"), status.get("own_memory")
    if share is None or memory is None:
        return "not known"
    told = f"{share:.2%} of one processor, {memory / 1e6:.0f} MB"
    most = status.get("forecast_memory")
    return f"{told} ({most / 1e6:.0f} MB while it learns)" if most else told


def _percent(value: Any) -> str:
    return "not known" if value is None else f"{value:.0%}"


def _chance(value: float) -> str:
    """Return a chance; only what is certain is 100 %."""
    shown = f"{value:.0%}"
    return "> 99%" if shown == "100%" and value < 1 else shown


def _mean_time(value: Any) -> str:
    if value is None:
        return "not known"
    return "never seen to leave" if value >= FAR else format_duration(value)


def _hours(key: str) -> str:
    return key.replace("h", " h")


def _date(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
