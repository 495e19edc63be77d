"""A certifier as a table of rules: each has a name, what it needs, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from forestall.app.kit.certify.finding import Certificate, Check, Finding, Unchecked

Run = TypeVar("Run", bound=Any)


@dataclass(frozen=True)
class Rule(Generic[Run]):
    """Something that holds of every run that can have happened.

    Attributes
    ----------
    name : as the certificate has it
    check : notes in the finding what breaks it, and returns what to say where nothing does
    needs : files of the folder without which it cannot be looked at, all of them or none there
    """

    name: str
    check: Callable[[Run, Finding], str]
    needs: tuple[str, ...] = ()

    def looked_at(self, run: Run) -> Check:
        """Return what is found."""
        finding = Finding(self.name)
        return finding.check(self.check(run, finding))

    def can(self, folder: Path) -> bool:
        """Return whether the folder has any of what is needed: of half of it the reader tells."""
        return not self.needs or any((folder / name).exists() for name in self.needs)


def certificate(
    folder: Path,
    run: Run,
    rules: Sequence[Rule[Run]],
    not_checked: Iterable[str],
    node_seconds: dict[str, int | None] | None = None,
    unchecked: Iterable[Unchecked] = (),
) -> Certificate:
    """Return what the rules find that can be looked at in this folder, and what is not checked."""
    checks = tuple(rule.looked_at(run) for rule in rules if rule.can(folder))
    return Certificate(checks, node_seconds or {}, tuple(not_checked), tuple(unchecked))
