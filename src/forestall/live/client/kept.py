"""The quotes that a user was shown last, in their cache folder: rows and offers by name.

So that ``forestall submit --quote 2`` means the second row of the last list, and that a script is
held to what was quoted. Nothing depends on it: an offer's own id works without.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.model.errors import InputError, UnwritableError
from forestall.core.show.clean import clean

MOST: Final = 20
"""Lists that are kept."""
_LONGEST_ROW: Final = 2


@dataclass(frozen=True)
class KeptOffer:
    """An offer that is to be taken: its id, and the question it answers, None where not known."""

    id: str
    question: Mapping[str, Any] | None


class KeptQuotes:
    """The last quotes of this user, newest first.

    Parameters
    ----------
    folder : where they are kept; None: forestall in $XDG_CACHE_HOME or ~/.cache
    """

    def __init__(self, folder: Path | None = None) -> None:
        given = os.environ.get("XDG_CACHE_HOME", "")
        usual = (Path(given) if given else Path("~/.cache").expanduser()) / "forestall"
        self.path = (usual if folder is None else folder) / "quotes.json"

    def keep(self, server: str, question: Mapping[str, Any], offers: list[Any]) -> str:
        """Keep what was shown; return "" or why that cannot be: it is no reason to fail."""
        ids = [one["id"] for one in offers]
        entry = {"server": server, "question": dict(question), "offers": ids}
        told = json.dumps({"quotes": [entry, *self._all()][:MOST]}, indent=1)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_path(self.path) as beside:
                beside.write_text(told + "\n", encoding="utf-8")
            self.path.chmod(0o600)
        except (UnwritableError, OSError) as error:
            return f"rows of this list cannot be used later: {error}"
        return ""

    def find(self, server: str, named: str) -> KeptOffer:
        """Return the offer that is meant: the row of the last list of this server, or an id.

        Raises InputError for a row that is not there, or what is neither.
        """
        quotes = [one for one in self._all() if one["server"] == server]
        if named.isascii() and named.isdigit() and len(named) <= _LONGEST_ROW:
            shown = quotes[0]["offers"] if quotes else []
            if not 0 < int(named) <= len(shown):
                last = (
                    f"the last list has {len(shown)}"
                    if shown
                    else "no list has been shown here yet"
                )
                raise InputError(f"{{quote}} {named}: {last}; ask with forestall quote")
            return KeptOffer(shown[int(named) - 1], quotes[0]["question"])
        if not named.isascii() or not named.isalnum():
            before = f"{clean(named)!r} is neither a row nor the id of an offer "
            raise InputError("({quote})", before=before)
        question = next((one["question"] for one in quotes if named in one["offers"]), None)
        return KeptOffer(named, question)

    def _all(self) -> list[dict[str, Any]]:
        """Return what is kept; a file that is not as we write it holds nothing."""
        try:
            told = json_of(self.path.read_text(encoding="utf-8"))
            return [one for one in told["quotes"] if _is_whole(one)]
        except (OSError, ValueError, TypeError, KeyError):
            return []


def _is_whole(one: Any) -> bool:
    """Whether an entry is as we write it."""
    if not isinstance(one, dict) or set(one) != {"server", "question", "offers"}:
        return False
    question, offers = one["question"], one["offers"]
    whole = isinstance(question, dict) and {"nodes", "time"} <= set(question)
    return whole and isinstance(offers, list) and all(isinstance(name, str) for name in offers)
