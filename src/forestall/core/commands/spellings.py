"""Options that are not spelled as their parameters are named, and the spellings that they had.

An option is named after its parameter, which Python and files share. Where commands have parameters
of one name that mean different things, or of two names that mean the same, the command line tells
them apart, or calls them alike, by this table. What an option was called before goes on working; no
help shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

SPELLINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "report": {
        "cost": "price", "checkpoint-cost": "checkpoint-overhead", "restart": "restart-overhead",
    },
    "interval": {
        "mttf": "mtbf", "checkpoint-cost": "checkpoint-overhead", "restart": "restart-overhead",
        "wanted": "shortest",
    },
    "spares": {"mttf": "mtbf"},
    "design": {"jobs": "job-log"},
    "backtest promises": {"level": "probability", "warm-up": "warm-up-jobs"},
    "quote": {"by": "deadline"},
    "serve": {"speed": "clock-speed"},
    "run": {
        "checkpoint-every": "checkpoint-interval", "keep": "keep-last", "strict": "distinct-hosts",
        "compression": "compress",
    },
    "checkpoint save": {"strict": "distinct-hosts", "compression": "compress"},
    "checkpoint restore": {"to": "out"},
    "checkpoint gc": {"wait": "wait-for-saves"},
    "storage import": {"host": "host-url"},
    "guest run": {
        "checkpoint": "checkpoint-command", "resume": "resume-command",
        "checkpoint-every": "checkpoint-interval", "steps": "nice-steps",
    },
    "machines watch": {"level": "scope"},
    "calibrate": {"memory": "measure-memory", "no-memory": "no-measure-memory"},
    "agent condor": {"by": "prefer"},
    "predict ask": {"since": "failures", "nodes": "nodelist"},
    "assess jobs": {"reboot": "reboot-time", "limit": "max-nodes"},
    "assess policies": {"reboot": "reboot-time", "clear": "clear-time", "drain": "drain-time"},
    "assess collection": {"order": "metric-order"},
    "traces filter": {"level": "granularity", "rule": "gap-rule", "records": "records-out"},
    "traces generate jobs": {"model": "kind"},
    "traces generate failures": {"mttf-hours": "mtbf-hours", "repair": "repair-distribution"},
    "traces generate ras": {"mttf-hours": "mtbf-hours", "repeats": "repeat-records"},
    "traces generate memory": {"jobs": "count"},
    "generate memory": {"jobs": "count"},
    "traces generate hosts": {"hosts": "count"},
    "traces generate guests": {"hours": "submit-hours"},
    **{
        f"{name} {plays}": {"config": "settings"}
        for name in ("simulate", "sweep") for plays in ("any", "jobs", "tasks", "guests")
    },
}  # fmt: skip
"""By command: what a parameter's option would be called, and was, and what it is called."""

_spoken: dict[str, str] = {}


def spelled(name: str) -> str:
    """Return how the option of a parameter is typed: ``--checkpoint-overhead``; while a command
    runs, how its own is."""
    option = name.replace("_", "-")
    return "--" + _spoken.get(option, option)


@contextmanager
def speaking(spellings: Mapping[str, str]) -> Iterator[None]:
    """Spell parameters as a command does that runs."""
    before = dict(_spoken)
    _spoken.update(spellings)
    try:
        yield
    finally:
        _spoken.clear()
        _spoken.update(before)


def respell(parameters: Iterable[Any], spellings: Mapping[str, str]) -> None:
    """Give options the spellings of their command, in their help, too."""
    if not spellings:
        return
    olds = "|".join(sorted(spellings, key=len, reverse=True))

    def new(found: re.Match[str]) -> str:
        return "--" + spellings[found[1]]

    for one in parameters:
        if one.param_type_name == "option":
            for names in (one.opts, one.secondary_opts):
                names[:] = [re.sub(rf"^--({olds})$", new, name) for name in names]
            one.help = re.sub(rf"(?<!\S)--({olds})(?![\w-])", new, one.help or "")


def accept_old(parser: Any, spellings: Mapping[str, str]) -> Any:
    """Return a parser that knows options by what they were called, too."""
    known = parser._long_opt
    known.update({f"--{old}": known[f"--{new}"] for old, new in spellings.items()})
    return parser
