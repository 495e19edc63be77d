"""`forestall serve files`: what a site takes into its own systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Force, Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json
from forestall.core.model.settings import Setting

with lazily():
    from forestall.live.shipped import write


def register(app: typer.Typer) -> None:
    """Add the command to those of `forestall serve`."""
    command(app, "files", "forestall serve files --dir site")(files)


def files(
    folder: Annotated[Path, Setting("Folder to write into", option="dir", shown="DIR")],
    site_settings: Annotated[
        str, Setting("Path of the settings file named in the units", shown="PATH")
    ] = "/etc/forestall/forestall.toml",
    program: Annotated[
        str,
        Setting(
            "Command that starts forestall in the units (default: as started now)", shown="COMMAND"
        ),
    ] = "",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write units of systemd, a Grafana dashboard, alert rules of Prometheus, and settings to
    begin with, into a folder; nothing is installed or started."""
    written = write.write_site_files(folder, site_settings, program, force=force)
    if as_json:
        say_json({"files": [str(path) for path in written]})
        return
    for path in written:
        say(str(path))
