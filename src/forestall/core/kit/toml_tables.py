"""Tables of TOML files that users write."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FileTable(BaseModel):
    """A table of a file: keys that it does not know are errors, and it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)
