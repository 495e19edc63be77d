"""What a program goes on from: an image on this host, or a checkpoint in the vault."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from forestall.core.processes.files import boot_id
from forestall.vaults.acting.images import FOLDER, ImageError, ImageTold
from forestall.vaults.acting.plan import RunPlan
from forestall.vaults.keys import order_of
from forestall.vaults.pool import LostError
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault

BACK: Final = "back"
IMAGES: Final = "image-*"


class ResumePoint(NamedTuple):
    """What a program goes on from: the checkpoint's id, or what else it is, and its image here,
    which came from the vault or was made on this host and is `local`."""

    name: str
    image: Path
    local: bool = False


def local_image(run: RunPlan, last: str) -> ResumePoint | None:
    """Return the newest image of this host that is whole and did not come into the vault; None
    where something newer than the checkpoint `last` did."""
    found: list[tuple[float, ResumePoint]] = []
    for folder in run.place.glob(IMAGES):
        try:
            told = ImageTold.read(folder / FOLDER)
        except ImageError:
            continue
        if (told.name, told.boot, told.after) == (run.name, boot_id(), last):
            found.append((told.ran, ResumePoint("an image on this host", folder / FOLDER, True)))
    return max(found, key=lambda one: one[0])[1] if found else None


def newest_checkpoint(
    vault: Vault, label: str, last: str, place: Path, tell: Callable[[str], None]
) -> ResumePoint | None:
    """Return the newest checkpoint that can be recovered, `last` before all others, brought back
    into `place`; those that cannot be are told. Raises LostError where there were some, and none
    can be."""
    first: LostError | None = None
    there, unreadable = vault.readable(label)
    for name, why in unreadable.items():
        tell(f"checkpoint {name} cannot be read: {why}")
        first = first or LostError(f"checkpoint {name} cannot be read: {why}")
    if last and last not in {*unreadable, *(one.name for one in there)}:
        first = LostError(f"checkpoint {last}, the newest, is on no storage host that answers; "
                          "--fresh starts the program over")  # fmt: skip
        tell(str(first).partition(";")[0])
    for one in sorted(there, key=lambda one: (one.name == last, order_of(one.name)), reverse=True):
        to = place / f"{BACK}-{one.name}"
        shutil.rmtree(to, ignore_errors=True)  # it was whole; one that was not is gone on with
        try:
            restore(vault, one.name, to)
        except LostError as error:
            tell(f"checkpoint {one.name} cannot be recovered: {error}")
            first = first or error
            continue
        return ResumePoint(one.name, to / FOLDER)
    if first is not None:
        raise first
    return None
