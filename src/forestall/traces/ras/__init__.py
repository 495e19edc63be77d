"""Event logs of machines (RAS logs, syslog): readers, a writer, and filters down to failures.

- `read`: the front door, `read_ras`; `layouts` the forms of lines, `tables` those with columns
- `kinds`: message texts without what varies; `places`: locations and their levels
- `filters`, `causes`, `pipeline`: from records to failures
"""

from forestall.traces.ras.causes import CauseRules, causal, mine_rules
from forestall.traces.ras.filters import clusters, labelled, severe, spatial, temporal
from forestall.traces.ras.pipeline import (
    FilteredLog,
    FilterSettings,
    FilterStep,
    pipeline,
    to_failures,
)
from forestall.traces.ras.places import LEVELS, at_level
from forestall.traces.ras.read import read_ras
from forestall.traces.ras.write import write_ras

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
