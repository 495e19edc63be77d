"""Parameters that texts name: ``{hold}`` in a text is the parameter `hold`.

Whoever shows the text spells it: plain in Python, ``--hold`` on the command line, in backticks on
pages of the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

from forestall.core._lazy import lazily

with lazily():
    import difflib

T = TypeVar("T")
_NAMED: Final = re.compile(r"\{([a-z]\w*)\}")


def named(text: str, spell: Callable[[str], str] = str) -> str:
    """Return a text with the parameters that it names as `spell` has them.

    >>> named("at most {th2}"), named("at most {th2}", "`{}`".format)
    ('at most th2', 'at most `th2`')
    """
    return _NAMED.sub(lambda found: spell(found[1]), text)


def likely(name: str, known: Iterable[str]) -> str:
    """Return the known name that a wrong one is most like, as the end of a message; "" for none.

    >>> likely("acuracy", ["risk", "accuracy"])
    "; did you mean 'accuracy'?"
    """
    return "".join(
        f"; did you mean {one!r}?" for one in difflib.get_close_matches(name, list(known), 1)
    )


def all_named(told: T, spell: Callable[[str], str] = str) -> T:
    """Return what holds texts, such as a report, with the parameters that they name as `spell` has
    them: dataclasses, tuples and mappings are gone through, and are the same where nothing changes.

    >>> all_named({"why": ("none", "see {th2}")}, "`{}`".format)
    {'why': ('none', 'see `th2`')}
    """
    return _all_named(told, spell)  # type: ignore[no-any-return]


def _all_named(told: Any, spell: Callable[[str], str]) -> Any:
    if isinstance(told, str):
        return named(told, spell) if "{" in told else told
    if isinstance(told, tuple):
        made = [_all_named(one, spell) for one in told]
        same = all(one is old for one, old in zip(made, told, strict=True))
        return told if same else type(told)._make(made) if hasattr(told, "_make") else tuple(made)
    if isinstance(told, Mapping):
        found = {name: _all_named(value, spell) for name, value in told.items()}
        return found if any(found[name] is not told[name] for name in told) else told
    if is_dataclass(told) and not isinstance(told, type):
        old = {one.name: getattr(told, one.name) for one in fields(told) if one.init}
        changed = {name: _all_named(value, spell) for name, value in old.items()}
        changed = {name: value for name, value in changed.items() if value is not old[name]}
        return replace(told, **changed) if changed else told
    return told
