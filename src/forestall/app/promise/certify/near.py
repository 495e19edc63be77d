"""How near each other the nodes of runs were, counted from `runs.csv` alone."""

from __future__ import annotations

import re

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sums import differences
from forestall.app.promise.certify.files import PromiseRun

TOLERANCE = 1e-12


def _numbers(text: str) -> set[int]:
    """Return the nodes of a list such as 0-3,7."""
    ends = [(int(low), int(high or low)) for low, high in re.findall(r"(\d+)(?:-(\d+))?", text)]
    return {node for low, high in ends for node in range(low, high + 1)}


def _switch_of(where: str, nodes: int) -> list[int]:
    """Return the switch of the lowest level that each node is at; each its own where it has
    none."""
    if where.isdigit():
        return [node // int(where) for node in range(nodes)]
    at = [-1 - node for node in range(nodes)]
    for number, word in enumerate(where.split(";", maxsplit=1)[0].split()):
        for node in _numbers(word.partition("=")[2]):
            at[node] = number
    return at


def nearness(run: PromiseRun, finding: Finding) -> str:
    """The measures of the topology in `summary.json`, anew."""
    where, said = run.given.topology or "", run.given.near
    sets = [_numbers(text) for text in run.runs.nodes.tolist()]
    if where == "contiguous":
        most = run.given.nodes
        places = [sum(node - 1 not in mine for node in mine) for mine in sets]
    else:
        at = _switch_of(where, run.given.nodes)
        most = max(at.count(switch) for switch in at)
        places = [len({at[node] for node in mine}) for mine in sets]
    able = [count for count, mine in zip(places, sets, strict=True) if 2 <= len(mine) <= most]
    here = {
        "could": len(able),
        "near": able.count(1) / len(able) if able else None,
        "places_mean": sum(able) / len(able) if able else None,
    }
    told = said if isinstance(said, dict) else {}
    for name, value in here.items():
        finding.all(differences(f"topology.{name}", told.get(name, "nothing"), value, TOLERANCE))
    return f"{able.count(1)} of {len(able)} runs that could have nodes near each other do"
