"""`forestall checkpoint`: files saved on storage hosts so that some of these may be lost."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json, Quiet
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import ProgressBar, RateLine, say, say_json, show
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.model.units import parse_duration, told_bytes
from forestall.core.show.words import counted
from forestall.vaults.commands import similarity
from forestall.vaults.commands.told import in_words

with lazily():
    from forestall.vaults import collecting, layouts
    from forestall.vaults.api import checkpoints, creation, stores

if TYPE_CHECKING:
    from forestall.vaults.saving import SaveTold
    from forestall.vaults.upkeep import VerifiedTold

FAILED = 1
LOST = 3
UNREADABLE = 5
_NAMED = 3
"""Paths that a line names."""

Stores: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--store",
        metavar="URL",
        help="A storage host; repeat it for each host: a folder, file://, "
        "forestall://HOST:PORT (see forestall storage serve), sftp://, s3://, gs:// or "
        "az://.",
        show_default=False,
    ),
]
KeyFile: TypeAlias = Annotated[
    Path | None,
    Setting("Key file of an encrypted vault; a new vault is encrypted with it",
            option="key", shown="FILE"),
]  # fmt: skip
Ids: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Checkpoints (default: all).", show_default=False),
]
OfLabel: TypeAlias = Annotated[str | None, Setting("Only checkpoints with this label")]

app = group_of(
    "Save files on several storage hosts, and restore them even if some hosts are lost.",
    "forestall checkpoint init --store /a --store /b --store /c",
    "forestall checkpoint save work --store /a --store /b --store /c --data 2 --parity 1",
    "forestall checkpoint list --store /a --store /b --store /c",
    "forestall checkpoint restore latest --store /a --store /b --store /c --out again",
)


@command(
    app,
    "init",
    "forestall checkpoint init --store /a --store /b --store /c",
    "forestall checkpoint init --store /a --store /b --store /new --add",
)
def init(
    store: Stores,
    chunks: Annotated[
        str,
        Setting("How files are cut into chunks: content:KIB by their content, blocks:KIB for "
                "memory images", unset="content:16"),
    ] = "",
    add: Annotated[
        bool,
        Setting("Make stores that hold nothing stores of the vault that the others hold, as after "
                "a disk was replaced"),
    ] = False,
    key: KeyFile = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Create a vault on storage hosts, once; each becomes a store of it, known by an id of its own.

    Later a host without this id is not there, whatever its path: its disk may not be mounted.
    """
    made = creation.init_vault(store, chunks, key=key, add=add)
    if as_json:
        say_json(made)
        return
    count = counted(len(made["stores"]), "store")
    is_new = made["stores"][0]["state"] == "new"
    say(f"Vault {made['vault']} {'created on' if is_new else 'on'} {count}, "
        f"{'encrypted' if made['encrypted'] else 'not encrypted'}.")  # fmt: skip
    for one in made["stores"]:
        if one["state"] == "away":
            say(f"Done without {one['store']}: {one['why']}.", error=True)
        elif not is_new:
            say(f"{one['store']}: {_STATES[one['state']]}")


_STATES: Final = {
    "there": "a store of it already",
    "added": "now a store of it; forestall checkpoint repair puts pieces there",
    "adopted": "held it without an id, and has one now",
}


@command(
    app,
    "save",
    "forestall checkpoint save state --store /a --store /b --store /c --data 2 --parity 1",
    "forestall checkpoint save state --store s3://one/job --store s3://two/job --layout copies:2",
    left="`forestall checkpoint list` shows which checkpoints are complete",
    rare="label chunks strict work fails place layout",
)
def save(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.")],
    store: Stores,
    *,
    coding: checkpoints.Coding,
    placing: stores.PlacingOptions,
    key: KeyFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Save files and folders as a checkpoint, of which any --data pieces are enough.

    What an earlier checkpoint with the same label has is not stored again, where it is seen to be
    whole. The checkpoint is there when all of it is stored; until then the ones before it are
    untouched. Exit code 1: it is stored, but survives the loss of fewer hosts than was asked for,
    or a file changed while it was read, or was gone.
    """
    with RateLine("saving", quiet=quiet or as_json) as line:

        def tell(told: SaveTold) -> None:
            line(told.read, f"new {told_bytes(told.new)}, stored {told_bytes(told.stored)}")

        made = checkpoints.save_paths(store, paths, coding, placing, key=key, progress=tell)
    if as_json:
        say_json(made)
    elif not quiet:
        lost = "no host" if not made["survives"] else (
            f"any {made['survives']} of {len(store)} hosts" if made["survives"] > 1
            else f"any one of {len(store)} hosts")  # fmt: skip
        say(f"Checkpoint {made['id']}, {layouts.told_code(made['data'], made['parity'])}: it "
            f"survives the loss of {lost}.")  # fmt: skip
        say(
            f"{counted(made['files'], 'file')}, {told_bytes(made['bytes'])}; "
            f"new {told_bytes(made['new'])}, stored {told_bytes(made['stored'])} with parity."
        )
        say(_placed(made["layout"], made["placement"]))
    _say_remarks(made["remarks"])
    if made["missing"]:
        say(f"{made['missing']} of {made['data'] + made['parity']} pieces found no host: "
            "repair it when all hosts are back.", error=True)  # fmt: skip
    _name_away(made["away"])
    if not made["has_identity"]:
        say(f"This vault has no id yet, so that a disk which is not mounted goes unnoticed. Give "
            f"it one: {creation.init_command(store, key)}", error=True)  # fmt: skip
    return FAILED if made["survives"] < made["wanted"] or not made["complete"] else 0


def _name_away(away: list[dict[str, str]]) -> None:
    """Name the stores that a command had to do without."""
    for one in away:
        say(f"Done without {one['store']}: {one['why']}.", error=True)


def _say_remarks(remarks: dict[str, list[str]], begin: str = "") -> None:
    """Print what is not as it was: why, and of which paths."""
    for why, paths in remarks.items():
        more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
        text = f"{begin}{why}: {', '.join(paths[:_NAMED])}{more}."
        say(text[0].upper() + text[1:], error=True)


def _placed(layout: str, told: dict[str, Any]) -> str:
    """Return how hosts were chosen, in words."""
    if layout == "ring":
        return "Pieces are on this machine's own host and its neighbors on the ring."
    if told["place"] == "turn":
        return f"Pieces are on all hosts in turn: {told['why']}."
    return f"Pieces are on {', '.join(told['hosts'])}: {in_words(told)}."


@command(
    app,
    "restore",
    "forestall checkpoint restore latest --store /a --store /b --out again",
    "forestall checkpoint restore 20261123T0930 --store /a --store /b --out again --json",
)
def restore(
    name: Annotated[
        str,
        typer.Argument(metavar="ID", help="Id of the checkpoint, the beginning of it, or latest."),
    ],
    store: Stores,
    to: Annotated[Path, Setting("Folder to restore into: empty, or created", shown="DIR")],
    label: Annotated[str | None, Setting("Label whose latest checkpoint is restored")] = None,
    key: KeyFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Restore a checkpoint's files: all of them, checked, or none.

    Exit code 3: too few pieces are left; 5: a newer checkpoint cannot be read, and the one before
    it was restored.
    """
    with ProgressBar("recovering, bytes", quiet=quiet or as_json) as bar:
        made = checkpoints.restore_to(store, name, to, label=label, key=key, progress=bar)
    if as_json:
        say_json(made)
    elif not quiet:
        say(f"In {to}: {counted(made['files'], 'file')}, {told_bytes(made['bytes'])}, from "
            f"checkpoint {made['id']}.")  # fmt: skip
        if made["done_without"]:
            say(f"Done without {counted(len(made['done_without']), 'piece')} that "
                f"{'was' if len(made['done_without']) == 1 else 'were'} lost or damaged, such as "
                f"{made['done_without'][0]}. Repair it.")  # fmt: skip
    _say_remarks(made["remarks"])
    _say_remarks(made["when_saved"], "when it was saved: ")
    _name_away(made["away"])
    return _warn_of_unreadable(made["unreadable"], f"; the latest that can be is {made['id']}")


def _warn_of_unreadable(unreadable: list[dict[str, str]], more: str = "") -> int:
    """Name checkpoints that cannot be read; return the exit code."""
    for one in unreadable:
        say(f"Checkpoint {one['id']} cannot be read: {one['why']}{more}.", error=True)
    return UNREADABLE if unreadable else 0


@command(app, "list", "forestall checkpoint list --store /a --store /b --json")
def list_(
    store: Stores,
    label: OfLabel = None,
    key: KeyFile = None,
    as_json: Json = False,
) -> int:
    """List the checkpoints, oldest first.

    Exit code 5: a checkpoint cannot be read; it is named.
    """
    told = checkpoints.listed(store, key=key, label=label)
    found = told["checkpoints"]
    _name_away(told["away"])
    if as_json:
        say_json(told)
        return UNREADABLE if told["unreadable"] else 0
    rows = [
        (one["id"], _moment(one["at"]), one["label"], f"{one['files']:,}",
         told_bytes(one["bytes"]), told_bytes(one["stored"]),
         layouts.told_code(one["data"], one["parity"]))
        for one in found
    ]  # fmt: skip
    heads = ("Id", "Complete at", "Label", "Files", "Size", "Stored", "Pieces")
    show(rows, heads, right=(3, 4, 5))
    return _warn_of_unreadable(told["unreadable"])


@command(app, "verify", "forestall checkpoint verify --store /a --store /b --deep")
def verify(
    store: Stores,
    names: Ids = None,
    deep: Annotated[
        bool, Setting("Also check the content of the pieces against what was saved.")
    ] = False,
    label: OfLabel = None,
    key: KeyFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Fetch all pieces of checkpoints and say which are whole.

    Exit code 1: something is wrong and can be repaired; 3: a checkpoint cannot be recovered.
    """
    return _looked_after(store, names, False, deep, label, key, quiet, as_json)


@command(
    app,
    "repair",
    "forestall checkpoint repair --store /a --store /b --store /c",
    left="what was repaired stays repaired; the same command repairs the rest",
)
def repair(
    store: Stores,
    names: Ids = None,
    label: OfLabel = None,
    key: KeyFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Rebuild damaged or lost pieces from those that are left.

    Exit code 3: too few pieces of a checkpoint are left.
    """
    return _looked_after(store, names, True, False, label, key, quiet, as_json)


def _looked_after(
    store: list[str],
    names: list[str] | None,
    mend: bool,
    deep: bool,
    label: str | None,
    key: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    with RateLine("repairing" if mend else "verifying", quiet=quiet or as_json) as line:

        def tell(told: VerifiedTold) -> None:
            line(0, f"{told.name}: {told.whole:,} of {told.pieces:,} pieces whole")

        away: list[dict[str, str]] = []
        found = checkpoints.looked_after(
            store,
            names or (),
            mend=mend,
            deep=deep,
            label=label,
            key=key,
            progress=tell,
            note=away.extend,
        )
    _name_away(away)
    if as_json:
        say_json({"checkpoints": found, "away": away})
    elif not quiet:
        _show_looks(found, mend)
    if not all(one["recoverable"] for one in found):
        return LOST
    return FAILED if any(one["wrong"] for one in found) and not mend else 0


def _show_looks(found: list[dict[str, Any]], mended: bool) -> None:
    rows = [
        (one["name"], f"{one['packs']:,}", f"{one['whole']:,} of {one['pieces']:,}", _left(one),
         *([f"{one['mended']:,}"] if mended else []))
        for one in found
    ]  # fmt: skip
    whole, more = ("Whole before", ["Objects rebuilt"]) if mended else ("Pieces whole", [])
    show(rows, ("Checkpoint", "Packs", whole, "Survives the loss of", *more), right=(1, 4))
    for one in found:
        for text in one["wrong"][:3]:
            say(f"{one['name']}: {text}")
        if len(one["wrong"]) > 3:
            say(f"{one['name']}: and {len(one['wrong']) - 3:,} more (--json has all).")


@command(
    app,
    "gc",
    "forestall checkpoint gc --store /a --store /b --keep-last 3 --keep-within 7d",
    "forestall checkpoint gc --store /a --store /b --forget 20261101T1200",
    left="what was removed stays removed; `forestall checkpoint gc` removes the rest",
)
def gc(
    store: Stores,
    forget: Annotated[
        list[str] | None,
        typer.Option("--forget", metavar="ID", help="Checkpoint to remove; may be repeated."),
    ] = None,
    keep_last: Annotated[
        int | None, Setting("Keep only this many checkpoints of each label")
    ] = None,
    keep_within: Annotated[
        str | None, Setting("Also keep all checkpoints younger than this", shown="DURATION")
    ] = None,
    wait: Annotated[str, Setting("How long to wait for saves under way", shown="DURATION")] = "0",
    repack: Annotated[
        float | None,
        Setting("Rewrite packs of which less than this share is still needed (default: 0.5)"),
    ] = None,
    key: KeyFile = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Remove old checkpoints as requested, then everything that no checkpoint needs.

    Nothing is removed that a checkpoint or a running save may need. A pack of which little is still
    needed is rewritten and then removed; {repack} 0 leaves all packs as they are. Exit code 5: a
    checkpoint cannot be read, so that nobody knows what it needs; nothing is removed.
    """
    if repack is not None and not 0 <= repack <= 1:
        raise ParameterError("repack", repack, "a share from 0 to 1")
    keep = None
    if keep_last is not None:
        if keep_last < 1:
            raise ParameterError("keep_last", keep_last, "at least 1")
        within = 0 if keep_within is None else parse_duration(keep_within, "keep_within")
        keep = collecting.Retention(keep_last, float(within))
    elif keep_within is not None:
        raise ParameterError("keep_within", keep_within, "{keep_last} beside it")
    seconds = float(parse_duration(wait, "wait"))
    told = checkpoints.collected(
        store, forgotten=forget or (), keep=keep, wait=seconds, share=repack, key=key
    )
    if as_json:
        say_json(told)
    elif not quiet:
        for name in told["forgotten"]:
            say(f"Forgotten: {name}")
        if told["packs"]:
            say(f"Moved {told_bytes(told['moved'])} out of {counted(told['packs'], 'pack')}.")
        say(f"Removed {counted(told['objects'], 'object')}, {told_bytes(told['removed'])}.")
    for text in told["said"]:
        say(text, error=True)
    _name_away(told["away"])


@command(app, "stat", "forestall checkpoint stat --store /a --store /b")
def stat(store: Stores, key: KeyFile = None, as_json: Json = False) -> int:
    """Show how much a vault holds and how it is spread over its hosts.

    Exit code 5: a checkpoint cannot be read; it is named.
    """
    told = checkpoints.state_of(store, key=key)
    if as_json:
        say_json(told)
        return UNREADABLE if told["unreadable"] else 0
    say(f"{counted(told['checkpoints'], 'checkpoint')}, {told_bytes(told['bytes'])} in all, stored "
        f"in {told_bytes(told['stored'])}; chunks {told['chunks']} KiB, "
        f"{'encrypted' if told['encrypted'] else 'not encrypted'}.")  # fmt: skip
    rows = [(one["host"], f"{one['objects']:,}", told_bytes(one["bytes"]),
             "not there" if one["said"] else "answers")
            for one in told["hosts"]]  # fmt: skip
    show(rows, ("Host", "Objects", "Size", ""), right=(1, 2))
    _name_away(told["away"])
    return _warn_of_unreadable(told["unreadable"])


@command(app, "key", "forestall checkpoint key vault.key")
def key(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="The key file to create; it must not exist.")
    ],
    as_json: Json = False,
) -> None:
    """Make a key for an encrypted vault; without it nothing there can be read: keep it safe."""
    checkpoints.new_key(path)
    if as_json:
        say_json({"key": str(path)})
        return
    say(f"Written: {path}. Without it, everything encrypted with it is lost.", error=True)


def _left(one: dict[str, Any]) -> str:
    """Return what may still be lost of a checkpoint, in words."""
    if not one["recoverable"]:
        return "it is lost: too few are left"
    if one["spare"] is None:
        return "all: it has no pieces"
    return "none" if not one["spare"] else f"any {counted(one['spare'], 'piece')} of a pack"


similarity.add_to(app)


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
