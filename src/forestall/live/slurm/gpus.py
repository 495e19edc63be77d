"""GPUs: how many a job asks for on each node, by options of `sbatch`, and how many a node has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from forestall.core.model.errors import InputError
from forestall.slurm.nodes import gpus_by_kind

_GRES: Final = re.compile(r"(?:gres[:/])?gpu(?:[:=]([A-Za-z][\w.+-]*))?(?:[:=](\d+))?")
_TYPED: Final = re.compile(r"(?:([A-Za-z][\w.+-]*)[:=])?(\d+)")
_BEHIND: Final = re.compile(r"\([^)]*\)")


class Gpus(NamedTuple):
    """So many GPUs on a node of one kind, "": of any."""

    kind: str
    number: int

    def __str__(self) -> str:
        kind = f"{self.kind} " if self.kind else ""
        return f"{self.number:,} {kind}GPU{'s' if self.number != 1 else ''}"


def gpus_asked(asked: Mapping[str, str], nodes: int) -> list[Gpus]:
    """Return what a job on so many nodes needs on each of them at least.

    asked : options of `sbatch` by their long names

    Raises InputError for what is no number of GPUs.

    >>> gpus_asked({"gres": "gpu:a100:2,lustre"}, 4), gpus_asked({"gpus": "6"}, 4)
    ([Gpus(kind='a100', number=2)], [Gpus(kind='', number=2)])
    """
    found = _of_gres("gres", asked.get("gres", ""))
    tasks = int(asked["ntasks"]) if asked.get("ntasks", "").isdigit() else nodes
    per_node = asked.get("ntasks-per-node", "")
    on_node = int(per_node) if per_node.isdigit() else -(-tasks // nodes)
    for name, times, over in (
        ("gpus-per-node", 1, 1), ("gpus-per-socket", 1, 1), ("gpus-per-task", on_node, 1),
        ("gpus", 1, nodes),
    ):  # fmt: skip
        for text in filter(None, asked.get(name, "").split(",")):
            match = _TYPED.fullmatch(text)
            if match is None:
                raise InputError(f"--{name}={asked[name]} is not a number of GPUs")
            found.append(Gpus(match[1] or "", -(-int(match[2]) * times // over)))
    return [one for one in found if one.number]


def _of_gres(name: str, text: str) -> list[Gpus]:
    """Return the GPUs of a list of generic resources."""
    words = [word for word in _BEHIND.sub("", text).split(",") if word]
    found = []
    for word in words:
        match = _GRES.fullmatch(word)
        if match is not None:
            found.append(Gpus(match[1] or "", int(match[2] or 1)))
        elif re.match(r"(?:gres[:/])?gpu\b", word):
            raise InputError(f"--{name}={text} is not a number of GPUs")
    return found


def gpus_on(gres: str, kind: str) -> int:
    """Return how many GPUs of a kind, "": of any, a node has.

    gres : as Slurm tells of it, such as ``gpu:a100:4(S:0-1),lustre:1``

    >>> gpus_on("gpu:a100:4(S:0-1),gpu:v100:2", ""), gpus_on("gpu:4", "a100"), gpus_on("", "")
    (6, 0, 0)
    """
    found = gpus_by_kind(gres)
    return found.get(kind, 0) if kind else sum(found.values())
