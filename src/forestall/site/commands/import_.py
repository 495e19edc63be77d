"""`forestall import`: records of other systems as files that every command takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json
from forestall.core.commands.questions import Given, TextOptions
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import ProgressBar, say, say_json, show
from forestall.core.model.settings import Setting
from forestall.reliability.commands.records import SITE, given_of

with lazily():
    from forestall.site import import_slurm
    from forestall.slurm.files import folder

if TYPE_CHECKING:
    from forestall.site.import_slurm import Imported

READING = tuple(
    choice
    for choice in SITE
    if choice.name in {"slurm", "zone", "cluster", "since", "until", "timeout", "strict"}
)


app = group_of(
    "Convert a site's records into files that every other command reads.",
    "forestall import slurm --out site --since 90d",
)


@command(
    app,
    "slurm",
    "forestall import slurm --out site --since 90d",
    "forestall import slurm jobs.txt events.txt nodes.txt --out site --zone Europe/Berlin",
    "forestall import slurm jobs.txt events.txt --out shared --anonymize",
    "forestall import slurm site --out shared --anonymize",
)
def slurm(
    out: Annotated[
        Path,
        Setting("Folder to write. An earlier import there is replaced", shown="DIR"),
    ],
    options: Annotated[Given, TextOptions(READING)],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILES",
            help="Output of sacct, sacctmgr show event, scontrol show node and squeue --start, "
            "detected from the content, or the folder of an earlier import (default: ask the"
            " Slurm of this machine).",
            show_default=False,
        ),
    ] = None,
    anonymize: Annotated[
        bool,
        Setting("Replace users, accounts, job names, nodes, partitions and QoS by pseudonyms"),
    ] = False,
    anonymize_key: Annotated[
        Path | None,
        Setting(
            "File with the key of the pseudonyms, created if missing (default: DIR.key). The same"
            " key gives the same pseudonyms"
        ),
    ] = None,
    keep_partitions: Annotated[bool, Setting("Keep the names of partitions and QoS")] = False,
    quiet: Annotated[bool, Setting("Print only errors", short="q")] = False,
    as_json: Json = False,
) -> None:
    """Write Slurm's records as Parquet: jobs, runs, failures, outages, nodes, estimates of starts.

    Nothing of Slurm is changed. The folder is written whole or not at all.
    """
    given = given_of(files, options)
    with ProgressBar("reading", quiet=quiet or as_json) as bar:
        done = import_slurm.import_slurm(
            replace(given, slurm=given.slurm or not given.paths),
            out,
            anonymize=anonymize,
            key_file=anonymize_key,
            keep_partitions=keep_partitions,
            progress=bar,
        )
    _tell(done, as_json)


def _tell(done: Imported, as_json: bool) -> None:
    if as_json:
        key = {} if done.key is None else {"key": str(done.key)}
        say_json({"folder": str(done.folder), **key, **folder.read_summary(done.folder)})
        return
    show(import_slurm.words_of(done))
    say()
    say(f"In {done.folder}:")
    uses = uses_of(done)
    width = max(len(name) for name, _ in uses)
    for name, line in uses:  # to be copied: never folded
        say(f"{name:{width}}  {line}")
    if done.key is not None:
        say()
        say(f"The key of the pseudonyms is in {done.key}: keep it, and do not share it.")


def uses_of(done: Imported) -> list[tuple[str, str]]:
    """Return files that were written and a command that takes each."""
    where = done.folder
    commands = {
        "": f"forestall report {where}",
        folder.JOBS: f"forestall simulate {where / folder.JOBS}",
        folder.FAILURES: f"forestall reliability {where / folder.FAILURES}",
        "runs.parquet": f"forestall assess jobs {where / 'runs.parquet'} ...",
    }
    counts = done.told["counts"]
    # Failures are numbered by all nodes that are known, those that are gone too.
    first, other = "nodes", "known_nodes"
    if folder.FAILURES in done.told["files"]:
        first, other = other, first
    nodes = counts.get(first) or counts.get(other)
    if nodes:
        commands[folder.JOBS] += f" --nodes {nodes}"
    if {folder.JOBS, folder.FAILURES} <= set(done.told["files"]):
        commands[folder.JOBS] += f" --failures {where / folder.FAILURES}"
    there = {"", *done.told["files"]}
    return [(name or "the folder", command) for name, command in commands.items() if name in there]
