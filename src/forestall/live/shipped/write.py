"""Writes the files of a site into a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final

from forestall.core.files.folders import filling
from forestall.core.model.errors import InputError, ParameterError
from forestall.live.shipped.dashboard import dashboard, report_dashboard

UNITS: Final = ("forestall.service", "forestall-warden.service")
PLAIN: Final = (
    "forestall.toml",
    "forestall.sysusers.conf",
    "forestall-alerts.yml",
    "forestall-report-alerts.yml",
)
DASHBOARD: Final = "forestall-dashboard.json"
REPORT_DASHBOARD: Final = "forestall-report-dashboard.json"
HOMES: Final = ("/home/", "/root/", "/run/user/")
SETTINGS: Final = "/etc/forestall/forestall.toml"

HARDENING: Final = """\
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
# Not MemoryDenyWriteExecute: kernels are compiled while it runs.
"""
"""What a unit may not do: all but read the system, write its own folders, and talk to Slurm."""


def site_files(settings: str = SETTINGS, program: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and texts of the files.

    Parameters
    ----------
    settings : path of the settings file, which the units name
    program : how forestall is started; "": as it was started now

    Raises ParameterError for paths that a unit cannot name.
    """
    started = program or f"{sys.executable} -m forestall"
    for name, text in (("settings", settings), ("program", started)):
        if not text.isprintable() or set(text) & set("\"'\\%$;"):
            raise ParameterError(name, text, "a path without quotes, %, $ and ;")
    if not settings.startswith("/") or " " in settings:
        raise ParameterError("settings", settings, "a whole path without spaces")
    hardening = HARDENING
    if started.startswith(HOMES):  # it could not even be started there
        hardening = HARDENING.replace("ProtectHome=yes", "ProtectHome=read-only")
    for name in UNITS:
        text = _shipped(name).replace("@FORESTALL@", started).replace("@SETTINGS@", settings)
        yield name, text.replace("@HARDENING@\n", f"{hardening}\n")
    for name in PLAIN:
        yield name, _shipped(name)
    yield DASHBOARD, dashboard()
    yield REPORT_DASHBOARD, report_dashboard()


def write_site_files(
    folder: Path, settings: str = SETTINGS, program: str = "", *, force: bool = False
) -> list[Path]:
    """Write the files into a folder, which is made, all of them or none, and return their paths.
    Raises InputError where one is there already and may not be replaced."""
    told = dict(site_files(settings, program))
    there = [name for name in told if (folder / name).exists()]
    if there and not force:
        message = f"{folder / there[0]}: is there already; {{force}} replaces it"
        raise InputError(message)
    with filling(folder, tuple(told)) as fresh:
        for name, text in told.items():
            (fresh / name).write_text(text, encoding="utf-8")
    return [folder / name for name in told]


def _shipped(name: str) -> str:
    """Return a file that comes with the package."""
    return (files("forestall.live.shipped") / "files" / name).read_text(encoding="utf-8")
