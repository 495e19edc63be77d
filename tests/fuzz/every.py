"""All formats that are fuzzed, by name. A new kind of file is a line in one of the tables."""

from __future__ import annotations

from typing import Final

from fuzz.formats import by_name
from fuzz.hosts import HOSTS
from fuzz.logs import LOGS
from fuzz.ours import OURS

FORMATS: Final = by_name(LOGS, OURS, HOSTS)
