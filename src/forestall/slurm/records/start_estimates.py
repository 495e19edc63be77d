"""What a batch system said about when waiting jobs would start, each time it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from forestall.core.model.arrays import Ints
from forestall.core.model.cleaning import Cleaning


@dataclass(frozen=True)
class StartEstimates:
    """Estimates in order of (asked, job). Times are Unix seconds.

    Attributes
    ----------
    asked : int64[k], when the batch system was asked
    job : int64[k], id of the job
    submit : int64[k], when it was submitted, -1 where not told: tells jobs of one id apart
    start : int64[k], the start that was foreseen; `NEVER` where none was
    """

    asked: Ints
    job: Ints
    submit: Ints
    start: Ints
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __len__(self) -> int:
        return len(self.asked)
