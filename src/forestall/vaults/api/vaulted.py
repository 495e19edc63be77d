"""What a report says of checkpoints in a vault: what was saved, recovered and lost, and what that
took. Runs of promises and of cycle sharing measure these things by names that partly differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from forestall.core.kit.report import hours_of, measured
from forestall.core.model.units import told_bytes
from forestall.core.show import words as say_
from forestall.core.show.blocks import Table
from forestall.core.show.facts import Fact
from forestall.core.show.report import Section
from forestall.core.show.words import Summary

TITLE: Final = "Checkpoints in the vault"
_KINDS: Final = (
    ("saves", "Saves", "broken_saves", "save_seconds", "bytes_saved"),
    ("last_saves", "Last saves, before guests had to go", "", "", ""),
    ("restores", "Recoveries", "broken_restores", "restore_seconds", "bytes_restored"),
    ("recoveries", "Recoveries", "", "recovery_seconds", ""),
)
"""Of the rows of the table: by which name a run has how many were completed, their name, and by
which names it has how many ended early, their mean length, and their bytes."""


def sections_of(run: Any, sections: Sequence[Callable[[Any], Section]]) -> tuple[Section, ...]:
    """Return the sections of a run; that of its vault only where it has one."""
    has_vault = bool(run.summary.get("vault"))
    return tuple(one(run) for one in sections if has_vault or one is not vault_section)


def vault_section(run: Any) -> Section:
    """Return the section of a run's vault."""
    told = run.summary["vault"]
    rows, records = [], []
    for key, name, *names in _KINDS:
        if key in told:
            broken, seconds, size = (told.get(one) for one in names)
            rows.append((name, say_.count(told[key]), say_.count(broken), say_.duration(seconds),
                         _bytes(size)))  # fmt: skip
            records.append({"what": key, "completed": told[key], "ended_early": broken,
                            "mean_s": seconds, "bytes": size})  # fmt: skip
    heads = ("", "Completed", "Ended early", "Mean length", "Carried")
    body = (Table.of("vault", heads, rows, records, note=_note(told)),)
    return Section("vault", TITLE, lead=_lead(run.summary), body=body)


def vault_facts(summary: Summary) -> tuple[Fact, ...]:
    """Return what the terminal says of a run's vault; nothing where it has none."""
    told = summary.get("vault")
    if not told:
        return ()
    back, seconds = told.get("restores"), told.get("restore_seconds")
    if back is None:
        back, seconds = told["recoveries"], told["recovery_seconds"]
    lost, unit = told["unrecovered"], "host_hours" if "restores" in told else "node_hours"
    share, of = _cost(summary)
    return (
        measured("vault_saves", "Saves into the vault", told["saves"], "count",
                 f"{say_.duration(told['save_seconds'])} each on average, "
                 f"{_bytes(told['bytes_saved'])} in all; "
                 f"{_more(told['broken_saves'])} ended early", say_.count),
        measured("vault_recoveries", "Recoveries from the vault", back, "count",
                 f"{say_.duration(seconds)} each on average", say_.count),
        measured("vault_unrecovered", "Saved and out of reach", lost / 3600, unit,
                 f"{unit.replace('_', '-')} of work; {_found(told)}", lambda _: hours_of(lost)),
        measured("vault_cost", "Time for the vault", share, "ratio", f"of {of}", say_.percent),
    )  # fmt: skip


def _lead(summary: Summary) -> str:
    """Return what saving took, and what it did not bring back."""
    told, (share, of) = summary["vault"], _cost(summary)
    found = _found(told)
    if told["unrecovered"]:
        unit = "host-hours" if "restores" in told else "node-hours"
        found += f", which cost {hours_of(told['unrecovered'])} {unit} of work"
    return f"Saving and recovering took {say_.percent(share)} of {of}; {found}."


def _note(told: Summary) -> str:
    """Return what else there is to say below the table."""
    parts = []
    if told.get("bytes_between_sites") is not None:
        parts.append(f"{_bytes(told['bytes_between_sites'])} went between sites.")
    if told.get("last_saves"):
        parts.append("What last saves carried is among the saves' bytes.")
    if skipped := told.get("skipped"):
        was = "was" if skipped == 1 else "were"
        parts.append(f"{say_.counted(skipped, 'save')} found too few hosts and {was} left out.")
    return " ".join(parts)


def _found(told: Summary) -> str:
    """Return whether jobs found what they had saved."""
    missed = told.get("behind", told.get("fallbacks"))
    if not missed:
        return "every job found the newest checkpoint that it had saved"
    return f"{say_.counted(missed, 'time')} a job had to continue from less than it had saved"


def _more(count: int) -> str:
    return f"{count:,} more" if count else "none"


def _cost(summary: Summary) -> tuple[float | None, str]:
    """Return the share of time that saving and recovering took, and of what time."""
    told = summary["vault"]
    if "time_share" in told:
        return told["time_share"], "the guests' time on hosts, last saves left out"
    seconds = summary.get("node_seconds") or {}
    total, spent = (
        say_.number(seconds.get("total")),
        say_.number(seconds.get("checkpoint_overhead")),
    )
    return (spent / total if total and spent is not None else None), "all node time"


def _bytes(count: object) -> str:
    return say_.NOTHING if count is None else told_bytes(int(str(count)))
