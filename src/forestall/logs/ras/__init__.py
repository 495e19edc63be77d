"""Event logs of machines (RAS logs, syslog): readers, a writer, and filters down to failures.

- `read`: the front door, `read_ras`; `layouts` the forms of lines, `tables` those with columns
- `kinds`: message texts without what varies; `places`: locations and their levels
- `filters`, `causes`, `pipeline`: from records to failures
"""

from forestall.logs.ras.causes import CauseRules, causal, mine_rules
from forestall.logs.ras.filters import clusters, labelled, severe, spatial, temporal
from forestall.logs.ras.pipeline import (
    FilteredLog,
    FilterSettings,
    FilterStep,
    pipeline,
    to_failures,
)
from forestall.logs.ras.places import LEVELS, at_level
from forestall.logs.ras.read import read_ras
from forestall.logs.ras.write import write_ras

__all__ = [
    "LEVELS",
    "CauseRules",
    "FilterSettings",
    "FilterStep",
    "FilteredLog",
    "at_level",
    "causal",
    "clusters",
    "labelled",
    "mine_rules",
    "pipeline",
    "read_ras",
    "severe",
    "spatial",
    "temporal",
    "to_failures",
    "write_ras",
]
