"""A guest that outlives its host: run by `forestall run`, so that it is saved into a vault before
it is ended, and goes on wherever a guest of its name is run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from forestall.live.guest.settings import GuestSettings
from forestall.live.runner.calls import asking
from forestall.model.errors import ParameterError

QUIET: Final = ("--lease", "3m")
"""It stands still while its owner needs the host, and gives no sign of life."""


class Outliving(NamedTuple):
    """A guest's command line and settings."""

    words: list[str]
    settings: GuestSettings


def outliving(
    words: Sequence[str], options: str, name: str, folder: Path, settings: GuestSettings
) -> Outliving:
    """Return what to run so that a guest outlives its host.

    Parameters
    ----------
    words : the guest's own command line
    options : of `forestall run`, as a shell takes them
    name : of the guest, and of the run
    folder : where guests keep their files

    Raises ParameterError where the options are none, or the guest has another checkpoint.
    """
    if settings.checkpoint:
        raise ParameterError("checkpoint", settings.checkpoint, "none: {outlive} makes it")
    try:
        more = shlex.split(options)
    except ValueError as error:
        raise ParameterError("outlive", options, f"options of forestall run ({error})") from None
    place = folder.absolute() / "runs"
    run = [sys.executable, "-m", "forestall", "run", "--name", name, "--folder", str(place)]
    hook = asking(_place(more, place) / name)
    return Outliving([*run, *QUIET, *more, "--", *words], replace(settings, checkpoint=hook))


def _place(options: Sequence[str], place: Path) -> Path:
    """Return where the images lie, which options may change."""
    for number, word in enumerate(options):
        if word == "--folder" and options[number + 1 :]:
            place = Path(options[number + 1]).absolute()
        elif word.startswith("--folder="):
            place = Path(word.partition("=")[2]).absolute()
    return place
