"""How our docstrings reach the site: prose below a list of parameters ends that list.

`numpydoc` takes every line of a section for an entry of it. Our docstrings go on in sentences,
about errors above all; these paragraphs are moved before the first section.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SECTION = re.compile(r"^(Parameters|Returns|Yields|Raises|Attributes)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?$")
NEXT = re.compile(r"^\w+\n-{3,}$", re.MULTILINE)


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


class Prose(griffe.Extension):
    """Sets docstrings in order as they are read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Do so for whatever has one."""
        if obj.docstring is not None:
            obj.docstring.value = ordered(obj.docstring.value)
