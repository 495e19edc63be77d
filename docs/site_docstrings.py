"""How our docstrings reach the site: prose below a list of parameters ends that list.

`numpydoc` takes every line of a section for an entry of it. Our docstrings go on in sentences,
about errors above all; these paragraphs are moved before the first section. What follows a name is
its meaning and not its type, which the signature has.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(Parameters|Returns|Yields|Raises|Attributes)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?$")
NEXT = re.compile(r"^\w+\n-{3,}$", re.MULTILINE)
LISTED = re.compile(r"^(?:Parameters|Attributes)\n-{3,}\n(?:.+\n?)+", re.MULTILINE)
MEANT = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*) : (?P<rest>.*)$", re.MULTILINE)
DTYPE = re.compile(r"(?P<type>(?:u?int\d+|float\d+|bool)(?:\[[^\]]*\])?)(?:[,;]? |$)")


def ordered(text: str) -> str:
    """Return a docstring with the prose of its sections before the first section."""
    first = SECTION.search(text)
    if first is None:
        return text
    prose, kept, within = [], [], True
    for part in re.split(r"\n\s*\n", text[first.start() :]):
        if NEXT.match(part):
            within = SECTION.match(part + "\n") is not None
        elif within and not ENTRY.match(part.partition("\n")[0]):
            prose.append(part)
            continue
        kept.append(part)
    return "\n\n".join([text[: first.start()].rstrip(), *prose, *kept])


def described(text: str) -> str:
    """Return a docstring whose lists give a meaning below each name, and as type only a type of
    arrays: what follows a name in ours is mostly its meaning."""

    def entry(found: re.Match[str]) -> str:
        typed = DTYPE.match(found["rest"])
        head = f"{found['names']} : {typed['type']}" if typed else found["names"]
        meaning = found["rest"][typed.end() :] if typed else found["rest"]
        return f"{head}\n    {meaning}" if meaning else head

    return LISTED.sub(lambda section: MEANT.sub(entry, section[0]), text)


class Prose(griffe.Extension):
    """Sets docstrings in order as they are read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Do so for whatever has one."""
        if obj.docstring is not None:
            obj.docstring.value = described(ordered(obj.docstring.value))
