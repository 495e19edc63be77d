"""Parameters that texts name: ``{hold}`` in a text is the parameter `hold`.

Whoever shows the text spells it: plain in Python, ``--hold`` on the command line, in backticks on
pages of the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_NAMED: Final = re.compile(r"\{([a-z]\w*)\}")


def named(text: str, spell: Callable[[str], str] = str) -> str:
    """Return a text with the parameters that it names as `spell` has them.

    >>> named("at most {th2}"), named("at most {th2}", "`{}`".format)
    ('at most th2', 'at most `th2`')
    """
    return _NAMED.sub(lambda found: spell(found[1]), text)
