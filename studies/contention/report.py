"""The sections of `verdict.md`."""

from __future__ import annotations

import forestall as fs
from studies.contention.claims import noise, told, told_mean
from studies.contention.found import Found
from studies.contention.policies import BANDS, outcome, policies
from studies.contention.programs import PROGRAMS
from studies.contention.study import AGAIN, GUESTS, LOWEST, NONE, NORMAL
from studies.kit.text import Blocks, share, table

LOADS_HEAD = ("Owner's load", *GUESTS)


def sections(found: Found) -> dict[str, Blocks]:
    """Return all sections in their order."""
    return {
        "How far it can be trusted": fs.reports.Prose(trust(found)),
        "What the owner loses": _by_load(found, "lost"),
        "How much longer a command takes": _by_load(found, "slower"),
        "What the guest gets": _by_load(found, "got"),
        "By program": _by_program(found),
        "Policies": _policies(found),
    }


def trust(found: Found) -> str:
    """Return the noise, and what was not measured, in words."""
    absent = [name for name in found.plan.programs if name not in found.programs]
    words = f"Linux {found.kernel}. Between two turns alone, an owner loses {noise(found)}. "
    words += f"Turns left out because others used the core: {found.left_out} of "
    words += f"{found.turns.height}. "
    words += f"Programs that are not installed: {', '.join(absent) or 'none'}."
    return words


def _by_load(found: Found, measure: str) -> fs.reports.Table:
    guests = GUESTS if measure == "got" else (AGAIN, *GUESTS)
    head = ["no guest" if one == AGAIN else one for one in guests]
    rows = []
    for load in found.loads:
        bounds = (load, load)
        rows.append((
            share(load, 0), *(told(found.middle(measure, guest, bounds)) for guest in guests)
        ))  # fmt: skip
    return table(("Owner's load alone", *head), rows)


def _by_program(found: Found) -> fs.reports.Table:
    rows = []
    for name in found.programs:
        alone = found.turns.filter(
            (found.turns["program"] == name) & (found.turns["guest"] == NONE)
        )
        each = 1000 * float((alone["owner"] / alone["commands"]).median())  # type: ignore[arg-type]
        lost = [found.middle("lost", guest, program=name) for guest in (NORMAL, "nice 5", LOWEST)]
        rows.append((name, PROGRAMS[name].about, f"{each:.0f}", *map(told, lost)))
    head = ("Program", "What it does", "CPU a command, ms", "Lost to default", "To nice 5")
    return table((*head, "To lowest"), rows)


def _policies(found: Found) -> fs.reports.Table:
    rows = []
    for name, choice in policies(found).items():
        for band, bounds in BANDS.items():
            if not any(bounds[0] <= load <= bounds[1] for load in found.loads):
                continue
            one = outcome(found, choice, bounds)
            rows.append((
                name, band, told_mean(one.got), told_mean(one.lost), told_mean(one.slower),
                f"{one.beyond} of {one.loads}",
            ))  # fmt: skip
    head = ("Policy", "Owner's loads", "Guest gets of the core", "Owner loses",
            "A command takes longer by")  # fmt: skip
    return table((*head, "Loads at which it loses more than 5 %"), rows)
