"""Kinds of messages: the text without what varies, and by wish grouped into templates by Drain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

from forestall.core.model.errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    import polars as pl

Templates = Literal["masked", "drain", "none"]
TEMPLATES: Final[tuple[Templates, ...]] = ("masked", "drain", "none")

BLANK: Final = "<*>"
"""What stands for a number, an address, a path or a node in a kind, as in loghub's templates."""

VARIES: Final = "|".join(
    (
        r"\b[RQ][0-9][0-9A-Z]-[A-Z][0-9]*(?:[-:][A-Z][0-9A-F]*)*",  # Blue Gene's locations
        r"[.~]?(?:/+[\w.+~-]+){2,}/*",  # paths
        r"\b(?:[0-9A-Fa-f]{2}:){3,}[0-9A-Fa-f]{2}\b",  # hardware addresses
        r"0[xX][0-9a-fA-F]+",
        r"\b[0-9a-fA-F]{8,}\b",
        r"\b[0-9a-fA-F]*[0-9][0-9a-fA-F]*\b(?:[.:][0-9]+)*",  # numbers and IP addresses
        r"[0-9]+",  # numbers in names: dn228, bglio736
    )
)
"""What is blanked, for Rust's regular expressions and Python's alike: no looking around."""

SIMILARITY: Final = 0.5
DEPTH: Final = 4
"""Drain's: share of equal words within a group, depth of its tree. Zhu et al., "Tools and
benchmarks for automated log parsing" (ICSE-SEIP 2019), use these for Blue Gene/L, HPC, Thunderbird;
Drain itself is He et al., ICWS 2017."""


def masked(texts: pl.Series) -> pl.Series:
    """Return texts with numbers, addresses, paths and locations blanked, and no blanks at the
    ends."""
    return texts.str.replace_all(VARIES, BLANK).str.strip_chars()


def grouped(kinds: Sequence[str]) -> list[str]:
    """Return the template of each kind (in the order of the log) by Drain.

    Raises MissingExtraError without drain3.
    """
    try:
        from drain3 import TemplateMiner
        from drain3.template_miner_config import TemplateMinerConfig
    except ImportError:
        raise MissingExtraError("grouping messages by Drain", "templates") from None
    config = TemplateMinerConfig()
    config.drain_sim_th, config.drain_depth = SIMILARITY, DEPTH
    miner = TemplateMiner(config=config)
    groups = [miner.add_log_message(kind)["cluster_id"] for kind in kinds]
    templates = {group.cluster_id: group.get_template() for group in miner.drain.clusters}
    return [templates[group] for group in groups]


def check_templates(templates: str) -> None:
    """Raise ParameterError where `templates` is no way of making kinds of messages."""
    if templates not in TEMPLATES:
        raise ParameterError("templates", templates, ", ".join(TEMPLATES))
