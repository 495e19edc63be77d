"""A guest that outlives its host: run by `forestall run`, so that it is saved into a vault before
it is ended, and goes on wherever a guest of its name is run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError
from forestall.sharing.guest.settings import GuestSettings
from forestall.vaults.acting.calls import asking

with lazily():  # guests that no vault has do without its extra
    from forestall.vaults import runs
    from forestall.vaults.api import checkpoints

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
    more = option_words(options)
    place = folder.absolute() / "runs"
    run = [sys.executable, "-m", "forestall", "run", "--name", name, "--folder", str(place)]
    hook = asking(_place(more, place) / name)
    return Outliving([*run, *QUIET, *more, "--", *words], replace(settings, checkpoint=hook))


def words_of(name: str, options: str) -> tuple[str, ...]:
    """Return the command line of a run that has not finished, from its vault.

    Parameters
    ----------
    name : of the run
    options : of `forestall run`, with the stores of its vault

    Raises ParameterError where the vault knows of none, InputError where it does not answer.
    """
    stores, key = vault_of(options)
    with checkpoints.open_vault(stores, key=key) as vault:
        history, _ = runs.look_at_run(vault, name)
    if not history.words or history.code is not None:
        allowed = "a run that has not finished" if history.words else "a run that its vault knows"
        raise ParameterError("NAME", name, allowed)
    return history.words


def run_words(name: str, options: Sequence[str], leave_below: float) -> list[str]:
    """Return the words of `forestall run` for a guest, up to its own command line."""
    return ["run", "--name", name, "--leave-below", f"{leave_below:g}", *options]


def vault_of(options: str) -> tuple[tuple[str, ...], Path | None]:
    """Return the stores that options of `forestall run` name, and the file of their key. Raises
    ParameterError where they name none."""
    words = option_words(options)
    stores = values_of(words, "--store")
    if not stores:
        allowed = "options of forestall run, with --store at least"
        raise ParameterError("outlive", options, allowed)
    keys = values_of(words, "--key")
    return stores, Path(keys[0]) if keys else None


def option_words(options: str) -> list[str]:
    """Return options as words. Raises ParameterError where a shell would not take them."""
    try:
        return shlex.split(options)
    except ValueError as error:
        raise ParameterError("outlive", options, f"options of forestall run ({error})") from None


def values_of(options: Sequence[str], name: str) -> tuple[str, ...]:
    """Return the values that an option has."""
    found = []
    for number, word in enumerate(options):
        if word == name and options[number + 1 :]:
            found.append(options[number + 1])
        elif word.startswith(f"{name}="):
            found.append(word.partition("=")[2])
    return tuple(found)


def _place(options: Sequence[str], place: Path) -> Path:
    """Return where the images lie, which options may change."""
    given = values_of(options, "--folder")
    return Path(given[-1]).absolute() if given else place
